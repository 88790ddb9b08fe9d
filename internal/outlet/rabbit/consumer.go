package rabbit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/text/show"
)

const (
	// prefetch is how many messages RabbitMQ hands out before the first is acknowledged, and so
	// how many are stored together at most; batchBytes bounds that too, but for the last. RabbitMQ
	// bounds them by number only, and 128 of the largest events are 900 MB; see gate.
	prefetch   = 128
	batchBytes = 4 << 20
	// batchWait is how long a batch waits for more.
	batchWait = 20 * time.Millisecond
	// keepAside is how long messages that could not be stored are tried again, and how long the
	// queues stay without a consumer.
	keepAside = 7 * 24 * time.Hour
	// asideBytes bounds the messages that are set aside; then the oldest go.
	asideBytes = 1 << 30
	// sweepFirst and sweepLast are the pauses between looks at what was set aside. They grow while
	// nothing of it can be stored.
	sweepFirst = time.Minute
	sweepLast  = time.Hour
)

// ConsumerConfig is what a Consumer needs. URL, Queue and Store are required.
type ConsumerConfig struct {
	URL      string // as in Config
	TLS      *tls.Config
	Exchange string // empty means the constant of that name
	// Queue is the consumer's own. It is declared, and Queue.failed beside it, and bound to all
	// mutations.
	Queue string
	// Store is called with the bodies of messages, in order, and returns an error for each: nil for
	// a message that is done with. Others are set aside and come again later. What it did is
	// durable when it returns.
	Store func(ctx context.Context, bodies [][]byte) []error
	// Logf hears what an operator should know; nil discards it.
	Logf func(format string, args ...any)

	timeouts timeouts
}

// Consumer takes mutations from a queue of its own. A message is acknowledged after it was stored,
// or set aside in a second queue: one that cannot be stored holds up no other. Messages may come
// twice.
type Consumer struct {
	cfg     ConsumerConfig
	server  string
	backoff backoff
}

