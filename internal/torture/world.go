package torture

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"assent/internal/freeport"
	"assent/internal/torture/baddisk"
)

// NodeEnv names, in the environment of the program, the configuration of a nats-server that it is to be.
const NodeEnv = "ASSENT_TORTURE_NODE"

// startTime bounds how long a process needs to begin.
const startTime = 3 * time.Minute

// world is all that runs: nats-servers, brokers, and the links between them.
type world struct {
	o       Options
	dir     string
	nodes   []*process
	brokers []*process
	links   []*link
	disks   []*baddisk.Disk
}

// process is a program that can be killed and started again.
type process struct {
	name string
	args []string
	env  []string
	log  string
	url  string // of a broker: its API; of a node: where clients reach it directly
	dir  string // of a broker: its state

	disk *baddisk.Disk // its own; nil if it has none

	mu    sync.Mutex
	cmd   *exec.Cmd // guarded by mu, as all below; nil while it does not run
	end   chan struct{}
	skews bool       // it has a clock of its own
	skew  int64      // by how many seconds that differs from this machine's
	clock *wallClock // nil while it does not run
}

func build(ctx context.Context, o Options, dir string) (w *world, err error) {
	w = &world{o: o, dir: dir}
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	if o.NATS > 0 {
		if err := w.buildNodes(); err != nil {
			return w, err
		}
	}
	for i := range o.Brokers {
		if err := w.buildBroker(i); err != nil {
			return w, err
		}
	}
	for _, p := range w.all() {
		p.skews = slices.Contains(o.Nemesis, clock)
		if err := p.start(); err != nil {
			return w, err
		}
	}
	return w, w.recover(ctx)
}

// buildNodes writes the configuration of the nats-servers. Each route goes through a link of its own.
func (w *world) buildNodes() error {
	client, route := make([]int, w.o.NATS), make([]int, w.o.NATS)
	for i := range w.o.NATS {
		ports, err := freeport.Find(2)
		if err != nil {
			return err
		}
		client[i], route[i] = ports[0], ports[1]
	}
	for i := range w.o.NATS {
		dir := filepath.Join(w.dir, fmt.Sprintf("nats%d", i))
		disk, err := w.place(dir, true)
		if err != nil {
			return err
		}
		conf := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\nmax_payload: 8MB\nping_interval: \"2s\"\nping_max: 2\njetstream { store_dir: %q, sync_interval: always, max_file_store: 64GB }\n", i, client[i], dir)
		if w.o.NATS > 1 {
			var routes []string
			for j := range w.o.NATS {
				if j == i {
					continue
				}
				l, err := newLink(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", j), freeport.Address(route[j]))
				if err != nil {
					return err
				}
				w.links = append(w.links, l)
				routes = append(routes, fmt.Sprintf("%q", "nats://"+l.address()))
			}
			conf += fmt.Sprintf("cluster { name: torture, listen: 127.0.0.1:%d, no_advertise: true, routes: [%s] }\n", route[i], strings.Join(routes, ", "))
		}
		path := filepath.Join(w.dir, fmt.Sprintf("nats%d.conf", i))
		if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
			return err
		}
		w.nodes = append(w.nodes, &process{name: fmt.Sprintf("n%d", i), args: []string{w.o.Program, "torture"}, env: []string{NodeEnv + "=" + path, "HOME=" + dir}, log: filepath.Join(w.dir, fmt.Sprintf("nats%d.log", i)), url: "nats://" + freeport.Address(client[i]), disk: disk})
	}
	return nil
}

// buildBroker says how a broker is started. It reaches each nats-server through a link of its own.
func (w *world) buildBroker(i int) error {
	ports, err := freeport.Find(1)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("b%d", i)
	dir := filepath.Join(w.dir, name)
	state := filepath.Join(dir, "state")
	disk, err := w.place(state, w.o.NATS == 0)
	if err != nil {
		return err
	}
	args := []string{w.o.Program, "serve", "--state-dir", state, "--socket", filepath.Join(dir, "hook.sock"),
		"--listen", freeport.Address(ports[0]), "--nats-listen", "off", "--no-link", "--notices", "off", "--contain", "off", "--log-format", "json"}
	var urls []string
	for _, n := range w.nodes {
		l, err := newLink(name, n.name, strings.TrimPrefix(n.url, "nats://"))
		if err != nil {
			return err
		}
		w.links = append(w.links, l)
		urls = append(urls, "nats://"+l.address())
	}
	if len(urls) > 0 {
		args = append(args, "--nats-url", strings.Join(urls, ","), "--nats-replicas", fmt.Sprint(len(urls)))
	}
	env := append([]string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + filepath.Join(dir, "xdg"), "HOME=" + dir}, w.o.Env...)
	w.brokers = append(w.brokers, &process{name: name, args: args, env: env, log: filepath.Join(w.dir, name+".log"), url: "http://" + freeport.Address(ports[0]), dir: state, disk: disk})
	return nil
}

