package stream

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// The broker, the history and the tree all follow the record, and as many the events. Were each delivered every
// message by itself, a cluster would send each one as often over its network, and each would be read
// as often. So there those that have caught up read along with one reader; who falls behind it goes back to a consumer of
// its own until it has caught up again.

// delivery is a message that was delivered. What it says is read once, however many follow; nobody may
// change that.
type delivery struct {
	jetstream.Msg
	seq    uint64
	stored time.Time

	once sync.Once
	rec  hook.Record
	err  error
}

// record is the record in a message of APPROVALS. Stored is not set.
func (d *delivery) record() (hook.Record, error) {
	d.once.Do(func() { d.rec, d.err = messageRecord(d.Headers(), d.Data(), d.seq) })
	return d.rec, d.err
}

// A shared reader holds at most so many messages, and so many bytes, that some of those who read along have not
// taken yet.
const (
	maxShared      = 256
	maxSharedBytes = 4 << 20
)

// shared is a reader of all of a stream for those in this process that follow it, while there are at least two.
type shared struct {
	engine *engine
	stream string

	life  sync.Mutex // held while the reader is started or stopped
	users int        // guarded by life
	stop  func()     // guarded by life; nil while nothing is read

	mu sync.Mutex
	// Guarded by mu.
	session context.Context // the engine's of what is being read; nil while nothing is
	made    time.Time       // the stream that is read
	last    uint64          // up to where it was read
	held    []*delivery     // what somebody has not taken, oldest first
	bytes   int             // of held
	along   map[*companion]struct{}
}

func newShared(e *engine, stream string) *shared {
	return &shared{engine: e, stream: stream, along: map[*companion]struct{}{}}
}

// enter counts one more that follows, until leave is called.
func (s *shared) enter(js jetstream.JetStream) (leave func()) {
	s.life.Lock()
	defer s.life.Unlock()
	if s.users++; s.users >= 2 && s.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		var reading sync.WaitGroup
		f := &follower{engine: s.engine, js: js, stream: s.stream, onlyNew: true, lossy: true, quiet: true, apply: s.put}
		f.began = s.begin
		f.ended = func() {
			s.end()
			f.onlyNew = true // what came meanwhile everybody reads by themselves
		}
		reading.Go(func() { _ = f.run(ctx) })
		s.stop = func() {
			cancel()
			reading.Wait()
		}
	}
	return func() {
		s.life.Lock()
		defer s.life.Unlock()
		if s.users--; s.users < 2 && s.stop != nil {
			s.stop()
			s.stop = nil
		}
	}
}

// begin is called when what comes behind c is read from here on.
func (s *shared) begin(session context.Context, c follow.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.made, s.last = session, c.Made, c.Seq
}

// end sends everybody away: something is odd, and each has to find out by itself where to go on.
func (s *shared) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = nil
	for c := range s.along {
		s.sendAwayLocked(c)
	}
	s.trimLocked()
}

func (s *shared) put(d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = d.seq
	s.held = append(s.held, d)
	s.bytes += weightOf(d)
	for len(s.held) > 1 && (len(s.held) > maxShared || s.bytes > maxSharedBytes) {
		for c := range s.along {
			if c.at < s.held[0].seq {
				s.sendAwayLocked(c)
			}
		}
		s.trimLocked()
	}
	s.trimLocked()
	for c := range s.along {
		poke(c.wake)
	}
}

// trimLocked lets go of what all have taken.
func (s *shared) trimLocked() {
	taken := s.last
	for c := range s.along {
		taken = min(taken, c.at)
	}
	n := 0
	for ; n < len(s.held) && s.held[n].seq <= taken; n++ {
		s.bytes -= weightOf(s.held[n])
		s.held[n] = nil
	}
	if s.held = s.held[n:]; len(s.held) == 0 {
		s.held = nil
	}
}

func (s *shared) sendAwayLocked(c *companion) {
	c.away = true
	delete(s.along, c)
	poke(c.wake)
}

// weightOf is about what a message takes.
func weightOf(d *delivery) int { return len(d.Data()) + 2048 }

// join lets one that has applied all up to c read along. It returns nil where that is not known to be right: the reader
// reads another stream, or by another session, or is further, so that what comes next might be gone here, or be of
// an end that the stream has lost.
func (s *shared) join(session context.Context, c follow.Cursor) *companion {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != session || !s.made.Equal(c.Made) || s.last > c.Seq {
		return nil
	}
	a := &companion{s: s, wake: make(chan struct{}, 1), at: c.Seq}
	s.along[a] = struct{}{}
	return a
}

// companion is one that reads along. It belongs to one goroutine.
type companion struct {
	s    *shared
	wake chan struct{} // something came, or it was sent away; holds one
	at   uint64        // guarded by s.mu; the last that it took
	away bool          // guarded by s.mu
}

// next returns the next message, and errOdd when it cannot read along any more, or ctx or session is done.
func (c *companion) next(ctx, session context.Context) (*delivery, error) {
	for {
		d, err := c.take()
		if d != nil || err != nil {
			return d, err
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil, errOdd
		case <-session.Done():
			return nil, errOdd
		}
	}
}

// take returns the next message if it is there.
func (c *companion) take() (*delivery, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.away {
		return nil, errOdd
	}
	held := c.s.held
	n := sort.Search(len(held), func(i int) bool { return held[i].seq > c.at })
	if n == len(held) {
		return nil, nil
	}
	d := held[n]
	c.at = d.seq
	c.s.trimLocked()
	return d, nil
}

// leave ends the reading along.
func (c *companion) leave() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.s.along, c)
	c.s.trimLocked()
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
