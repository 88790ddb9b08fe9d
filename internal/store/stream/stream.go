// Package stream is the durable core of assent: the events that agents sent and the record of
// every request, on JetStream.
//
// One code path serves two set-ups. With an empty Config.URL the package runs two
// nats-servers of its own inside the process, in Config.Dir: the events engine, which may
// listen for readers outside and acknowledges after write(2), and the record engine, which
// never listens and acknowledges after fsync(2). With a URL it uses an existing cluster.
//
// Nobody who can reach the event stream may touch it. Outside readers therefore live in an
// account of their own, which holds nothing but a mirror of the events: see access.go.
//
// # Concurrency
//
// All methods of Stream may be called from any goroutine. Each engine owns one supervisor
// goroutine (supervise.go), started by Open and waited for by Close. Tail, Events and Watch run
// on their caller's goroutine and call its function from there. The servers' own goroutines
// end with Close.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
	"assent/internal/store/integrity"
)

// Names that programs outside rely on.
const (
	EventsStream = "EVENTS"       // subjects hooks.>; ours alone
	HookEvents   = "HOOK_EVENTS"  // the mirror of EVENTS that outside readers see
	RecordStream = "APPROVALS"    // subjects approvals.<request_id>
	AuditStream  = "AUDIT"        // the tree over the record, see the package tree
	StateBucket  = "ASSENT_STATE" // the KV bucket
)

// Config says where the stream lives. Dir or URL is required.
type Config struct {
	// Dir is the state directory. It is locked while the Stream is open, made (0700) if it is
	// not there, and with embedded servers holds their data in nats/events and nats/record.
	Dir string
	// Listen is HOST:PORT for readers of HOOK_EVENTS; a port that is taken is replaced by a
	// free one, see Info. Empty means no listener. It has no meaning with a URL.
	Listen string
	// ReadersToken is the token of that listener; empty means a new one at each start.
	ReadersToken string
	// URL is an external NATS cluster for the events; empty means embedded. RecordURL is the
	// one for the record; empty means the same as URL.
	URL, RecordURL string
	// Creds and RecordCreds are files of credentials for them (.creds: a JWT and a seed); empty: none, of the
	// record those of the events.
	Creds, RecordCreds string
	// Replicas of every stream in an external cluster; 0 means 1.
	Replicas int
	// Readers is how many connections Listen takes; 0 means 1024.
	Readers int
	// Repair fixes a damaged record before it is opened; without it a damaged record is shown and not
	// written to.
	Repair bool
	// Logf hears what an operator should know; nil discards it. It never gets a payload.
	Logf func(format string, args ...any)

	// reserve is the free space, in bytes, below which writes are refused; 0 means
	// diskReserve, negative means none. Tests set it.
	reserve int64
	// settle is how old an event must be before Settled trusts other replicas to be past it; 0
	// means settleTime. Tests set it.
	settle time.Duration
	// ask is how long Ask waits at most; 0 means longestAsk. Tests set it.
	ask time.Duration
}

// Stream is the open durable core. It implements broker.Log.
type Stream struct {
	bucket   // the state
	cfg      Config
	began    time.Time
	logf     func(string, ...any)
	lock     *dirLock // nil without Dir
	events   *engine
	record   *engine
	order    order
	observed observed
	// Of all that follow the events, and the record; nil: each has a consumer of its own.
	eventReader, recordReader *shared
	noAgents                  bool             // nothing of agents is published; set by Open
	noTexts                   bool             // there is no stream for texts; set by Open
	mark                      *integrity.Mark  // of the record of an embedded engine; nil while that is damaged
	damage                    error            // what is wrong with the record; nil if nothing is
	repair                    integrity.Report // of Config.Repair
	aging                     sync.WaitGroup

	mu   sync.Mutex
	info NATSInfo // guarded by mu

	ctx    context.Context // done when Close begins
	cancel context.CancelFunc
	close  sync.Once
	closed error
}

var _ broker.Log = (*Stream)(nil)

// Now is the time of the record, the same for all who share it, as far as it is known. It runs on this
// machine's monotonic clock, so that nobody who sets a clock moves it.
func (s *Stream) Now() time.Time {
	if s.cfg.URL == "" {
		return s.began.Add(time.Since(s.began))
	}
	return s.record.clock.now()
}

// ErrClosed is what Tail, Events and Watch return when the Stream is closed under them. Other
// calls on a closed Stream return an error that wraps it and broker.ErrUnavailable.
var ErrClosed = errors.New("the stream is closed")

