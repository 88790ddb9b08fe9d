// Package hookd receives tool calls from hookd-emit: envelopes, one JSON text a line, on a
// unix socket, without an answer. Each becomes an event and goes where the events of the agent's
// own hooks go. Where an envelope does not name its repository, the broker finds it.
//
// An emitter connects, writes and is gone, so what it wrote is only as safe as this process: what
// was read is published, or spooled while nothing can be published; a kill loses what was not
// published yet. A program that must not lose events sends them with assent-hook.
//
// # Concurrency
//
// Serve accepts connections and gives each a goroutine, at most maxConns; all have ended when it
// returns. They put lines into a queue, from which one goroutine makes events and publishes them,
// so that a burst is read as quickly as it comes. First lines are queued in the order of their
// connections, for one agent's follow one another: a goroutine waits with its first line until that
// of the connection before it is queued, but for one that does not come it waits no longer than
// grace. The collectors may be asked at any time.
package hookd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/text/show"
)

// Config is what a Receiver needs. Publish is required.
type Config struct {
	// Path is the socket's, for messages.
	Path string
	// Host is this machine's name: an envelope comes from here.
	Host string
	// Submitter is the user who may open the socket, see hook.Event.
	Submitter string
	// Conns is how many connections are served at once, at most and by default maxConns.
	Conns int
	// Publish makes an event durable and returns its EVENTS sequence.
	Publish func(context.Context, hook.Event) (uint64, error)
	// Keep writes an event to disk, for later. Unless create is set it does so only if events of
	// the same session wait there, and says whether it did. nil means that nothing can be kept.
	Keep func(session string, e hook.Event, create bool) (kept bool, err error)
	// Gone is called when no connection is wanted any more, before the last ones are served: it
	// takes the socket's name away. nil does nothing.
	Gone func()
	// Logf hears what an operator should know; nil discards it. It gets no payloads.
	Logf func(format string, args ...any)
}

// Receiver is made by New and works while Serve does, once.
type Receiver struct {
	cfg    Config
	repos  gitrepo.Cache
	conns  chan struct{}       // one element for each open connection
	long   chan struct{}       // one element for each line that is longer than a buffer
	bufs   sync.Pool           // of *bufio.Reader
	queue  chan []byte         // lines; closed by Serve
	budget *semaphore.Weighted // bytes of lines in the queue
	broke  time.Time           // owned by handOn: when the stream last took no event

	events, unreadable, lost prometheus.Counter

	mu     sync.Mutex
	warned time.Time // guarded by mu
	held   int       // guarded by mu: warnings not said since
}

// New returns a receiver.
func New(cfg Config) *Receiver {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Conns <= 0 || cfg.Conns > maxConns {
		cfg.Conns = maxConns
	}
	if cfg.Gone == nil {
		cfg.Gone = func() {}
	}
	if cfg.Keep == nil {
		cfg.Keep = func(string, hook.Event, bool) (bool, error) { return false, errors.New("there is no spool directory") }
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &Receiver{
		cfg: cfg, conns: make(chan struct{}, cfg.Conns), long: make(chan struct{}, maxLong),
		queue: make(chan []byte, maxQueue), budget: semaphore.NewWeighted(maxQueueBytes),
		events:     counter("assent_hookd_events_total", "Lines that came on the hookd socket."),
		unreadable: counter("assent_hookd_unreadable_total", "Lines of the hookd socket that are no proper envelope; they are in the event stream all the same."),
		lost:       counter("assent_hookd_lost_total", "Lines of the hookd socket that could not be taken: too long, too slow, or neither stream nor disk took them."),
	}
}

// Collectors are the metrics of r; none if r is nil.
func (r *Receiver) Collectors() []prometheus.Collector {
	if r == nil {
		return nil
	}
	return []prometheus.Collector{r.events, r.unreadable, r.lost}
}

// Listener is a *net.UnixListener.
type Listener interface {
	net.Listener
	SetDeadline(time.Time) error
}

// directory is where a tool call happened, as far as its envelope says: the caller's working
// directory, the agent's, or that of the file; empty if none is known.
func directory(e hook.Event, p hook.Payload, cwd string) string {
	switch {
	case cwd != "":
		return cwd
	case p.CWD != "":
		return p.CWD
	}
	if m, ok, err := anyTool(e); ok && err == nil && m.FilePath != nil && path.IsAbs(*m.FilePath) {
		return path.Dir(*m.FilePath)
	}
	return ""
}

// anyTool reads the call of any tool, mutation or not.
var anyTool = claude.MutationOf(claude.AllMutationTools())

// lose counts a line that is gone, and says why.
func (r *Receiver) lose(why string) {
	r.lost.Inc()
	r.warn("hookd socket %s: an event is lost: %s", show.Line(r.cfg.Path), show.Line(why))
}

// warn says one thing a second; a thousand emitters may fail alike.
func (r *Receiver) warn(format string, args ...any) {
	r.mu.Lock()
	now, held := time.Now(), r.held
	if quiet := now.Sub(r.warned) < time.Second; quiet {
		r.held++
		r.mu.Unlock()
		return
	}
	r.warned, r.held = now, 0
	r.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if held > 0 {
		text += fmt.Sprintf(" (and %d more warnings before)", held)
	}
	r.cfg.Logf("%s", text)
}
