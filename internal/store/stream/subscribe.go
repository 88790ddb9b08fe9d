package stream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// ErrNoServer is wrapped by Subscribe's error when no NATS server answers at the start.
var ErrNoServer = errors.New("the event stream does not answer")

// ErrToken is wrapped by Subscribe's error when the server refuses the token.
var ErrToken = errors.New("the event stream refuses the token")

// ErrNoDurable is wrapped by RemoveDurable's error when there is nothing to remove.
var ErrNoDurable = errors.New("no durable reader goes")

// SubscribeOptions choose what Subscribe reads. The zero value reads all events from now on.
type SubscribeOptions struct {
	Filter  string    // one event type; empty: all
	All     bool      // from the oldest event kept
	Since   time.Time // from this time on; zero: not
	Durable string    // the server keeps the reader's place under this name; empty: it does not
	Count   int       // stop after so many events; 0: never
	// Places is the directory where a durable reader remembers the last event it handed out.
	// Without it, an event may come twice, unmarked, after a crash of the server.
	Places string
	// Note hears what is to be said between the events, in its place; nil discards it. Its
	// error ends Subscribe.
	Note func(Note) error
	// Logf hears what the reader's user should know at once, such as the server being away;
	// nil discards it.
	Logf func(format string, args ...any)

	ackWait time.Duration // 0 means ackWait; tests set it
}

// Subscribe reads the public window of events (HOOK_EVENTS) as any outside program would, with
// no more than nats-info.json gives, and calls fn with each event, in the order of the stream.
// It ends with ctx, with an error of fn, after opt.Count events, and when the first attempt to
// reach the server fails. After that it goes on where it was however often the server goes
// away and comes back, under another address or with another token: info is asked each time.
//
// A durable reader acknowledges an event after fn returned, and with opt.Places hands none out
// twice but for one case, which NoteRepeat announces: the process ended while fn was at work.
// No two on one machine can go by the same name (*BusyError). Readers of one name on different
// machines share the events.
func Subscribe(ctx context.Context, info func() (NATSInfo, error), opt SubscribeOptions, fn func(hook.Event) error) (err error) {
	s := &subscription{info: info, opt: opt, fn: fn}
	if s.opt.Note == nil {
		s.opt.Note = func(Note) error { return nil }
	}
	if s.opt.Logf == nil {
		s.opt.Logf = func(string, ...any) {}
	}
	if s.opt.ackWait == 0 {
		s.opt.ackWait = ackWait
	}
	if opt.Durable != "" && opt.Places != "" {
		if s.place, err = openPlace(opt.Places, opt.Durable); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.place.close()) }()
	}
	return s.run(ctx)
}

// RemoveDurable deletes what the server keeps of a durable reader. It returns a *BusyError while
// the reader runs on this machine. The file in places stays, for a lock on a removed file keeps
// nobody out; a new reader of that name does not believe it.
func RemoveDurable(ctx context.Context, info NATSInfo, places, name string) (err error) {
	p, err := openPlace(places, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	nc, js, err := dialReader(info)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err = js.DeleteConsumer(ctx, info.Stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("%w by the name %s", ErrNoDurable, name)
	}
	if err != nil {
		return fmt.Errorf("remove durable %s: %w", name, err)
	}
	return nil
}

// answerTimeout bounds one answer of the server.
const answerTimeout = 5 * time.Second

// dialReader connects once; the connection is not made again when it is lost, for the address
// and the token may be others by then.
func dialReader(info NATSInfo, opts ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	opts = append([]nats.Option{
		nats.Token(info.Token), nats.Name("assent events"), nats.NoReconnect(), nats.Timeout(answerTimeout),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // calls return what matters
	}, opts...)
	nc, err := nats.Connect(info.URL, opts...)
	if err != nil {
		why := ErrNoServer
		if errors.Is(err, nats.ErrAuthorization) {
			why = ErrToken
		}
		return nil, nil, fmt.Errorf("%w at %s: %w", why, withoutPassword(info.URL), err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("open JetStream at %s: %w", withoutPassword(info.URL), err)
	}
	return nc, js, nil
}

// withoutPassword is address, one or a list, fit to be shown.
func withoutPassword(address string) string {
	var shown []string
	for one := range strings.SplitSeq(address, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			shown = append(shown, "…")
			continue
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}

// subscription is one call of Subscribe.
type subscription struct {
	info  func() (NATSInfo, error)
	opt   SubscribeOptions
	fn    func(hook.Event) error
	place *place // nil unless durable with a directory for it

	began   bool      // a session got as far as reading
	reading bool      // the current one did
	away    string    // why there is none now, as it was last said; empty: there is one
	made    time.Time // when the stream was made
	last    uint64    // sequence of the last event handed out or passed by, or to begin behind
	tally   tally     // of the session's consumer
	earlier uint64    // sequence up to which an earlier process may have got events of this name
	shared  bool      // it was said that another reader goes by this name
	seen    int       // events handed out
}

// finalError ends Subscribe; other errors end a session.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// errEnough says that opt.Count events were read.
var errEnough = errors.New("enough")

// run reads in sessions, each over one connection.
func (s *subscription) run(ctx context.Context) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	pause := shortest
	for {
		s.reading = false
		err := s.session(ctx)
		final := finalError{}
		switch {
		case errors.Is(err, errEnough):
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.began:
			return err
		}
		if s.reading {
			pause = shortest
		}
		if why := err.Error(); !errors.Is(err, errOdd) && (s.away == "" || pause == longest && why != s.away) {
			s.away = why
			s.opt.Logf("waiting for the event stream: %v", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}