// Open locks the state directory, starts or connects to the servers and makes their streams.
// It returns a *LockedError if another process has the directory.
func Open(ctx context.Context, cfg Config) (*Stream, error) {
	if cfg.Dir == "" && cfg.URL == "" {
		return nil, errors.New("open stream: neither a state directory nor a NATS URL is given")
	}
	if cfg.URL == "" && cfg.RecordURL != "" {
		return nil, errors.New("open stream: a record URL needs an events URL beside it")
	}
	s := &Stream{cfg: cfg, began: time.Now(), logf: cfg.Logf}
	s.bucket = bucket{s, kvStream, kvSubjects}
	if s.logf == nil {
		s.logf = func(string, ...any) {}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if cfg.Dir != "" {
		var err error
		if s.lock, err = lockDir(cfg.Dir); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open starts both engines side by side: half of the time to be ready is theirs.
func (s *Stream) open(ctx context.Context) error {
	if s.cfg.URL == "" {
		// Calls without a deadline get five seconds. A server of our own that needs more is not away,
		// the machine is busy.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*startTimeout)
		defer cancel()
	}
	var eventsErr error
	var wg sync.WaitGroup
	wg.Go(func() { eventsErr = s.openEvents(ctx) })
	recordErr := s.openRecord(ctx)
	wg.Wait()
	if err := errors.Join(eventsErr, recordErr); err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	if s.cfg.URL != "" {
		// An engine in this process is near to all, and in bursts it fell silent more often where they shared.
		s.shareReaders()
	}
	if err := s.writeInfo(); err != nil {
		return err
	}
	s.events.started = func() {
		if err := s.writeInfo(); err != nil { // the port may be another one now
			s.logf("after the restart of the events server: %v", err)
		}
	}
	s.events.supervise()
	s.record.supervise()
	if s.mark != nil {
		js := s.record.js // of now: tests put another in its place
		s.aging.Go(func() { s.followAging(js) })
	}
	return nil
}

// shareReaders lets those who follow the events, and those who follow the record, read along with one reader.
func (s *Stream) shareReaders() {
	s.eventReader, s.recordReader = newShared(s.events, EventsStream), newShared(s.record, RecordStream)
}

func (s *Stream) openEvents(ctx context.Context) (err error) {
	kind := engineKind{name: "events", stream: EventsStream, inFlight: 256, readers: true}
	if s.cfg.URL != "" {
		s.events, err = dialEngine(ctx, kind, s.cfg.URL, s.cfg.Creds, s.logf)
	} else {
		kind.listen, kind.conns, kind.readersToken = s.cfg.Listen, s.cfg.Readers, s.cfg.ReadersToken
		if err := s.cleanEvents(); err != nil {
			return err
		}
		s.events, err = startEngine(ctx, kind, s.engineDir("events"), s.reserve(), s.logf)
	}
	if err != nil {
		return err
	}
	return s.layoutEvents(ctx)
}

func (s *Stream) openRecord(ctx context.Context) (err error) {
	// 32 records on their way keep the disk busy, and even on a disk that needs 10 ms for one
	// they are all written long before the first of them times out.
	kind := engineKind{name: "record", stream: RecordStream, inFlight: 32, sync: true}
	if url := s.cfg.RecordURL; url != "" {
		s.record, err = dialEngine(ctx, kind, url, cmp.Or(s.cfg.RecordCreds, s.cfg.Creds), s.logf)
	} else if s.cfg.URL != "" {
		s.record, err = dialEngine(ctx, kind, s.cfg.URL, cmp.Or(s.cfg.RecordCreds, s.cfg.Creds), s.logf)
	} else {
		var dir string
		if dir, err = s.openMark(); err == nil {
			s.record, err = startEngine(ctx, kind, dir, s.reserve(), s.logf)
		}
	}
	if err != nil {
		return err
	}
	s.guardRecord()
	return s.layoutRecord(ctx)
}

func (s *Stream) engineDir(name string) string {
	return filepath.Join(s.cfg.Dir, "nats", name)
}

func (s *Stream) reserve() int64 {
	switch {
	case s.cfg.reserve == 0:
		return diskReserve
	case s.cfg.reserve < 0:
		return 0
	}
	return s.cfg.reserve
}

// Free is how many bytes the disk of the state directory still takes.
func (s *Stream) Free() (uint64, error) { return freeSpace(s.cfg.Dir) }

// Healthy returns nil while events and records can be written, and otherwise why not.
func (s *Stream) Healthy() error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return errors.Join(s.events.healthy(), s.record.healthy())
}

// Probe returns nil if events and records can be written, as far as that can be tried without
// leaving a trace, and otherwise why not: Healthy remembers what writes met, and in a quiet time,
// or beside a cluster without a leader, there were none. ctx bounds it.
func (s *Stream) Probe(ctx context.Context) error {
	if err := s.Healthy(); err != nil {
		return err
	}
	var eventsErr, recordErr error
	var wg sync.WaitGroup
	wg.Go(func() { eventsErr = s.events.answers(ctx) })
	recordErr = s.record.answers(ctx)
	wg.Wait()
	return errors.Join(eventsErr, recordErr)
}

// Size is what EventsStream or RecordStream holds.
func (s *Stream) Size(ctx context.Context, name string) (messages, bytes uint64, err error) {
	e := s.events
	if name == RecordStream {
		e = s.record
	}
	state, err := e.streamState(ctx, e.js, name)
	if err != nil {
		return 0, 0, fmt.Errorf("size of %s: %w", name, err)
	}
	return state.Msgs, state.Bytes, nil
}

// Close ends Tail, Events and Watch with ErrClosed, stops the servers and unlocks the
// directory, in that order, within seconds. A second Close returns what the first did.
func (s *Stream) Close() error {
	s.close.Do(func() {
		s.cancel()
		s.aging.Wait()
		var wg sync.WaitGroup
		clean := false
		if s.events != nil {
			wg.Go(func() { s.events.stop() })
		}
		if s.record != nil {
			wg.Go(func() { clean = s.record.stop() })
		}
		wg.Wait()
		s.closed = errors.Join(s.removeInfo(), s.closeMark(clean))
		if s.lock != nil {
			// Last: the next owner may start writing at once.
			s.closed = errors.Join(s.closed, s.lock.release())
		}
	})
	return s.closed
}

// makeDir makes a directory that only the owner can enter.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}

// layoutEvents makes EVENTS, AGENTS and their public mirrors.
func (s *Stream) layoutEvents(ctx context.Context) error {
	e := s.events
	state, err := e.ensureStream(ctx, e.js, jetstream.StreamConfig{
		Name:        EventsStream,
		Description: "every hook event, byte for byte",
		Subjects:    []string{"hooks.>"},
		MaxAge:      7 * 24 * time.Hour,
		MaxBytes:    10 << 30,
		Discard:     jetstream.DiscardOld,
		Duplicates:  2 * time.Minute,
		AllowDirect: true,
		Replicas:    s.replicas(),
	})
	if err != nil {
		return err
	}
	s.order.see(state.LastSeq)
	js, done, err := e.mirrorJS()
	if err != nil {
		return err
	}
	defer done()
	window := hookWindow()
	window.Mirror, window.Replicas = e.mirrorSource(EventsStream), s.replicas()
	if _, err = e.ensureStream(ctx, js, window); err != nil {
		return err
	}
	return s.layoutAgents(ctx, js)
}

// hookWindow is what readers outside see of the events.
func hookWindow() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        HookEvents,
		Description: "the last hook events, for readers outside",
		MaxMsgs:     10_000,
		MaxBytes:    100_000_000,
		// A consumer costs memory, and every holder of the token may make them.
		MaxConsumers: 256,
		Discard:      jetstream.DiscardOld,
	}
}

