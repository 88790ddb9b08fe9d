// Package rabbit passes on to RabbitMQ what agents' tools did to files. It follows the EVENTS
// stream with a cursor of its own, publishes each mutation to a topic exchange, and moves the
// cursor when RabbitMQ has confirmed that it has the message. While RabbitMQ is away nothing is
// read and nothing is kept here: the events wait in the stream.
//
// A message may come twice, after a lost connection or a crash, with the same message id. A consumer
// that drops the ids it has seen gets each message once and in order.
//
// # Concurrency
//
// Run keeps one connection at a time, and has one goroutine that looks whether it is to publish. Each connection has one that reads the stream and publishes,
// and one, Run's own, that waits for the confirms; both end before the next connection begins.
// The collectors may be asked at any time.
package rabbit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/text/show"
)

// Exchange is the topic exchange that services bind their queues to.
const Exchange = "hookd.events"

// Config is what a Publisher needs. URL and the function values down to Encode are required.
type Config struct {
	// URL is amqp:// or amqps://. With amqps its parameters cacertfile, certfile, keyfile and
	// server_name_indication name the files of TLS, unless TLS is given.
	URL string
	TLS *tls.Config
	// Exchange is declared as a durable topic exchange; empty means the constant of that name.
	Exchange string

	// Events calls fn with everything in EVENTS behind a cursor, in order, each once, until ctx is done,
	// or the stream is another: follow.ErrAnew. EventsNow is what a cursor is compared with.
	Events    func(ctx context.Context, after follow.Cursor, fn func(hook.Event)) error
	EventsNow func(ctx context.Context) (follow.Stream, error)
	// Load returns what Save kept; ok is false if that was never called.
	Load func(ctx context.Context) (c follow.Cursor, ok bool, err error)
	Save func(ctx context.Context, c follow.Cursor) error
	// Mutation reads an event; ok is false for one that is none. Encode writes a message's body.
	Mutation func(hook.Event) (m hook.Mutation, ok bool, err error)
	Encode   func(hook.Mutation) ([]byte, error)

	// Mine says whether this broker is the one that publishes, of those that share the cursor. It must be
	// quick, and is asked before each message; what is published twice all the same has the same id. nil: no other shares it.
	Mine func() bool

	// Logf hears what an operator should know; nil discards it. It gets neither payloads nor the
	// password.
	Logf func(format string, args ...any)

	timeouts timeouts
}

// Publisher is made by Open and works while Run does.
type Publisher struct {
	cfg    Config
	server string // host and port, for messages
	counts counts
	cursor atomic.Uint64 // sequence of the last event that is done with
	// Owned by Run and, one after the other, by its sessions.
	at      follow.Cursor // where the session began; its Made is that of cursor
	saved   follow.Cursor // what was saved last
	careful uint64        // events up to this one are published one at a time
	refused uint64        // an event that RabbitMQ refuses
	taken   uint64        // the last event that was looked at
	held    bool          // it is our turn, and the cursor was read since it began
	doubted bool          // RabbitMQ was there and confirmed nothing
}

// Open checks cfg and loads the cursor. Without one reading begins at the end of the
// stream: what agents did before anybody asked for RabbitMQ is not sent there. Call it before
// hooks are taken.
func Open(ctx context.Context, cfg Config) (*Publisher, error) {
	server, err := CheckURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Events == nil || cfg.EventsNow == nil || cfg.Load == nil || cfg.Save == nil || cfg.Mutation == nil || cfg.Encode == nil {
		return nil, errors.New("open rabbit: the function values are required")
	}
	if cfg.Exchange == "" {
		cfg.Exchange = Exchange
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	cfg.timeouts = cfg.timeouts.orDefault()
	p := &Publisher{cfg: cfg, server: server}
	p.counts = newCounts(p)
	at, ok, err := cfg.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read how far RabbitMQ has got: %w", err)
	}
	now, err := cfg.EventsNow(ctx)
	if err != nil {
		return nil, fmt.Errorf("note where RabbitMQ begins: %w", err)
	}
	p.saved = at
	if !ok {
		at = follow.Cursor{Seq: now.Last, Made: now.Made}
		if err := cfg.Save(ctx, at); err != nil {
			return nil, fmt.Errorf("note where RabbitMQ begins: %w", err)
		}
		p.saved = at
	}
	p.at = at
	p.cursor.Store(at.Seq)
	p.resume(now)
	return p, nil
}

