package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// ErrNoServer is wrapped by Subscribe's error when no NATS server answers.
var ErrNoServer = errors.New("the event stream does not answer")

// SubscribeOptions choose what Subscribe reads. The zero value reads all events from now on.
type SubscribeOptions struct {
	Filter  string    // one event type; empty: all
	All     bool      // from the oldest event kept
	Since   time.Time // from this time on; zero: not
	Durable string    // the server keeps the reader's place under this name; empty: it does not
	Count   int       // stop after so many events; 0: never
}

// Subscribe reads the public window of events (HOOK_EVENTS) as any outside program would, with
// no more than nats-info.json gives, and calls fn with each event, in order, until ctx is done
// or fn fails. An event is acknowledged after fn returned.
func Subscribe(ctx context.Context, info NATSInfo, opt SubscribeOptions, fn func(hook.Event) error) error {
	nc, err := nats.Connect(info.URL, nats.Token(info.Token), nats.Name("assent events"), nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond))
	if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrNoServer, info.URL, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("open JetStream at %s: %w", info.URL, err)
	}
	cfg := jetstream.ConsumerConfig{
		Durable: opt.Durable, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverNewPolicy,
		MaxAckPending: 1, // one at a time keeps the order across redelivery
	}
	if opt.Filter != "" {
		cfg.FilterSubject = hook.Subject(opt.Filter)
	}
	switch {
	case opt.All:
		cfg.DeliverPolicy = jetstream.DeliverAllPolicy
	case !opt.Since.IsZero():
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &opt.Since
	}
	if opt.Durable == "" {
		cfg.InactiveThreshold = time.Minute
		cfg.MaxAckPending = 1000
	}
	cons, err := consumer(ctx, js, info.Stream, cfg)
	if err != nil {
		return err
	}
	if opt.Durable != "" {
		return readOneByOne(ctx, cons, opt.Count, fn)
	}
	it, err := cons.Messages()
	if err != nil {
		return fmt.Errorf("read %s: %w", info.Stream, err)
	}
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()
	defer it.Stop()
	for n := 0; opt.Count == 0 || n < opt.Count; n++ {
		m, err := it.Next()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("read %s: %w", info.Stream, err)
		}
		if err := handle(m, fn); err != nil {
			return err
		}
		if err := m.Ack(); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
	return nil
}

// readOneByOne asks for an event only when the one before is acknowledged and known to be: an
// event that was on its way to a reader when it stopped would come to the next reader of that
// name half a minute late.
func readOneByOne(ctx context.Context, cons jetstream.Consumer, count int, fn func(hook.Event) error) error {
	for n := 0; count == 0 || n < count; {
		m, err := cons.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(time.Second))
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages), errors.Is(err, jetstream.ErrNoHeartbeat):
			continue // nothing happened for a while, or the server is away
		default:
			return fmt.Errorf("read: %w", err)
		}
		if err := handle(m, fn); err != nil {
			return err
		}
		ackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		err = m.DoubleAck(ackCtx)
		cancel()
		if err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
		n++
	}
	return nil
}

func handle(m jetstream.Msg, fn func(hook.Event) error) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	return fn(messageEvent(m, meta.Sequence.Stream, meta.Timestamp))
}

// consumer goes on with a durable that is there, whatever its start, and else makes one.
func consumer(ctx context.Context, js jetstream.JetStream, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if cfg.Durable != "" {
		c, err := js.Consumer(ctx, stream, cfg.Durable)
		if err == nil {
			if have := c.CachedInfo().Config.FilterSubject; have != cfg.FilterSubject {
				return nil, fmt.Errorf("durable %s reads %q; choose another name for another filter", cfg.Durable, have)
			}
			return c, nil
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, fmt.Errorf("durable %s: %w", cfg.Durable, err)
		}
	}
	c, err := js.CreateConsumer(ctx, stream, cfg)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	return c, nil
}
