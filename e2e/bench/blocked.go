package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/store/stream"
)

// held is a hook of our own: a raw connection that waits for its answer.
type held struct {
	pending
	conn net.Conn
}

// ask sends a PermissionRequest as assent-hook would and returns without waiting.
func (s *server) ask(n int) (held, error) { return s.askAs(n, func(string) {}) }

// askAs tells the request's id before it is sent.
func (s *server) askAs(n int, id func(string)) (held, error) {
	return s.askIn(fmt.Sprintf("bench-%d", n%50), n, id)
}

// askIn asks in a session.
func (s *server) askIn(session string, n int, id func(string)) (held, error) {
	body := payload("PermissionRequest", session, n)
	input := fmt.Appendf(nil, `{"command":"touch /home/dev/project/out-%d.txt","description":"Create a file"}`, n)
	sum := sha256.Sum256(input)
	h := held{pending: pending{ID: uuid.NewString(), InputSHA256: hex.EncodeToString(sum[:])}}
	id(h.ID)
	conn, err := net.Dial("unix", s.socket)
	for errors.Is(err, syscall.EAGAIN) { // the socket's backlog is full: the hook client tries again too
		time.Sleep(5 * time.Millisecond)
		conn, err = net.Dial("unix", s.socket)
	}
	if err != nil {
		return h, err
	}
	h.conn = conn
	_, err = fmt.Fprintf(conn, "POST /v1/hooks HTTP/1.1\r\nHost: assent\r\n%s: %s\r\n%s: claude\r\n%s: 600000\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		hook.HeaderRequestID, h.ID, hook.HeaderAgent, hook.HeaderRemaining, len(body), body)
	return h, err
}

// answer reads what the hook is told.
func (h held) answer() error {
	res, err := http.ReadResponse(bufio.NewReaderSize(h.conn, 512), nil)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(b), `"behavior":"allow"`) {
		return fmt.Errorf("status %d, body %q: %w", res.StatusCode, b, err)
	}
	return h.conn.Close()
}

// waitGauge waits until the broker counts n pending requests, without listing them.
func (s *server) waitGauge(n int, limit time.Duration) error {
	want := fmt.Sprintf("\nassent_requests_pending %d\n", n)
	for start := time.Now(); time.Since(start) < limit; time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequest("GET", s.url+"/metrics", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+s.token)
		req.Header.Set("Accept-Encoding", "identity") // a megabyte for each look would be weighed with what waits
		res, err := s.http.Do(req)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		if strings.Contains(string(b), want) {
			return nil
		}
	}
	return fmt.Errorf("the broker did not count %d pending requests within %s", n, limit)
}

// deciders is how many answer at a time.
const deciders = 32

// burst is what n requests that waited at one broker cost.
type burst struct {
	kb        float64       // memory of each above idle, half a minute after the burst, in 1000 bytes
	took, cpu time.Duration // to answer all of them, and the broker's processor time of that
}

// heldAndAnswered has n requests of so many sessions wait, weighs them, and answers them all.
func (b *bench) heldAndAnswered(n, sessions int) (w burst, err error) {
	s, err := b.serve("")
	if err != nil {
		return w, err
	}
	defer s.stop()
	if err := s.waitGauge(0, 5*time.Second); err != nil {
		return w, err
	}
	idle, err := s.rss()
	if err != nil {
		return w, err
	}
	hs := make([]held, n)
	for i := range hs {
		if hs[i], err = s.askIn(fmt.Sprintf("bench-%d", i%sessions), i, func(string) {}); err != nil {
			return w, err
		}
	}
	if err := s.waitGauge(n, 2*time.Minute); err != nil {
		return w, fmt.Errorf("%w; it lets half as many wait as it may have open files (ulimit -n)", err)
	}
	time.Sleep(30 * time.Second) // the broker gives memory back when a burst is over
	full, err := s.rss()
	if err != nil {
		return w, err
	}
	w.kb = float64(full-idle) / float64(n) / 1000
	before := cpuTime(s.cmd.Process.Pid)
	w.took, err = s.answerAll(hs)
	w.cpu = cpuTime(s.cmd.Process.Pid) - before
	return w, err
}

// answerAll allows all and returns how long it took until each hook was told.
func (s *server) answerAll(hs []held) (took time.Duration, err error) {
	start := time.Now()
	var answered, deciding sync.WaitGroup
	errs := make(chan error, 2*len(hs))
	for _, h := range hs {
		answered.Go(func() {
			if err := h.answer(); err != nil {
				errs <- err
			}
		})
	}
	for d := range deciders {
		deciding.Go(func() {
			for i := d; i < len(hs); i += deciders {
				if err := s.allow(hs[i].pending); err != nil {
					errs <- err
				}
			}
		})
	}
	answered.Wait()
	took = time.Since(start)
	deciding.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

// mostBlocked is how many requests may wait at most here, or 10,000: half as many as a process may have open files, less
// what the broker has open otherwise.
func mostBlocked() (int, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, err
	}
	return int(min(10_000, files.Max/2-100)), nil
}

// blocked holds 10,000 requests, or as many as may wait here, weighs them, and answers them all.
func (b *bench) blocked() ([]row, error) {
	n, err := mostBlocked()
	if err != nil {
		return nil, err
	}
	w, err := b.heldAndAnswered(n, 50)
	if err != nil {
		return nil, err
	}
	engine, err := b.recordEngine(n, deciders)
	if err != nil {
		return nil, err
	}
	r := ratio(w.took, engine)
	return []row{
		{thousands(n) + " blocked requests, memory each above idle, half a minute after the burst", fmt.Sprintf("%.1f KB", w.kb), "≤ 20 KB", w.kb <= 20},
		{"… all answered over the API, against as many records of the bare record engine", fmt.Sprintf("%.2f×", r), "≤ 1.5×", r <= 1.5},
	}, nil
}

// recordEngine is how long the record takes for n records from as many writers.
func (b *bench) recordEngine(n, writers int) (time.Duration, error) {
	ctx := context.Background()
	st, err := stream.Open(ctx, stream.Config{Dir: filepath.Join(b.dir, "engine")})
	if err != nil {
		return 0, err
	}
	defer st.Close()
	errs := make(chan error, writers)
	var wg sync.WaitGroup
	start := time.Now()
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				rec := hook.Record{ID: uuid.NewString(), RequestID: uuid.NewString(), Step: hook.StepDecided, Time: time.Now(), Outcome: hook.Allowed,
					Decision: &hook.Decision{Behavior: hook.BehaviorAllow}, By: &hook.Approver{Kind: "token", Name: "bench"}}
				if _, err := st.Append(ctx, rec, 0); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	d := time.Since(start)
	select {
	case err := <-errs:
		return 0, err
	default:
		return d, nil
	}
}