// place makes the directory of a process. If it keeps the record, and disks are to be broken, it has one of its own.
func (w *world) place(dir string, record bool) (*baddisk.Disk, error) {
	if record && (slices.Contains(w.o.Nemesis, slowDisk) || slices.Contains(w.o.Nemesis, fullDisk)) {
		d, err := baddisk.New(dir)
		if err != nil {
			return nil, fmt.Errorf("%w; leave %s and %s out of --nemesis", err, slowDisk, fullDisk)
		}
		w.disks = append(w.disks, d)
		return d, nil
	}
	return nil, os.MkdirAll(dir, 0o700)
}

// all are the processes.
func (w *world) all() []*process { return append(append([]*process{}, w.nodes...), w.brokers...) }

// disked are those with a disk of their own.
func (w *world) disked() (list []*process) {
	for _, p := range w.all() {
		if p.disk != nil {
			list = append(list, p)
		}
	}
	return list
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(cleanEnv(), p.env...)
	cmd.Stdout, cmd.Stderr = out, out
	if p.skews {
		p.clock, err = startWithClock(cmd, p.skew)
	} else {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	end := make(chan struct{})
	p.cmd, p.end = cmd, end
	go func() {
		_ = cmd.Wait() // however it ended
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cmd == cmd {
			p.cmd = nil
			if p.clock != nil {
				p.clock.close()
				p.clock = nil
			}
		}
		close(end)
	}()
	return nil
}

// setClock makes the process's clock differ from this machine's by so many seconds, now and after each start.
func (p *process) setClock(seconds int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = seconds
	if p.clock == nil {
		return nil
	}
	return p.clock.set(seconds)
}

// cleanEnv is ours without what would configure a broker.
func cleanEnv() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ASSENT_") && !strings.HasPrefix(e, "XDG_") && !strings.HasPrefix(e, "HOME=") {
			env = append(env, e)
		}
	}
	return env
}

// signal sends a signal, and waits for the end where it is one that ends.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	cmd, end := p.cmd, p.end
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	switch sig {
	case syscall.SIGKILL:
		<-end
	case syscall.SIGTERM:
		select {
		case <-end:
		case <-time.After(15 * time.Second):
			_ = cmd.Process.Kill()
			<-end
		}
	}
}

// heal mends the links and lets everything run.
func (w *world) heal() {
	for _, l := range w.links {
		l.set(true)
	}
	for _, d := range w.disks {
		d.Heal()
	}
	for _, p := range w.all() {
		p.signal(syscall.SIGCONT)
		_ = p.start() // recover says whether it serves
	}
}

// recover waits until every broker is ready.
func (w *world) recover(ctx context.Context) error { return w.serve(ctx, startTime) }

// serve starts the brokers that ended by themselves, and waits so long until all are ready.
func (w *world) serve(ctx context.Context, patience time.Duration) error {
	client := &http.Client{Timeout: 2 * time.Second}
	for end := time.Now().Add(patience); ; {
		var not []string
		for _, b := range w.brokers {
			if !ready(ctx, client, b.url) {
				not = append(not, b.name)
				_ = b.start()
			}
		}
		switch {
		case len(not) == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("brokers %v are not ready after %v; see the logs in %s", not, patience, w.dir)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func ready(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode/100 == 2
}

// end kills everything.
func (w *world) end() {
	for _, d := range w.disks {
		d.Heal() // who waits for a frozen disk cannot be killed
	}
	for _, p := range append(append([]*process{}, w.brokers...), w.nodes...) {
		p.signal(syscall.SIGKILL)
	}
	for _, l := range w.links {
		l.close()
	}
	for _, d := range w.disks {
		d.End()
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
