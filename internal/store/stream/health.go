package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
)

// What nats-server 2.15 does when the disk fails (tried on a full tmpfs): the write that
// failed is not acknowledged, the stream refuses every later one without a word, and space
// that comes back changes nothing until the server is started anew. So an engine looks before
// it writes, believes what the server logs, and gives up on an acknowledgement that does not
// come. Each of these ends its trust: calls fail at once, until the supervisor has seen the
// disk take a write and has restarted the server.
const (
	// writeTimeout is how long a write waits while the engine acknowledges nothing at all, and
	// lookTimeout how long we then look whether it was recorded. Together they stay below
	// a second. A slow engine that acknowledges others' writes is waited for.
	writeTimeout = 750 * time.Millisecond
	lookTimeout  = 200 * time.Millisecond

	// diskReserve is the free space, in bytes, below which nothing is written, so that the
	// server's own files, which it needs to come up again, always fit.
	diskReserve = 16 << 20

	// wrongSequence is a last sequence that no stream has.
	wrongSequence = math.MaxInt64
)

// The error codes of an expected sequence that is not the last. A clustered stream says the second
// while the message that came first is still on its way through the cluster.
const (
	wrongLastSequence         jetstream.ErrorCode = 10071
	wrongLastSequenceInFlight jetstream.ErrorCode = 10164
)

// unavailable wraps an error of an engine for callers.
func (e *engine) unavailable(err error) error {
	return fmt.Errorf("%w: %s: %w", broker.ErrUnavailable, e.kind.name, err)
}

// errSilent ends a write that the engine left without an acknowledgement.
var errSilent = fmt.Errorf("no acknowledgement of anything within %v", writeTimeout)

// silence is how long an engine has said nothing. It is looked at every silenceStep, and a look that
// comes late counts no more than twice that: while the machine was held up, or asleep, this process
// did not run either, and an embedded engine in it could say nothing.
type silence struct {
	looked time.Time
	lasted time.Duration
}

const silenceStep = writeTimeout / 10

// look returns how long the silence has lasted. heard is when the engine said something last.
func (s *silence) look(now, heard time.Time) time.Duration {
	since := s.looked
	if !heard.Before(since) {
		since, s.lasted = heard, 0
	}
	s.lasted += min(now.Sub(since), 2*silenceStep)
	s.looked = now
	return s.lasted
}

// untilSilent calls giveUp when the engine has acknowledged no write for writeTimeout.
func (e *engine) untilSilent(giveUp func(error)) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := silence{looked: time.Now()}
	var t *time.Timer // guarded by mu, as over
	over := false
	t = time.AfterFunc(silenceStep, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if over {
			return
		}
		if left := writeTimeout - s.look(time.Now(), e.lastAck); left > 0 {
			t.Reset(min(left, silenceStep))
			return
		}
		giveUp(errSilent)
	})
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		over = true
		t.Stop()
	}
}

// write runs one write of about size bytes, in its turn, until the engine falls silent or ctx
// ends. Errors that are no answer of the server wrap broker.ErrUnavailable.
func (e *engine) write(ctx context.Context, size int, do func(context.Context) error) error {
	trust := e.trusted()
	if trust.Err() != nil {
		return e.unavailable(e.whyNot(trust))
	}
	if e.refuse != nil {
		return e.unavailable(e.refuse)
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-trust.Done():
		return e.unavailable(e.whyNot(trust))
	case <-ctx.Done():
		return e.unavailable(ctx.Err())
	}
	if err := e.room(size); err != nil {
		return e.unavailable(err)
	}
	callCtx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	stop := func() { giveUp(nil) }
	defer context.AfterFunc(trust, stop)()
	session := e.currentSession()
	defer context.AfterFunc(session, stop)()
	defer e.untilSilent(giveUp)()
	err := do(callCtx)
	switch apiErr := (*jetstream.APIError)(nil); {
	case err == nil:
		e.proved()
		return nil
	case errors.As(err, &apiErr), errors.Is(err, jetstream.ErrInvalidKey):
		return err
	case trust.Err() != nil:
		return e.unavailable(e.whyNot(trust))
	case session.Err() != nil:
		err = errors.New("the connection was lost")
	case context.Cause(callCtx) == errSilent,
		ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)):
		err = errSilent
		e.fail(err, false)
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		e.fail(err, false)
	}
	return e.unavailable(err)
}

// refused makes sure that err wraps broker.ErrUnavailable.
func (e *engine) refused(err error) error {
	if errors.Is(err, broker.ErrUnavailable) {
		return err
	}
	return e.unavailable(err)
}

func (e *engine) trusted() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.trust
}

