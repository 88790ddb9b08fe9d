package rabbit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/text/show"
)

const (
	// window is how many events may be on their way, published and not yet confirmed.
	window = 1024
	// saveEvery is how often the cursor is saved at most: what came since is published again after
	// a crash.
	saveEvery = 250 * time.Millisecond
	// drainTime is how long a stopping broker waits for confirms.
	drainTime = 2 * time.Second
	// recent is how many message ids a session remembers.
	recent = 4096
)

// flight is an event on its way. confirm is nil if nothing had to be sent for it.
type flight struct {
	seq     uint64
	confirm *amqp.DeferredConfirmation
}

// session is one connection and what is on its way over it.
type session struct {
	p       *Publisher
	channel *amqp.Channel
	hard    context.Context         // done when all ends
	reading context.Context         // done when no further event is to be published
	fail    context.CancelCauseFunc // ends hard
	flights chan flight
	clear   chan struct{} // holds a token while RabbitMQ takes messages
	held    atomic.Bool   // RabbitMQ takes none at the moment
	excused atomic.Bool   // it took none since that was last looked at
	ready   func()        // to be called when all is well
	// Owned by the goroutine that publishes.
	seen idRing
	sent uint64 // sequence of the last event that was published
}

// session connects, calls ready and publishes until something is wrong or ctx is done. Then it
// waits a little for what is on its way. After RabbitMQ confirmed nothing, all is well only when it
// does again.
func (p *Publisher) session(ctx context.Context, ready func()) error {
	hard, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	defer context.AfterFunc(hard, stopReading)()

	c, err := dial(ctx, hard, target{url: p.cfg.URL, tls: p.cfg.TLS, exchange: p.cfg.Exchange, name: "assent mutations", timeouts: p.cfg.timeouts})
	if err != nil {
		return err
	}
	defer c.close()
	well := func() {
		ready()
		p.counts.connected.Set(1)
	}
	defer p.counts.connected.Set(0)
	if !p.doubted {
		well()
	}
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(drainTime, func() { fail(context.Canceled) })
	})()

	s := &session{
		p: p, channel: c.channel, hard: hard, reading: reading, fail: fail,
		flights: make(chan flight, window), clear: make(chan struct{}, 1),
		ready: well,
		seen:  newIDRing(recent),
	}
	s.clear <- struct{}{}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(c)
	}()
	go func() {
		defer close(s.flights)
		if err := p.cfg.Events(reading, p.at, s.take); reading.Err() == nil {
			fail(fmt.Errorf("read the events: %w", err))
		}
	}()
	s.land()
	if hard.Err() == nil { // all has landed, and ctx is done
		c.close()
		fail(ctx.Err())
	}
	for range s.flights { // until the reader has ended
	}
	<-watched
	p.save(context.WithoutCancel(ctx))
	p.suspect(context.Cause(hard), s)
	return context.Cause(hard)
}

// watch ends the session when RabbitMQ does, and holds publishing while RabbitMQ is short of memory
// or disk.
func (s *session) watch(c *connection) {
	held := false
	for {
		select {
		case <-s.hard.Done():
			return
		case b, ok := <-c.blocked:
			if !ok {
				c.blocked = nil
				continue
			}
			switch {
			case b.Active && !held:
				s.p.cfg.Logf("rabbitmq: %s takes nothing at the moment; events wait in the stream: %s", s.p.server, show.Line(b.Reason))
				select {
				case <-s.clear:
				case <-s.hard.Done():
					return
				}
				held = true
				s.held.Store(true)
			case !b.Active && held:
				s.p.cfg.Logf("rabbitmq: %s takes messages again", s.p.server)
				s.clear <- struct{}{}
				held = false
				s.excused.Store(true)
				s.held.Store(false)
			}
		case err := <-c.lost:
			if err == nil { // the library closes its channel when we close the connection
				err = amqp.ErrClosed
			}
			s.fail(err)
			return
		}
	}
}

// take publishes one event of the stream.
func (s *session) take(e hook.Event) {
	if s.reading.Err() != nil {
		return
	}
	if !s.p.mine() {
		s.fail(errNotMine)
		return
	}
	first := e.Seq > s.p.taken // not after a lost connection
	s.p.taken = max(s.p.taken, e.Seq)
	if first {
		s.p.counts.missed.Add(float64(e.Missed))
	}
	f := flight{seq: e.Seq}
	m, ok, err := s.p.cfg.Mutation(e)
	if err != nil && first {
		s.p.counts.unreadable.Inc()
		s.p.cfg.Logf("rabbitmq: event %d (%s, repository %s) is left out: %s", e.Seq, show.Line(e.Type), show.Line(e.Origin.Repo.Root), show.Line(err.Error()))
	}
	if ok && !s.seen.add(m.EventID) {
		ok = false
		if first {
			s.p.counts.repeated.Inc()
		}
	}
	if ok && e.Seq == s.p.refused {
		s.p.counts.unreadable.Inc()
		s.p.cfg.Logf("rabbitmq: event %d (%d bytes) is left out: RabbitMQ refuses the message", e.Seq, len(e.Raw))
		ok = false
	}
	if ok {
		if f.confirm, err = s.publish(m); err != nil {
			if s.reading.Err() == nil {
				s.lose(err)
			}
			return
		}
		s.sent = e.Seq
	}
	select {
	case s.flights <- f:
	case <-s.reading.Done():
		return
	}
	if f.confirm != nil && e.Seq <= s.p.careful {
		select {
		case <-f.confirm.Done():
		case <-s.reading.Done():
		}
	}
}

