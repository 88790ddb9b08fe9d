package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/store/kvmirror"
)

// readTimeout bounds a read that the server should answer from memory or disk at once.
const readTimeout = 700 * time.Millisecond

// follower reads one stream in order, from one sequence on, each message once. It keeps no
// state in the server that matters: whenever anything is odd (the connection was lost, the
// server restarted, its consumer is gone, a delivery is missing) it makes a new consumer
// behind the last message it applied.
type follower struct {
	engine  *engine
	js      jetstream.JetStream
	stream  string
	filter  string    // subject; empty means all
	last    uint64    // sequence last applied, or to begin behind
	onlyNew bool      // begin behind the newest message, last is not set
	whole   bool      // of a stream that was made anew, or has lost its end, run returns kvmirror.ErrAnew
	lossy   bool      // a power cut may take the stream's last messages and reuse their sequences
	applied bool      // something was applied
	holes   int       // how often messages were gone between two
	created time.Time // of the stream that is read; zero before the first look
	apply   func(jetstream.Msg, *jetstream.MsgMetadata)
	// caughtUp is called once, when all that was there at the start is applied. May be nil.
	caughtUp func()
}

// errOdd says that the consumer has to be made anew. It is not logged.
var errOdd = errors.New("the consumer has to be made anew")

// run follows until ctx is done and returns its error, or ErrClosed, or kvmirror.ErrAnew.
func (f *follower) run(ctx context.Context) error {
	const shortest, longest = 5 * time.Millisecond, 500 * time.Millisecond
	pause := shortest
	lastLogged := ""
	for {
		session := f.engine.currentSession()
		before := f.last
		err := f.pass(ctx, session)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f.engine.ctx.Err() != nil:
			return ErrClosed
		case errors.Is(err, kvmirror.ErrAnew):
			return err
		}
		if f.last != before {
			pause, lastLogged = shortest, ""
		}
		if session.Err() == nil && f.engine.healthy() == nil && !errors.Is(err, errOdd) && err.Error() != lastLogged {
			lastLogged = err.Error()
			f.engine.logf("%s: reading %s was interrupted, going on: %v", f.engine.kind.name, f.stream, err)
		}
		select {
		case <-ctx.Done():
		case <-session.Done():
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}

// pass makes a consumer and applies what it delivers until something is wrong.
func (f *follower) pass(ctx, session context.Context) error {
	if session.Err() != nil {
		return errOdd
	}
	createCtx, cancel := context.WithTimeout(ctx, 2*readTimeout)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	if err := f.findStart(createCtx); err != nil {
		return err
	}
	consumer, err := f.js.CreateConsumer(createCtx, f.stream, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       f.last + 1,
		FilterSubject:     f.filter,
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("make a consumer: %w", err)
	}
	info := consumer.CachedInfo()
	defer f.drop(info.Name)
	if f.whole { // the consumer may be another stream's than the one that was looked at
		if err := f.findStart(createCtx); err != nil {
			return err
		}
	}
	missing := info.NumPending
	if missing == 0 {
		f.reached()
	}
	messages, err := consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(4096, 16<<20),
		jetstream.PullExpiry(30*time.Second),
		jetstream.PullHeartbeat(time.Second),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	defer context.AfterFunc(session, messages.Stop)()
	for delivered := uint64(1); ; delivered++ {
		m, err := f.next(ctx, messages)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if ctx.Err() != nil || session.Err() != nil {
			return errOdd // what is still in the buffer is read again, or not wanted
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if meta.Sequence.Consumer != delivered || meta.Sequence.Stream <= f.last {
			return errOdd // a delivery was lost on the way
		}
		if f.last > 0 && f.filter == "" && meta.Sequence.Stream > f.last+1 {
			// Too old, forgotten, or in a damaged block, of which the server says nothing. A session that
			// was forgotten leaves thousands of holes: the log gets a line when their number has doubled.
			if f.holes++; f.holes&(f.holes-1) == 0 {
				f.engine.logf("%s: %s: messages %d to %d are gone, skipping them (hole %d)", f.engine.kind.name, f.stream, f.last+1, meta.Sequence.Stream-1, f.holes)
			}
		}
		if err := f.enter(ctx, session, m, meta); err != nil {
			return err
		}
		f.apply(m, meta)
		f.last, f.applied = meta.Sequence.Stream, true
		if delivered >= missing || meta.NumPending == 0 {
			f.reached()
		}
	}
}

// enter returns when a message that was delivered is in the mark of the record.
func (f *follower) enter(ctx, session context.Context, m jetstream.Msg, meta *jetstream.MsgMetadata) error {
	if f.engine.enter == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	return f.engine.enter(ctx, f.stream, rawMessage{seq: meta.Sequence.Stream, subject: m.Subject(), header: m.Headers(), body: m.Data()})
}

// next returns the next message. Before the follower has caught up it does not wait for long:
// if the messages it counts on were removed meanwhile, a new consumer knows. Damaged ones at
// the end of the stream it counts for ever and never delivers; the leader's own read tells.
func (f *follower) next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	if f.caughtUp == nil {
		return messages.Next()
	}
	m, err := messages.Next(jetstream.NextMaxWait(time.Second))
	if err != nil && errors.Is(f.look(ctx), jetstream.ErrMsgNotFound) {
		f.engine.logf("%s: %s: what stands behind message %d cannot be read, going on without it", f.engine.kind.name, f.stream, f.last)
		f.reached()
	}
	if err != nil {
		return nil, errOdd
	}
	return m, nil
}

// look asks the stream's leader for the next message.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	subject := f.filter
	if subject == "" {
		subject = ">"
	}
	_, err := f.engine.firstMessage(ctx, f.stream, subject, f.last+1)
	return err
}

// reached says, once, that the follower has caught up.
func (f *follower) reached() {
	if f.caughtUp != nil {
		f.caughtUp()
		f.caughtUp = nil
	}
}

// findStart finds where to begin, and notices a stream that ends before what was applied: after
// a restart it may have lost its unsynced end, and will give its sequences to others.
func (f *follower) findStart(ctx context.Context) error {
	info, err := f.engine.streamInfo(ctx, f.js, f.stream)
	if err != nil {
		return err
	}
	state := info.State
	if f.created.IsZero() {
		f.created = info.Created
	}
	if f.whole && (state.LastSeq < f.last || !info.Created.Equal(f.created)) {
		return fmt.Errorf("%s: %w", f.stream, kvmirror.ErrAnew)
	}
	if f.onlyNew {
		f.onlyNew, f.last = false, state.LastSeq
	}
	switch {
	case state.LastSeq >= f.last:
	case !f.lossy && !f.applied:
		f.engine.logf("%s: %s ends at %d, before %d, where reading was to go on: it was made anew; reading all of it", f.engine.kind.name, f.stream, state.LastSeq, f.last)
		f.last = 0
	default:
		f.engine.logf("%s: %s ends at %d, but %d was read from it: the end is lost", f.engine.kind.name, f.stream, state.LastSeq, f.last)
		f.last = state.LastSeq
	}
	return nil
}

// drop removes the consumer, so that it does not stay until its threshold. It is a courtesy:
// it waits for no answer.
func (f *follower) drop(name string) {
	_ = f.engine.nc.Publish("$JS.API.CONSUMER.DELETE."+f.stream+"."+name, nil)
}
