package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"assent/internal/freeport"
	"assent/internal/torture"
)

// clusterLoad is what each set of brokers is given: so many requests, so many of them at a time.
const clusterLoad, clusterAtATime = 3000, 48

// cluster compares three brokers on three nats-servers with one broker on its own engine, under the same load: each
// request is asked at one broker and, where there are several, answered at the next by an approver who was shown it.
func (b *bench) cluster() ([]row, error) {
	one, err := b.loaded(1, 0)
	if err != nil {
		return nil, fmt.Errorf("one broker: %w", err)
	}
	three, err := b.loaded(3, 3)
	if err != nil {
		return nil, fmt.Errorf("three brokers: %w", err)
	}
	// What three machines of three cores each could answer if nothing but their processors bounded them.
	perCore := func(c cost) float64 { return float64(time.Second) / float64(c.cpu) }
	scaled := 9 * perCore(three) / (3 * perCore(one))
	ms := float64(three.cpu) / float64(time.Millisecond)
	return []row{
		{"a request that waits, at the broker of its hook and at another one, memory each", fmt.Sprintf("%.1f KB, %.1f KB", three.held, three.seen), "told", true},
		{"CPU for each answered request, three brokers and three nats-servers together (against one broker on its own engine)",
			fmt.Sprintf("%.2f ms: brokers %.2f, nats-servers %.2f (%.1f×)", ms, inMS(three.brokers), inMS(three.nodes), ratio(three.cpu, one.cpu)), "≤ 2.5 ms", ms <= 2.5},
		{"… so three brokers on nine cores against one on three, by processor alone", fmt.Sprintf("%.2f×", scaled), "≥ 2×", scaled >= 2},
		{"requests a second on this machine, three brokers against one", fmt.Sprintf("%.2f×", ratio(one.took, three.took)), "told", true},
		{"asked → answered at the other broker's approver, p99 (against one broker)", fmt.Sprintf("%.1f× (p50 %.1f×)", ratio(three.p99, one.p99), ratio(three.p50, one.p50)), "told", true},
	}, nil
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cost is what a load took: the time it lasted, and for each request the processors' time, in all and by kind.
type cost struct {
	took, cpu, brokers, nodes time.Duration
	p50, p99                  time.Duration
	held, seen                float64 // KB for each request that waits, at the broker of its hook and at another one
}

// loaded puts the load on so many brokers on so many nats-servers; 0: one broker with its own engine.
func (b *bench) loaded(brokers, nodes int) (c cost, err error) {
	var more []string
	var natsServers []*exec.Cmd
	if nodes > 0 {
		urls, started, err := b.startNodes(nodes)
		natsServers = started
		defer func() {
			for _, n := range started {
				_ = n.Process.Kill()
				_ = n.Wait()
			}
		}()
		if err != nil {
			return c, err
		}
		more = []string{"--nats-url", strings.Join(urls, ","), "--nats-replicas", fmt.Sprint(nodes)}
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	for range brokers {
		s, err := b.serve("", more...)
		if err != nil {
			return c, err
		}
		servers = append(servers, s)
	}
	l := &load{servers: servers, asked: map[string]*askedRequest{}}
	if err := l.watch(); err != nil {
		return c, err
	}
	defer l.close()
	if err := l.run(300, 0); err != nil { // so that nothing is done for the first time
		return c, err
	}
	before := cpuOf(servers, natsServers)
	start := time.Now()
	if err := l.run(clusterLoad, 300); err != nil {
		return c, err
	}
	c.took = time.Since(start)
	after := cpuOf(servers, natsServers)
	c.brokers, c.nodes = (after[0]-before[0])/clusterLoad, (after[1]-before[1])/clusterLoad
	c.cpu = c.brokers + c.nodes
	c.p50, c.p99 = quantile(l.took, .5), quantile(l.took, .99)
	if brokers > 1 {
		c.held, c.seen, err = weigh(servers[0], servers[1])
	}
	return c, err
}

// weigh has requests wait at one broker and returns the memory, in KB, that each takes there and at another.
func weigh(here, other *server) (held, seen float64, err error) {
	const n = 5000
	var before, after [2]int64
	look := func(sizes *[2]int64) (err error) {
		time.Sleep(30 * time.Second) // brokers give memory back when a burst is over
		if sizes[0], err = here.rss(); err == nil {
			sizes[1], err = other.rss()
		}
		return err
	}
	if err := look(&before); err != nil {
		return 0, 0, err
	}
	for i := range n {
		h, err := here.ask(i)
		if err != nil {
			return 0, 0, err
		}
		defer h.conn.Close()
	}
	if err := errors.Join(here.waitGauge(n, 2*time.Minute), other.waitGauge(n, 2*time.Minute), look(&after)); err != nil {
		return 0, 0, err
	}
	return float64(after[0]-before[0]) / n / 1000, float64(after[1]-before[1]) / n / 1000, nil
}

// cpuOf is what the brokers and the nats-servers have used of the processors so far.
func cpuOf(servers []*server, nodes []*exec.Cmd) (sum [2]time.Duration) {
	for _, s := range servers {
		sum[0] += cpuTime(s.cmd.Process.Pid)
	}
	for _, n := range nodes {
		sum[1] += cpuTime(n.Process.Pid)
	}
	return sum
}

// cpuTime is the user and system time of a process by proc(5), in hundredths of a second, as on every Linux that Go
// knows; 0 if it is gone.
func cpuTime(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	var user, system int64
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	fmt.Sscan(f[11], &user)
	fmt.Sscan(f[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// startNodes starts a cluster of nats-servers, which the assent program contains, and returns their addresses.
func (b *bench) startNodes(n int) (urls []string, started []*exec.Cmd, err error) {
	b.clusters++
	ports, err := freeport.Find(2 * n)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		var routes []string
		for j := range n {
			if j != i {
				routes = append(routes, fmt.Sprintf(`"nats://127.0.0.1:%d"`, ports[n+j]))
			}
		}
		dir := filepath.Join(b.dir, fmt.Sprintf("cluster%d-%d", b.clusters, i))
		conf := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\nmax_payload: 8MB\njetstream { store_dir: %q, sync_interval: always, max_file_store: 64GB }\n", i, ports[i], dir)
		if n > 1 {
			conf += fmt.Sprintf("cluster { name: bench, listen: 127.0.0.1:%d, no_advertise: true, routes: [%s] }\n", ports[n+i], strings.Join(routes, ", "))
		}
		if err := os.WriteFile(dir+".conf", []byte(conf), 0o600); err != nil {
			return nil, started, err
		}
		cmd := exec.Command(filepath.Join(b.bin, "assent"), "torture")
		cmd.Env = []string{"HOME=" + b.dir, torture.NodeEnv + "=" + dir + ".conf"}
		if err := cmd.Start(); err != nil {
			return nil, started, err
		}
		urls, started = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i])), append(started, cmd)
	}
	for _, port := range ports[:n] {
		if err := listens(port, time.Minute); err != nil {
			return nil, started, err
		}
	}
	return urls, started, nil
}

// listens waits until somebody listens on a port.
func listens(port int, limit time.Duration) error {
	for start := time.Now(); time.Since(start) < limit; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("nobody listened on port %d within %s", port, limit)
}

// load asks at one broker and decides at the next, where an approver follows the queue.
type load struct {
	servers []*server
	conns   []*websocket.Conn
	readers sync.WaitGroup

	mu    sync.Mutex
	asked map[string]*askedRequest // guarded by mu
	took  []time.Duration          // guarded by mu; from the question to the answer
}

// askedRequest is a request, and a channel that is closed when the approver at its broker is shown it.
type askedRequest struct {
	at    int
	shown chan struct{}
}

// watch lets an approver follow the queue of each broker.
func (l *load) watch() error {
	for i, s := range l.servers {
		c, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/v1/ws", http.Header{"Authorization": {"Bearer " + s.token}})
		if err != nil {
			return err
		}
		l.conns = append(l.conns, c)
		l.readers.Go(func() { l.follow(i, c) })
	}
	return nil
}

func (l *load) follow(at int, c *websocket.Conn) {
	type shown struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	for {
		_, raw, err := c.ReadMessage()
		if err != nil {
			return
		}
		var m struct {
			Requests []shown `json:"requests"`
			Changes  []struct {
				Request shown `json:"request"`
			} `json:"changes"`
		}
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		for _, ch := range m.Changes {
			m.Requests = append(m.Requests, ch.Request)
		}
		l.mu.Lock()
		for _, r := range m.Requests {
			if a := l.asked[r.ID]; a != nil && a.at == at && r.State == "pending" {
				close(a.shown)
				delete(l.asked, r.ID)
			}
		}
		l.mu.Unlock()
	}
}

func (l *load) close() {
	for _, c := range l.conns {
		c.Close()
	}
	l.readers.Wait()
}

// run asks n requests, counted from first, and returns when all have their answers.
func (l *load) run(n, first int) error {
	l.took = l.took[:0]
	errs := make(chan error, clusterAtATime)
	var wg sync.WaitGroup
	for w := range clusterAtATime {
		wg.Go(func() {
			for i := first + w; i < first+n; i += clusterAtATime {
				if err := l.one(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	return firstOf(errs)
}

func (l *load) one(i int) error {
	here, there := i%len(l.servers), (i+1)%len(l.servers)
	a := &askedRequest{at: there, shown: make(chan struct{})}
	start := time.Now()
	h, err := l.servers[here].askAs(i, func(id string) {
		l.mu.Lock()
		l.asked[id] = a
		l.mu.Unlock()
	})
	if err != nil {
		return err
	}
	select {
	case <-a.shown:
	case <-time.After(time.Minute):
		return fmt.Errorf("request %s was not shown at the other broker within a minute", h.ID)
	}
	if err := l.servers[there].allowInTime(h.pending, time.Minute); err != nil {
		return err
	}
	if err := h.answer(); err != nil {
		return err
	}
	l.mu.Lock()
	l.took = append(l.took, time.Since(start))
	l.mu.Unlock()
	return nil
}

// firstOf is the first error of those that ended, nil if there is none.
func firstOf(errs <-chan error) error {
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