// resume finds where the next session begins in the stream as it is.
func (p *Publisher) resume(now follow.Stream) {
	was := p.at
	was.Seq = p.cursor.Load()
	next, found := was.Resume(now)
	p.at = next
	p.cursor.Store(next.Seq)
	if found == follow.Same {
		return
	}
	p.cfg.Logf("rabbitmq: %s", found.Explain("the event stream", was, now))
	// These sequences are given to other events.
	p.taken, p.careful, p.refused = min(p.taken, next.Seq), min(p.careful, next.Seq), min(p.refused, next.Seq)
}

// CheckURL returns host and port of an AMQP URL. Its error does not repeat the URL, which may hold
// a password.
func CheckURL(text string) (server string, err error) {
	u, err := amqp.ParseURI(text)
	// An @ behind the host is that of a password with a character in it that ends the host, and
	// then part of the password stands where host and port are.
	_, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); err != nil || u.Host == "" || end >= 0 && strings.Contains(rest[end:], "@") {
		return "", errors.New("not an AMQP URL; want amqp://USER:PASSWORD@HOST:5672/VHOST, or amqps:// for TLS, with special characters percent-encoded")
	}
	return fmt.Sprintf("%s:%d", u.Host, u.Port), nil
}

// Run publishes until ctx is done and returns its error. Nothing else ends it: while RabbitMQ is
// away or refuses, it says so once and tries again.
func (p *Publisher) Run(ctx context.Context) error {
	lastLogged := ""
	pause := backoff{shortest: 200 * time.Millisecond, longest: 10 * time.Second}
	for {
		if err := p.awaitTurn(ctx); err != nil {
			return err
		}
		if now, err := p.cfg.EventsNow(ctx); err == nil { // else the session waits for the stream
			p.resume(now)
		}
		before, begun := p.cursor.Load(), time.Now()
		turn, end := p.turn(ctx)
		err := p.session(turn, func() {
			if lastLogged != "" {
				p.cfg.Logf("rabbitmq: %s is back", p.server)
				lastLogged = ""
			}
		})
		over := turn.Err() != nil || errors.Is(err, errNotMine)
		end()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if over {
			continue
		}
		if p.cursor.Load() != before || time.Since(begun) > time.Minute {
			pause.reset()
		}
		if errors.Is(err, follow.ErrAnew) { // nobody is away
			pause.reset()
		} else if why := explain(err); why != lastLogged {
			lastLogged = why
			p.cfg.Logf("rabbitmq: %s is away, trying again until it is back; events wait in the stream: %s", p.server, show.Line(why))
		}
		if errors.Is(err, errSilent) {
			p.counts.unanswered.Inc()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause.next()):
		}
	}
}

// explain says what went wrong and, where only a person can fix it, how.
func explain(err error) string {
	var refused *amqp.Error
	if !errors.As(err, &refused) {
		return err.Error()
	}
	switch refused.Code {
	case amqp.AccessRefused:
		return err.Error() + " (check user, password, vhost and permissions of the AMQP URL)"
	case amqp.PreconditionFailed:
		return err.Error() + " (an exchange or queue of that name has other properties; remove it)"
	}
	return err.Error()
}

// backoff is the pause between attempts: it doubles, and is random between its half and its whole,
// so that brokers that lost RabbitMQ together do not come back together.
type backoff struct {
	shortest, longest time.Duration
	now               time.Duration
}

func (b *backoff) next() time.Duration {
	b.now = min(max(2*b.now, b.shortest), b.longest)
	return b.now/2 + rand.N(b.now/2+1)
}

func (b *backoff) reset() { b.now = 0 }
