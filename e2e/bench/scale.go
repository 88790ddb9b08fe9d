package main

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// maxWaiting is how many hooks wait at one broker at most (internal/server).
const maxWaiting = 20_000

// scale weighs a broker with so many requests that wait, in so many sessions, and says what a decision costs then.
// Each needs an open file, here and in the broker.
func (b *bench) scale() (rows []row, err error) {
	if !b.long {
		return nil, nil
	}
	var base crowd
	for _, c := range []struct{ waiting, sessions int }{{1000, 100}, {10_000, 1}, {10_000, 100}, {10_000, 10_000}, {maxWaiting, 100}} {
		what := fmt.Sprintf("%d requests wait in %d sessions: memory each; a decision until its hook has it, p50 and p99 (against 1,000)", c.waiting, c.sessions)
		m, err := b.waiting(c.waiting, c.sessions)
		if errors.Is(err, errMissing) {
			rows = append(rows, row{what, "too few open files are allowed here", "told", true})
			continue
		}
		if err != nil {
			return nil, err
		}
		if base.p50 == 0 {
			base = m
		}
		rows = append(rows, row{what, fmt.Sprintf("%.1f KB; %.2f×, %.2f×", m.kb, ratio(m.p50, base.p50), ratio(m.p99, base.p99)), "told", true})
	}
	return rows, nil
}

// crowd is a broker with many that wait: memory for each, in KB, and how long decisions take.
type crowd struct {
	kb       float64
	p50, p99 time.Duration
}

func (b *bench) waiting(n, sessions int) (m crowd, err error) {
	if err := allowFiles(uint64(2 * n)); err != nil { // the broker gives hooks two thirds of its own
		return m, err
	}
	s, err := b.serve("")
	if err != nil {
		return m, err
	}
	defer s.stop()
	if err := s.waitGauge(0, 5*time.Second); err != nil {
		return m, err
	}
	idle, err := s.rss()
	if err != nil {
		return m, err
	}
	hs := make([]held, n)
	defer func() {
		for _, h := range hs {
			if h.conn != nil {
				h.conn.Close()
			}
		}
	}()
	const askers = 16
	errs := make(chan error, askers)
	var wg sync.WaitGroup
	for w := range askers {
		wg.Go(func() {
			for i := w; i < n; i += askers {
				var err error
				if hs[i], err = s.askIn(fmt.Sprintf("bench-%d", i%sessions), i, func(string) {}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return m, err
	default:
	}
	if err := s.waitGauge(n, 10*time.Minute); err != nil {
		return m, err
	}
	time.Sleep(30 * time.Second) // the broker gives memory back when a burst is over
	full, err := s.rss()
	if err != nil {
		return m, err
	}
	m.kb = float64(full-idle) / float64(n) / 1000
	var took []time.Duration
	for i := range 300 {
		h := hs[i]
		start := time.Now()
		if err := s.allow(h.pending); err != nil {
			return m, err
		}
		if err := h.answer(); err != nil {
			return m, err
		}
		took = append(took, time.Since(start))
	}
	m.p50, m.p99 = quantile(took, .5), quantile(took, .99)
	return m, nil
}

// allowFiles raises how many files we and the brokers that we start may have open; errMissing if it may not.
func allowFiles(n uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Cur >= n {
		return nil
	}
	l.Cur, l.Max = n, max(l.Max, n)
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return errMissing
	}
	return nil
}
