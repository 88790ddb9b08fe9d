package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
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
	// writeTimeout is how long a write waits while the engine acknowledges nothing at all, and lookTimeout how long we
	// then look whether it was recorded. Together they stay below a second; what is large gets more. A slow engine that
	// acknowledges others' writes is waited for, and so is, for longer, one whose disk was seen to be slow: see slowness.
	writeTimeout = 750 * time.Millisecond
	lookTimeout  = 200 * time.Millisecond
	// clusterTimeout is the same as writeTimeout of a cluster. A busy one is late for other reasons than a
	// disk, and to give up on it sends away every hook and decision of the moment.
	clusterTimeout = 2500 * time.Millisecond

	// diskReserve is the free space, in bytes, below which nothing is written, so that the
	// server's own files, which it needs to come up again, always fit.
	diskReserve = 16 << 20
)

// The error codes of an expected sequence that is not the last. A clustered stream says the second
// while the message that came first is still on its way through the cluster.
const (
	wrongLastSequence         jetstream.ErrorCode = 10071
	wrongLastSequenceInFlight jetstream.ErrorCode = 10164
)

// unavailable wraps an error of an engine for callers.
func (e *engine) unavailable(err error) error {
	kind := broker.ErrUnavailable
	if e.passes() {
		kind = broker.ErrPassing
	}
	return fmt.Errorf("%w: %s: %w", kind, e.kind.name, err)
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
	if err := e.checkSpace(size); err != nil {
		return e.unavailable(err)
	}
	bounded := ctx
	if _, has := ctx.Deadline(); !has { // the library would take defaultTimeout alone
		var end context.CancelFunc
		bounded, end = context.WithTimeout(ctx, defaultTimeout+timeForSize(size))
		defer end()
	}
	callCtx, giveUp := context.WithCancelCause(bounded)
	defer giveUp(nil)
	stop := func() { giveUp(nil) }
	defer context.AfterFunc(trust, stop)()
	session := e.currentSession()
	defer context.AfterFunc(session, stop)()
	ended := e.untilSilent(size, giveUp)
	err := do(callCtx)
	ended(err == nil)
	switch apiErr := (*jetstream.APIError)(nil); {
	case err == nil:
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

// fail ends the trust in the engine and wakes the supervisor. mustStart says that only a
// restart helps.
func (e *engine) fail(reason error, mustStart bool) {
	e.mu.Lock()
	first := e.trust.Err() == nil
	e.distrust(reason)
	e.mustStart = e.mustStart || mustStart
	if errors.Is(reason, errSilent) && e.silentSince.IsZero() {
		e.silentSince = time.Now()
	}
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
	if err := e.checkSpace(0); err != nil {
		return fmt.Errorf("%s: %w", e.kind.name, err)
	}
	if !e.nc.IsConnected() {
		return fmt.Errorf("%s: not connected to NATS (%v)", e.kind.name, e.nc.Status())
	}
	return nil
}

// diskFull says that what is left of the disk is kept back. Whoever asks takes it for a full one.
type diskFull struct{ what string }

func (e *diskFull) Error() string        { return e.what }
func (e *diskFull) Is(target error) bool { return target == syscall.ENOSPC }

// OrFull is err, or in one line that the disk of the state directory dir is full, where it is that which err is about: each engine
// has its own words for it, names the files that it wanted to write, and may leave out why.
func OrFull(err error, dir string) error {
	free, unknown := freeSpace(dir)
	if unknown != nil {
		return err
	}
	return orFull(err, dir, free)
}

func orFull(err error, dir string, free uint64) error {
	var engine *jetstream.APIError
	words := errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
	if free >= diskReserve || !words && !errors.As(err, &engine) {
		return err
	}
	return fmt.Errorf("%w: %d MiB are free in %s, and the broker starts with %d MiB or more", syscall.ENOSPC, free>>20, dir, diskReserve>>20)
}

// checkSpace returns an error if size more bytes would leave less than the reserve on the disk. It
// logs the turns.
func (e *engine) checkSpace(size int) error {
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
		err = &diskFull{fmt.Sprintf("disk full: %d MiB free in %s, %d MiB are kept back", free>>20, e.dir, e.reserve>>20)}
	}
	switch {
	case turned && full:
		e.logf("%s: refusing writes: %v", e.kind.name, err)
	case turned:
		e.logf("%s: there is space on the disk again", e.kind.name)
	}
	return err
}