// whyNot is the reason why trust ended.
func (e *engine) whyNot(trust context.Context) error {
	if e.ctx.Err() != nil {
		return ErrClosed
	}
	return context.Cause(trust)
}

// proved notes that a write was acknowledged.
func (e *engine) proved() {
	e.mu.Lock()
	e.unproven = false
	e.lastAck = time.Now()
	e.mu.Unlock()
}

// fail ends the trust in the engine and wakes the supervisor. mustStart says that only a
// restart helps.
func (e *engine) fail(reason error, mustStart bool) {
	e.mu.Lock()
	first := e.trust.Err() == nil
	e.distrust(reason)
	e.mustStart = e.mustStart || mustStart
	e.mu.Unlock()
	if first {
		e.logf("%s: cannot write, refusing until it works again: %v", e.kind.name, reason)
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *engine) healthy() error {
	if e.refuse != nil {
		return fmt.Errorf("%s: %w", e.kind.name, e.refuse)
	}
	if trust := e.trusted(); trust.Err() != nil {
		return fmt.Errorf("%s: %w", e.kind.name, e.whyNot(trust))
	}
	if err := e.room(0); err != nil {
		return fmt.Errorf("%s: %w", e.kind.name, err)
	}
	if !e.nc.IsConnected() {
		return fmt.Errorf("%s: not connected to NATS (%v)", e.kind.name, e.nc.Status())
	}
	return nil
}

// room returns an error if size more bytes would leave less than the reserve on the disk. It
// logs the turns.
func (e *engine) room(size int) error {
	if e.dir == "" || e.reserve == 0 {
		return nil
	}
	free, err := freeSpace(e.dir)
	if err != nil {
		return fmt.Errorf("look at the disk: %w", err)
	}
	full := free < uint64(e.reserve)+uint64(size)
	e.mu.Lock()
	turned := full != e.full
	e.full = full
	e.mu.Unlock()
	if full {
		err = fmt.Errorf("disk full: %d MiB free in %s, %d MiB are kept back", free>>20, e.dir, e.reserve>>20)
	}
	switch {
	case turned && full:
		e.logf("%s: refusing writes: %v", e.kind.name, err)
	case turned:
		e.logf("%s: there is space on the disk again", e.kind.name)
	}
	return err
}

// supervise starts the supervisor, which ends with the engine's context.
func (e *engine) supervise() {
	e.done = make(chan struct{})
	go func() {
		defer close(e.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-e.ctx.Done():
				return
			case <-tick.C:
				_ = e.room(0) // for the log; writes look themselves
			case <-e.wake:
				e.regain()
			}
		}
	}()
}

// regain works until the engine can be trusted again, or is stopped.
func (e *engine) regain() {
	since := time.Now()
	said := ""
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if e.trusted().Err() == nil || e.ctx.Err() != nil {
			return
		}
		err := e.fix()
		if err == nil {
			e.logf("%s: writing works again after %v", e.kind.name, time.Since(since).Round(time.Millisecond))
			return
		}
		if err.Error() != said {
			said = err.Error()
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
	if err := errors.Join(e.room(0), probeDisk(e.dir)); err != nil {
		return err
	}
	e.mu.Lock()
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

// answers asks the stream for a write that it must refuse: an answer without a trace.
func (e *engine) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
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

// serverLog passes on what an embedded server warns of, and hears when its disk fails.
type serverLog struct{ e *engine }

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	l.hear(fmt.Sprintf(format, v...))
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.hear(fmt.Sprintf(format, v...))
}

func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	err := errors.New(text)
	if strings.HasPrefix(text, "Error listening on port") {
		err = fmt.Errorf("%w: %s", errPortTaken, text)
	}
	l.e.mu.Lock()
	l.e.fatal = err
	l.e.mu.Unlock()
	l.e.logf("%s: nats-server: %q", l.e.kind.name, text)
}

func (l *serverLog) hear(text string) {
	// Quoted: parts of it may be a client's name, or what somebody sent to the port.
	l.e.logf("%s: nats-server: %q", l.e.kind.name, text)
	if meansBroken(text) {
		l.e.fail(errors.New(text), true)
	}
}

// meansBroken recognizes the messages after which nats-server 2.15 writes no more. The
// messages about a client begin with its address and are never meant, whatever they quote.
func meansBroken(text string) bool {
	if !strings.HasPrefix(text, "JetStream ") && !strings.HasPrefix(text, "File") {
		return false
	}
	low := strings.ToLower(text)
	for _, sign := range []string{
		"critical write error",    // of a file store, of a stream
		"failed to store a msg",   // of one message: its stream is stuck from here on
		"will be disabled",        // out of space
		"disabling jetstream",     // permission denied
		"no space left on device", // of any file of its own
		"input/output error",
		"read-only file system",
	} {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return false
}