func (s *session) publish(m hook.Mutation) (*amqp.DeferredConfirmation, error) {
	body, err := s.p.cfg.Encode(m)
	if err != nil {
		s.p.counts.unreadable.Inc()
		s.p.cfg.Logf("rabbitmq: event %s is left out: %s", show.Line(m.EventID), show.Line(err.Error()))
		return nil, nil
	}
	select {
	case <-s.clear:
		defer func() { s.clear <- struct{}{} }()
	case <-s.reading.Done():
		return nil, s.reading.Err()
	}
	at := m.Timestamp
	if at.Unix() < 0 {
		at = time.Time{} // none: AMQP counts from 1970
	}
	confirm, err := s.channel.PublishWithDeferredConfirm(s.p.cfg.Exchange, m.EventType, false, false, amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		MessageId:    m.EventID,
		Timestamp:    at, // whole seconds
		Type:         "ToolMutationEvent",
		AppId:        "assent",
		Body:         body,
	})
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return confirm, nil
}

var errNack = errors.New("RabbitMQ did not take a message")

// land waits for the confirms, in order, and moves the cursor, until the flights end or hard does.
func (s *session) land() {
	save := time.NewTimer(saveEvery)
	defer save.Stop()
	due := true // save is running
	for {
		select {
		case f, ok := <-s.flights:
			if !ok {
				return
			}
			if f.confirm != nil {
				if !s.settled(f.confirm) {
					return
				}
				if !f.confirm.Acked() {
					s.lose(errNack)
					return
				}
				s.p.counts.published.Inc()
				if s.p.doubted {
					s.p.doubted = false
					s.ready()
				}
			}
			s.p.cursor.Store(f.seq)
			if !due {
				save.Reset(saveEvery)
				due = true
			}
		case <-save.C:
			due = false
			s.p.save(s.hard)
		case <-s.hard.Done():
			return
		}
	}
}

// settled waits until RabbitMQ has confirmed a message or refused it. If it does neither, and does
// not say why either, the session ends.
func (s *session) settled(confirm *amqp.DeferredConfirmation) bool {
	late := time.NewTimer(s.p.cfg.timeouts.confirm)
	defer late.Stop()
	for {
		select {
		case <-confirm.Done():
			return true
		case <-s.hard.Done():
			return false
		case <-late.C:
			if s.excused.Swap(false) || s.held.Load() {
				late.Reset(s.p.cfg.timeouts.confirm)
				continue
			}
			s.fail(fmt.Errorf("%w: a message is not confirmed within %v", errSilent, s.p.cfg.timeouts.confirm))
			return false
		}
	}
}

// lose ends the session after a failure that is, more often than not, that of the connection. Then
// watch knows the reason, and goes first.
func (s *session) lose(err error) {
	select {
	case <-s.hard.Done():
	case <-time.After(time.Second):
		s.fail(err)
	}
}

// suspect looks for a message that RabbitMQ closes the channel over, such as one larger than it
// takes. What was on its way goes once more, each alone; the one that fails again is left out. What
// RabbitMQ did not confirm goes alone too, so that it does not come again and again by the thousand.
func (p *Publisher) suspect(why error, s *session) {
	if errors.Is(why, errSilent) {
		p.careful, p.doubted = max(p.careful, s.sent), true
	}
	var refused *amqp.Error
	if !errors.As(why, &refused) || refused.Code != amqp.PreconditionFailed || s.sent == 0 {
		return
	}
	if s.sent <= p.careful {
		p.refused = s.sent
	}
	p.careful = max(p.careful, s.sent)
}

// save saves the cursor. A failure is not serious: later it is saved again, and what is
// published twice has the same message id.
func (p *Publisher) save(ctx context.Context) {
	at := follow.Cursor{Seq: p.cursor.Load(), Made: p.at.Made}
	if at == p.saved {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := p.cfg.Save(ctx, at); err != nil {
		if ctx.Err() == nil {
			p.cfg.Logf("rabbitmq: how far it has got was not saved: %s", show.Line(err.Error()))
		}
		return
	}
	p.saved = at
}

// idRing remembers the last ids.
type idRing struct {
	ids  map[string]bool
	ring []string
	next int
}

func newIDRing(n int) idRing { return idRing{map[string]bool{}, make([]string, n), 0} }

// add reports whether id is new.
func (r *idRing) add(id string) bool {
	if r.ids[id] {
		return false
	}
	delete(r.ids, r.ring[r.next])
	r.ids[id] = true
	r.ring[r.next] = id
	r.next = (r.next + 1) % len(r.ring)
	return true
}
