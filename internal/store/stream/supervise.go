package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// supervise starts the supervisor, which ends with the engine's context.
func (e *engine) supervise() {
	e.done = make(chan struct{})
	go func() {
		defer close(e.done)
		tick, clock := time.NewTicker(time.Second), time.NewTicker(clockEvery)
		defer tick.Stop()
		defer clock.Stop()
		for {
			select {
			case <-e.ctx.Done():
				return
			case <-tick.C:
				_ = e.checkSpace(0) // for the log; writes look themselves
			case <-clock.C:
				if e.dir == "" {
					_, _ = e.streamInfo(e.ctx, e.js, e.kind.stream) // which reads the clock
				}
			case <-e.wake:
				e.regain()
			}
		}
	}()
}

// regain works until the engine can be trusted again, or is stopped.
func (e *engine) regain() {
	since := time.Now()
	lastLogged := ""
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if e.trusted().Err() == nil || e.ctx.Err() != nil {
			return
		}
		err := e.fix()
		if err == nil {
			e.logf("%s: writing works again after %v", e.kind.name, time.Since(since).Round(time.Millisecond))
			return
		}
		if err.Error() != lastLogged {
			lastLogged = err.Error()
			e.logf("%s: still cannot write: %v", e.kind.name, err)
		}
		select {
		case <-e.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// fix is one attempt to make the engine work, and to trust it again.
func (e *engine) fix() error {
	if e.dir == "" {
		if err := e.answers(e.ctx); err != nil {
			return err
		}
		e.trustAgain(false)
		return nil
	}
	var err error
	took := runningTime(func() { err = errors.Join(e.checkSpace(0), probeDisk(e.dir)) })
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.slow.shown(took, time.Now())
	restart := e.mustStart || e.unproven || e.srv == nil
	e.mu.Unlock()
	if !restart && e.answers(e.ctx) == nil {
		e.trustAgain(false) // it was slow, not broken
		return nil
	}
	e.logf("%s: restarting the embedded server", e.kind.name)
	e.stopServer()
	// What the old server complained of is the old server's.
	e.mu.Lock()
	e.mustStart = false
	e.mu.Unlock()
	if e.prepare != nil {
		if err := e.prepare(); err != nil {
			return err
		}
	}
	if err := e.startServer(e.ctx); err != nil {
		return err
	}
	if e.started != nil {
		e.started()
	}
	if err := e.answers(e.ctx); err != nil {
		return err
	}
	e.mu.Lock()
	again := e.mustStart
	e.mu.Unlock()
	if again {
		return errors.New("the server failed again while it started")
	}
	e.trustAgain(true)
	return nil
}

func (e *engine) trustAgain(restarted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return
	}
	e.unproven = !restarted
	e.trust, e.distrust = context.WithCancelCause(e.ctx)
}

// wrongSequence is a last sequence that no stream has.
const wrongSequence = math.MaxInt64

// answers asks the stream for a write that it must refuse: an answer without a trace.
func (e *engine) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(2*time.Second, e.patience()))
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	subject := "hooks.Unknown"
	if e.kind.stream == RecordStream {
		subject = recordSubject("probe")
	}
	for {
		err := e.ask(ctx, subject)
		if isConflict(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stream %s does not answer: %w", e.kind.stream, err)
		case <-time.After(10 * time.Millisecond): // not connected yet
		}
	}
}

// ask is one attempt of answers. It gives up when the connection is lost.
func (e *engine) ask(ctx context.Context, subject string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.currentSession(), cancel)()
	_, err := e.js.PublishMsg(ctx, nats.NewMsg(subject),
		jetstream.WithExpectStream(e.kind.stream), jetstream.WithExpectLastSequence(wrongSequence))
	return err
}

// probeDisk returns nil if dir takes a small file and puts it on the disk.
func probeDisk(dir string) (err error) {
	path := filepath.Join(dir, "probe")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	_, err = f.Write(make([]byte, 256<<10))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	return nil
}
