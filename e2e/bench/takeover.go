package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"assent/internal/store/stream"
)

// takeovers is how often the holder of the lease is made to go, in each way.
const takeovers = 5

// takeover says how long nobody has the lease by which one broker of three tells people that something waits, when the
// one that has it goes: from the signal until the record names another.
func (b *bench) takeover() ([]row, error) {
	urls, nodes, err := b.startNodes(3)
	defer func() {
		for _, n := range nodes {
			_ = n.Process.Kill()
			_ = n.Wait()
		}
	}()
	if err != nil {
		return nil, err
	}
	l, err := b.newLeased(strings.Join(urls, ","))
	if err != nil {
		return nil, err
	}
	defer l.close()
	var rows []row
	for _, way := range []struct {
		what string
		sig  syscall.Signal
	}{{"killed (SIGKILL)", syscall.SIGKILL}, {"stopped (SIGSTOP)", syscall.SIGSTOP}, {"ended (SIGTERM)", syscall.SIGTERM}} {
		var took []time.Duration
		for range takeovers {
			d, err := l.lose(way.sig)
			if err != nil {
				return nil, fmt.Errorf("the holder is %s: %w", way.what, err)
			}
			took = append(took, d)
		}
		most := quantile(took, 1)
		rows = append(rows, row{fmt.Sprintf("the broker that has a lease is %s: until another has it, of %d times the median and the longest", way.what, takeovers),
			fmt.Sprintf("%.1f s, %.1f s", quantile(took, .5).Seconds(), most.Seconds()), "≤ 5 s", most <= 5*time.Second})
	}
	return rows, nil
}

// leased are three brokers, and who of them has the lease.
type leased struct {
	b       *bench
	more    []string
	streams *stream.Stream
	brokers map[string]*server // by the run that the record names
	done    context.CancelFunc
	reading sync.WaitGroup

	mu     sync.Mutex
	runs   []string  // guarded by mu; in the order in which the record told of them
	holder string    // guarded by mu; empty: nobody
	since  time.Time // guarded by mu; when the record said so
}

func (b *bench) newLeased(urls string) (l *leased, err error) {
	l = &leased{b: b, more: []string{"--nats-url", urls, "--nats-replicas", "3"}, brokers: map[string]*server{}}
	var ctx context.Context
	ctx, l.done = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.streams, err = stream.Open(ctx, stream.Config{URL: urls, Replicas: 3}); err != nil {
		return nil, err
	}
	l.reading.Go(func() { _ = l.streams.Watch(ctx, "brokers.", l.broker, nil) })
	l.reading.Go(func() { _ = l.streams.Watch(ctx, "leases.", l.lease, nil) })
	for range 3 {
		if err := l.start(""); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// broker hears of a broker's key.
func (l *leased) broker(_ string, value []byte, _ uint64) {
	var is struct {
		Run string `json:"run"`
	}
	_ = json.Unmarshal(value, &is) // of a key that is gone nothing is known
	l.mu.Lock()
	defer l.mu.Unlock()
	if is.Run != "" && !slices.Contains(l.runs, is.Run) {
		l.runs = append(l.runs, is.Run)
	}
}

// lease hears of a lease's key.
func (l *leased) lease(key string, value []byte, _ uint64) {
	var is struct {
		Holder string `json:"holder"`
	}
	if key != "leases.notify" || json.Unmarshal(value, &is) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if is.Holder != l.holder {
		l.holder, l.since = is.Holder, time.Now()
	}
}

// start starts a broker on a state directory ("" for a new one), and finds out under which name it runs.
func (l *leased) start(dir string) error {
	l.mu.Lock()
	known := len(l.runs)
	l.mu.Unlock()
	s, err := l.b.serve(dir, l.more...)
	if err != nil {
		return err
	}
	return await("the record to name a broker", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.runs) == known {
			return false
		}
		l.brokers[l.runs[known]] = s
		return true
	})
}

// lose sends the holder a signal and returns how long it takes until another holds the lease. Then there are three
// brokers again.
func (l *leased) lose(sig syscall.Signal) (took time.Duration, err error) {
	var holder string
	if err := await("a broker to hold the lease", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		holder = l.holder
		return l.brokers[holder] != nil
	}); err != nil {
		return 0, err
	}
	s := l.brokers[holder]
	begun := time.Now()
	if err := s.cmd.Process.Signal(sig); err != nil {
		return 0, err
	}
	err = await("another broker to take the lease over", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		took = l.since.Sub(begun)
		return l.holder != holder && l.brokers[l.holder] != nil
	})
	_ = s.cmd.Process.Kill() // for one that was stopped, or is ending
	_ = s.cmd.Wait()
	delete(l.brokers, holder)
	return took, errors.Join(err, l.start(s.dir))
}

func (l *leased) close() {
	l.done()
	for _, s := range l.brokers {
		s.stop()
	}
	if l.streams != nil {
		_ = l.streams.Close()
	}
	l.reading.Wait()
}

// await waits until something is so.
func await(what string, is func() bool) error {
	for start := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			return fmt.Errorf("waited a minute for %s", what)
		}
	}
	return nil
}
