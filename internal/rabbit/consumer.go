package rabbit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/show"
)

const (
	// prefetch is how many messages RabbitMQ hands out before it hears what became of them, and so
	// how many are stored together at most; batchBytes bounds that too, but for the last. RabbitMQ
	// bounds them by number only: 128 of the largest events are 900 MB of memory.
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
	return &Consumer{cfg: cfg, server: server, backoff: backoff{shortest: 200 * time.Millisecond, longest: 10 * time.Second}}, nil
}

// Run consumes until ctx is done and returns its error. Nothing else ends it: while RabbitMQ is
// away or refuses, it says so once and tries again.
func (c *Consumer) Run(ctx context.Context) error {
	said := "not yet connected"
	for {
		err := c.session(ctx, func() {
			c.backoff.reset()
			if said != "" {
				c.cfg.Logf("rabbitmq: reading from queue %s at %s", c.cfg.Queue, c.server)
				said = ""
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if why := explain(err); why != said {
			said = why
			c.cfg.Logf("rabbitmq: %s is away, trying again until it is back; messages wait in the queue: %s", c.server, show.Line(why))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.backoff.next()):
		}
	}
}

// aside is the queue of what could not be stored.
func (c *Consumer) aside() string { return c.cfg.Queue + ".failed" }

// session consumes over one connection until something is wrong.
func (c *Consumer) session(ctx context.Context, ready func()) error {
	conn, err := dial(ctx, ctx, c.cfg.URL, c.cfg.TLS, c.cfg.Exchange, "assent ledger")
	if err != nil {
		return err
	}
	defer conn.close()
	s := &consuming{Consumer: c, ctx: ctx, connection: conn, returned: conn.channel.NotifyReturn(make(chan amqp.Return, prefetch))}
	messages, err := s.open()
	if err != nil {
		return err
	}
	ready()
	pause := sweepFirst
	sweep := time.NewTimer(0)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.blocked: // publishing is; the library wants somebody to listen
		case m, ok := <-messages:
			if !ok {
				return s.ended()
			}
			if _, err := s.store(s.batch(m, messages), true); err != nil {
				return err
			}
		case <-sweep.C:
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
	*connection
	ctx      context.Context
	returned <-chan amqp.Return
}

// open declares the queues and asks for messages.
func (s *consuming) open() (<-chan amqp.Delivery, error) {
	for queue, args := range map[string]amqp.Table{
		s.cfg.Queue: {"x-expires": keepAside.Milliseconds()},
		s.aside():   {"x-expires": keepAside.Milliseconds(), "x-max-length-bytes": int64(asideBytes)},
	} {
		if _, err := s.channel.QueueDeclare(queue, true, false, false, false, args); err != nil {
			return nil, fmt.Errorf("declare queue %s: %w", queue, err)
		}
	}
	if err := s.channel.QueueBind(s.cfg.Queue, "tool.mutation.#", s.cfg.Exchange, false, nil); err != nil {
		return nil, fmt.Errorf("bind queue %s: %w", s.cfg.Queue, err)
	}
	if err := s.channel.Qos(prefetch, 0, false); err != nil {
		return nil, fmt.Errorf("bound what comes at a time: %w", err)
	}
	messages, err := s.channel.Consume(s.cfg.Queue, "", false, false, false, false, nil)
	if err != nil {
		return nil, fmt.Errorf("read queue %s: %w", s.cfg.Queue, err)
	}
	return messages, nil
}

// ended says why no further messages come.
func (s *consuming) ended() error {
	select {
	case err, ok := <-s.lost:
		if ok && err != nil {
			return fmt.Errorf("the connection was lost: %w", err)
		}
	case <-time.After(time.Second):
		return fmt.Errorf("queue %s was removed", s.cfg.Queue)
	}
	return errors.New("the connection was lost")
}

// batch adds to a message what comes soon after it.
func (s *consuming) batch(first amqp.Delivery, messages <-chan amqp.Delivery) []amqp.Delivery {
	list, bytes := []amqp.Delivery{first}, len(first.Body)
	due := time.NewTimer(batchWait)
	defer due.Stop()
	for len(list) < prefetch && bytes < batchBytes {
		select {
		case m, ok := <-messages:
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
		confirm, err := s.channel.PublishWithDeferredConfirmWithContext(s.ctx, "", s.aside(), true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, Timestamp: since, MessageId: m.MessageId, ContentType: m.ContentType, Body: m.Body,
		})
		if err != nil {
			return stored, fmt.Errorf("set a message aside: %w", err)
		}
		confirms = append(confirms, confirm)
	}
	for _, c := range confirms {
		if ok, err := c.WaitContext(s.ctx); err != nil || !ok {
			return stored, fmt.Errorf("set a message aside: not confirmed: %w", errors.Join(err, s.ctx.Err()))
		}
	}
	select {
	case r, ok := <-s.returned:
		if ok {
			return stored, fmt.Errorf("set a message aside: queue %s: %s", s.aside(), r.ReplyText)
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

// sweep takes once what was set aside, and reports whether some of it is stored now.
func (s *consuming) sweep() (some bool, err error) {
	q, err := s.channel.QueueDeclarePassive(s.aside(), true, false, false, false, nil)
	if err != nil {
		return false, fmt.Errorf("look at queue %s: %w", s.aside(), err)
	}
	for left := q.Messages; left > 0; {
		var list []amqp.Delivery
		bytes := 0
		for ; left > 0 && len(list) < prefetch && bytes < batchBytes; left-- {
			m, ok, err := s.channel.Get(s.aside(), false)
			if err != nil {
				return some, fmt.Errorf("read queue %s: %w", s.aside(), err)
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