// layoutRecord makes APPROVALS, AUDIT, ASSENT_STATE and TEXTS.
func (s *Stream) layoutRecord(ctx context.Context) error {
	e := s.record
	if _, err := e.ensureStream(ctx, e.js, jetstream.StreamConfig{
		Name:        RecordStream,
		Description: "what was asked, decided and delivered",
		Subjects:    []string{recordSubjects},
		MaxAge:      recordAge,
		Discard:     jetstream.DiscardOld,
		AllowDirect: true,
		Replicas:    s.replicas(),
	}); err != nil {
		return err
	}
	if _, err := e.ensureStream(ctx, e.js, jetstream.StreamConfig{
		Name:        AuditStream,
		Description: "the tree over the record, with its checkpoints: without an end",
		Subjects:    []string{auditSubject},
		DenyDelete:  true,
		DenyPurge:   true,
		Replicas:    s.replicas(),
	}); err != nil {
		return err
	}
	if _, err := e.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket:      StateBucket,
		Description: "tokens, devices, grants, checkpoint",
		History:     1,
		Replicas:    s.replicas(),
	}); err != nil {
		return fmt.Errorf("make bucket %s: %w", StateBucket, err)
	}
	return s.layoutTexts(ctx)
}

func (s *Stream) replicas() int { return max(1, s.cfg.Replicas) }
