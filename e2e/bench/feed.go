package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// feed measures the fold by itself, and how quickly a large history is read. With long, history
// has 1,000,000 events, 100,000 of them in one session; else a tenth of that.
func (b *bench) feed() ([]row, error) {
	n := 100_000
	if b.long {
		n = 1_000_000
	}
	fold, err := goBench("./internal/feed", "^BenchmarkFold$", "-benchtime", "2s", "-cpu", "1")
	if err != nil {
		return nil, err
	}
	read, err := goBench("./internal/store/history", "^BenchmarkRead$", "-benchtime", "1x", "-timeout", "1h", fmt.Sprintf("-feed-events=%d", n))
	if err != nil {
		return nil, err
	}
	rate := fold["BenchmarkFold"]["events/s"]
	rows := []row{{"events mapped to a feed on one core", fmt.Sprintf("%.1f× of 200,000 a second", rate/200_000), "≥ 1×", rate >= 200_000}}
	slowest, what := 0.0, ""
	for name, m := range read {
		if strings.Contains(name, "/search/") && m["p95-ms"] > slowest {
			slowest, what = m["p95-ms"], name[strings.LastIndex(name, "/")+1:]
		}
	}
	first := read["BenchmarkRead/feed/first"]["p95-ms"]
	if what == "" || first == 0 {
		return nil, errors.New("the benchmark of history names no search")
	}
	return append(rows,
		row{fmt.Sprintf("first page of a session of %s events, p95", thousands(n/10)), fmt.Sprintf("%.2f× of 20 ms", first/20), "≤ 1×", first <= 20},
		row{fmt.Sprintf("search over %s feed events, p95 of the slowest kind of query (%s)", thousands(n), what), fmt.Sprintf("%.2f× of 100 ms", slowest/100), "≤ 1×", slowest <= 100},
	), nil
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var (
	benchLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	metric    = regexp.MustCompile(`([0-9.e+]+) (\S+)`)
)

// goBench runs a Go benchmark and returns its metrics by name and unit.
func goBench(pkg, pattern string, args ...string) (map[string]map[string]float64, error) {
	out, err := exec.Command("go", append([]string{"test", pkg, "-run", "^$", "-bench", pattern}, args...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench %s %s: %w: %s", pattern, pkg, err, out)
	}
	found := map[string]map[string]float64{}
	for line := range strings.Lines(string(out)) {
		m := benchLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		found[m[1]] = map[string]float64{}
		for _, x := range metric.FindAllStringSubmatch(m[2], -1) {
			if v, err := strconv.ParseFloat(x[1], 64); err == nil {
				found[m[1]][x[2]] = v
			}
		}
	}
	return found, nil
}

// followed sends 2,000 events a second, in 20 sessions, while each of 200 WebSockets follows
// the feed of one of them, and looks when the last of them has everything.
func (b *bench) followed() ([]row, error) {
	const rate, followers, sessions = 2000, 200, 20
	seconds := 10
	if b.long {
		seconds = 60
	}
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var wg sync.WaitGroup
	errs := make(chan error, followers)
	header := http.Header{"Authorization": {"Bearer " + s.token}}
	for i := range followers {
		conns, err := dial(1, fmt.Sprintf("ws%s/v1/ws?feed=follow-%d", strings.TrimPrefix(s.url, "http"), i%sessions), header)
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			if err := readFeed(conns[0]); err != nil {
				errs <- fmt.Errorf("follower %d: %w", i, err)
			}
		})
	}
	name := func(i int) string { return fmt.Sprintf("follow-%d", i%sessions) }
	begun := time.Now()
	n := rate * seconds
	if err := s.pour(n, rate, name); err != nil {
		return nil, err
	}
	sent := time.Since(begun)
	client := s.hooks()
	defer client.CloseIdleConnections()
	for i := range sessions {
		if err := submit(client, payload("SessionEnd", name(i), n+i)); err != nil {
			return nil, err
		}
	}
	wg.Wait()
	behind := time.Since(begun) - sent
	select {
	case err := <-errs:
		return nil, err
	default:
	}
	rows := []row{{fmt.Sprintf("%s events a second for %d s, 200 WebSockets follow feeds: all of it seen, none dropped, and how far behind at the end", thousands(rate), seconds),
		fmt.Sprintf("%.2f× the rate, behind by %.2f of a second", float64(n)/sent.Seconds()/rate, behind.Seconds()), "≥ 0.98×, ≤ 1 s", float64(n)/sent.Seconds() >= 0.98*rate && behind <= time.Second}}
	return rows, nil
}

// soak, with long only, sends 1,000,000 events and compares the broker's memory after half of them with that at
// the end. For two minutes the streams remember the ids of events, so each half lasts that long.
func (b *bench) soak() ([]row, error) {
	if !b.long {
		return nil, nil
	}
	const n, rate = 1_000_000, 4000
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	name := func(i int) string { return fmt.Sprintf("soak-%d", i/500) }
	var size [2]int64
	for i := range size {
		part := func(k int) string { return name(i*n/2 + k) }
		if err := s.pour(n/2, rate, part); err != nil {
			return nil, err
		}
		time.Sleep(25 * time.Second) // the broker gives garbage back 10 to 20 s after the last event
		if size[i], err = s.rss(); err != nil {
			return nil, err
		}
	}
	grown := float64(size[1]) / float64(size[0])
	return []row{{"memory that the broker keeps after 1,000,000 events, 4,000 a second, against that after half of them", fmt.Sprintf("%.2f× (%d MB)", grown, size[1]>>20), "≤ 1.25×", grown <= 1.25}}, nil
}

// readFeed reads a feed until its session has ended. Every position has to come, in order.
func readFeed(c *websocket.Conn) error {
	defer c.Close()
	last := 0
	for {
		_, m, err := c.ReadMessage()
		if err != nil {
			return err
		}
		for rest := m; ; { // parsing the whole would measure the reader
			i := bytes.Index(rest, []byte(`"pos":`))
			if i < 0 {
				break
			}
			rest = rest[i+6:]
			end := bytes.IndexAny(rest, ",}")
			pos, err := strconv.Atoi(string(rest[:max(end, 0)]))
			if err != nil || pos != last+1 {
				return fmt.Errorf("position %s comes after %d", rest[:max(end, 0)], last)
			}
			last = pos
		}
		if bytes.Contains(m, []byte(`"kind":"session.end"`)) {
			return nil
		}
	}
}

// hooks is a client of the socket.
func (s *server) hooks() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	}}}
}

// pour posts n events on the socket, rate a second.
func (s *server) pour(n, rate int, session func(int) string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	jobs := make(chan int, 64)
	errs := make(chan error, 1)
	client := s.hooks()
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range jobs {
				if err := submit(client, payload("PreToolUse", session(i), i)); err != nil {
					select {
					case errs <- err:
					default:
					}
					cancel()
				}
			}
		})
	}
	begun := time.Now()
	for i := 0; i < n && ctx.Err() == nil; {
		time.Sleep(5 * time.Millisecond)
		due := min(n, int(time.Since(begun).Seconds()*float64(rate)))
		for ; i < due && ctx.Err() == nil; i++ {
			jobs <- i
		}
	}
	close(jobs)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func submit(client *http.Client, body []byte) error {
	req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Assent-Agent", "claude")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("event: %s", res.Status)
	}
	return nil
}