// NewConsumer checks cfg.
func NewConsumer(cfg ConsumerConfig) (*Consumer, error) {
	server, err := CheckURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Queue == "" || len(cfg.Queue) > 200 || cfg.Store == nil {
		return nil, errors.New("consume from RabbitMQ: a queue, of at most 200 bytes, and Store are required")
	}
	if cfg.Exchange == "" {
		cfg.Exchange = Exchange
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	cfg.timeouts = cfg.timeouts.orDefault()
	return &Consumer{cfg: cfg, server: server, backoff: backoff{shortest: 200 * time.Millisecond, longest: 10 * time.Second}}, nil
}

// Run consumes until ctx is done and returns its error. Nothing else ends it: while RabbitMQ is
// away or refuses, it says so once and tries again.
func (c *Consumer) Run(ctx context.Context) error {
	lastLogged := "not yet connected"
	silent := false
	for {
		err := c.session(ctx, func() {
			if !silent { // else it may be so again, and what was set aside comes there twice
				c.backoff.reset()
			}
			if lastLogged != "" {
				c.cfg.Logf("rabbitmq: reading from queue %s at %s", c.cfg.Queue, c.server)
				lastLogged = ""
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		silent = errors.Is(err, errSilent)
		if why := explain(err); why != lastLogged {
			lastLogged = why
			c.cfg.Logf("rabbitmq: %s is away, trying again until it is back; messages wait in the queue: %s", c.server, show.Line(why))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.backoff.next()):
		}
	}
}

// failed is the queue of what could not be stored.
func (c *Consumer) failed() string { return c.cfg.Queue + ".failed" }

// session consumes until something is wrong. It has two connections: what is set aside is confirmed
// over one that is always read, and the other is read no faster than messages are stored.
func (c *Consumer) session(ctx context.Context, ready func()) error {
	s := &consuming{Consumer: c, ctx: ctx, gate: newGate()}
	to := target{url: c.cfg.URL, tls: c.cfg.TLS, exchange: c.cfg.Exchange, name: "assent ledger", timeouts: c.cfg.timeouts}
	var err error
	if s.aside, err = dial(ctx, ctx, to); err != nil {
		return err
	}
	defer s.aside.close()
	to.gate = s.gate
	if s.main, err = dial(ctx, ctx, to); err != nil {
		return err
	}
	defer s.main.close()
	s.returned = s.aside.channel.NotifyReturn(make(chan amqp.Return, prefetch))
	messages, err := s.open()
	if err != nil {
		return err
	}
	ready()
	pause := sweepFirst
	sweep := time.NewTimer(0)
	defer sweep.Stop()
	for {
		s.gate.wait()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-s.main.blocked: // publishing is; the library wants somebody to listen
			if !ok {
				s.main.blocked = nil
			}
		case b, ok := <-s.aside.blocked:
			s.blocked(b, ok)
		case err := <-s.aside.lost:
			return lostError(err)
		case m, ok := <-messages:
			s.gate.take(len(m.Body))
			if !ok {
				return s.ended()
			}
			if _, err := s.store(s.batch(m, messages), true); err != nil {
				return err
			}
		case <-sweep.C:
			s.gate.take(0)
			some, err := s.sweep()
			if err != nil {
				return err
			}
			if pause = min(2*pause, sweepLast); some {
				pause = sweepFirst
			}
			sweep.Reset(pause)
		}
	}
}

// consuming is one session.
type consuming struct {
	*Consumer
	ctx      context.Context
	main     *connection // messages and their acknowledgements
	gate     *gate       // of main
	aside    *connection // what could not be stored
	held     bool        // RabbitMQ takes nothing at the moment
	returned <-chan amqp.Return
}

// open declares the queues and asks for messages.
func (s *consuming) open() (messages <-chan amqp.Delivery, err error) {
	for queue, args := range map[string]amqp.Table{
		s.cfg.Queue: {"x-expires": keepAside.Milliseconds()},
		s.failed():  {"x-expires": keepAside.Milliseconds(), "x-max-length-bytes": int64(asideBytes)},
	} {
		if err := s.main.ask(func() error {
			_, err := s.main.channel.QueueDeclare(queue, true, false, false, false, args)
			return err
		}); err != nil {
			return nil, fmt.Errorf("declare queue %s: %w", queue, err)
		}
	}
	if err := s.main.ask(func() error {
		return s.main.channel.QueueBind(s.cfg.Queue, "tool.mutation.#", s.cfg.Exchange, false, nil)
	}); err != nil {
		return nil, fmt.Errorf("bind queue %s: %w", s.cfg.Queue, err)
	}
	if err := s.main.ask(func() error { return s.main.channel.Qos(prefetch, 0, false) }); err != nil {
		return nil, fmt.Errorf("bound what comes at a time: %w", err)
	}
	if err := s.main.ask(func() (err error) {
		messages, err = s.main.channel.Consume(s.cfg.Queue, "", false, false, false, false, nil)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read queue %s: %w", s.cfg.Queue, err)
	}
	return messages, nil
}

// blocked notes whether RabbitMQ takes messages.
func (s *consuming) blocked(b amqp.Blocking, ok bool) {
	if !ok {
		s.aside.blocked = nil
		return
	}
	if b.Active && !s.held {
		s.cfg.Logf("rabbitmq: %s takes nothing at the moment; what cannot be stored waits, and what comes behind it: %s", s.server, show.Line(b.Reason))
	}
	s.held = b.Active
}

func lostError(err *amqp.Error) error {
	if err == nil { // the library closes its channel when we close the connection
		return errors.New("the connection was lost")
	}
	return fmt.Errorf("the connection was lost: %w", err)
}

// ended says why no further messages come.
func (s *consuming) ended() error {
	select {
	case err := <-s.main.lost:
		return lostError(err)
	case <-time.After(time.Second):
		return fmt.Errorf("queue %s was removed", s.cfg.Queue)
	}
}

// batch adds to a message what comes soon after it.
func (s *consuming) batch(first amqp.Delivery, messages <-chan amqp.Delivery) []amqp.Delivery {
	list, bytes := []amqp.Delivery{first}, len(first.Body)
	due := time.NewTimer(batchWait)
	defer due.Stop()
	defer s.gate.take(0)
	for len(list) < prefetch && bytes < batchBytes {
		s.gate.wait()
		select {
		case m, ok := <-messages:
			s.gate.take(len(m.Body))
			if !ok {
				return list
			}
			list, bytes = append(list, m), bytes+len(m.Body)
		case <-due.C:
			return list
		case <-s.ctx.Done():
			return list
		}
	}
	return list
}

// store stores messages, sets aside what cannot be stored, and then acknowledges all. first says
// that they come from the queue and not from beside it.
func (s *consuming) store(list []amqp.Delivery, first bool) (stored int, err error) {
	bodies := make([][]byte, len(list))
	for i, m := range list {
		bodies[i] = m.Body
	}
	failed := s.cfg.Store(s.ctx, bodies)
	if s.ctx.Err() != nil {
		return 0, s.ctx.Err() // what it says may be of our own making
	}
	var confirms []*amqp.DeferredConfirmation
	for i, m := range list {
		if failed[i] == nil {
			stored++
			continue
		}
		since := m.Timestamp
		if first || since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) > keepAside {
			s.cfg.Logf("rabbitmq: a message that could not be stored for %d days is given up: %s", int(keepAside.Hours()/24), show.Line(failed[i].Error()))
			continue
		}
		confirm, err := s.aside.channel.PublishWithDeferredConfirmWithContext(s.ctx, "", s.failed(), true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, Timestamp: since, MessageId: m.MessageId, ContentType: m.ContentType, Body: m.Body,
		})
		if err != nil {
			return stored, fmt.Errorf("set a message aside: %w", err)
		}
		confirms = append(confirms, confirm)
	}
	for _, c := range confirms {
		if err := s.settled(c); err != nil {
			return stored, fmt.Errorf("set a message aside: %w", err)
		}
	}
	select {
	case r, ok := <-s.returned:
		if ok {
			return stored, fmt.Errorf("set a message aside: queue %s: %s", s.failed(), r.ReplyText)
		}
	default:
	}
	for _, m := range list {
		if err := m.Ack(false); err != nil {
			return stored, fmt.Errorf("acknowledge: %w", err)
		}
	}
	return stored, nil
}

// settled waits until RabbitMQ has confirmed a message.
func (s *consuming) settled(confirm *amqp.DeferredConfirmation) error {
	late := time.NewTimer(s.cfg.timeouts.confirm)
	defer late.Stop()
	for {
		select {
		case <-confirm.Done():
			if !confirm.Acked() {
				return errNack
			}
			return nil
		case <-s.ctx.Done():
			return s.ctx.Err()
		case b, ok := <-s.aside.blocked:
			s.blocked(b, ok)
			late.Reset(s.cfg.timeouts.confirm)
		case <-late.C:
			if !s.held {
				return fmt.Errorf("%w: a message is not confirmed within %v", errSilent, s.cfg.timeouts.confirm)
			}
			late.Reset(s.cfg.timeouts.confirm)
		}
	}
}

// sweep takes once what was set aside, and reports whether some of it is stored now.
func (s *consuming) sweep() (some bool, err error) {
	var q amqp.Queue
	if err := s.aside.ask(func() (err error) {
		q, err = s.aside.channel.QueueDeclarePassive(s.failed(), true, false, false, false, nil)
		return err
	}); err != nil {
		return false, fmt.Errorf("look at queue %s: %w", s.failed(), err)
	}
	for left := q.Messages; left > 0; {
		var list []amqp.Delivery
		bytes := 0
		for ; left > 0 && len(list) < prefetch && bytes < batchBytes; left-- {
			var m amqp.Delivery
			var ok bool
			if err := s.aside.ask(func() (err error) {
				m, ok, err = s.aside.channel.Get(s.failed(), false)
				return err
			}); err != nil {
				return some, fmt.Errorf("read queue %s: %w", s.failed(), err)
			}
			if !ok {
				left = 0
				break
			}
			list, bytes = append(list, m), bytes+len(m.Body)
		}
		if len(list) == 0 {
			break
		}
		stored, err := s.store(list, false)
		if err != nil {
			return some, err
		}
		some = some || stored > 0
	}
	return some, nil
}
