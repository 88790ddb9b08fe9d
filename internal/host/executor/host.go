// Package executor runs the agents of a machine: the real programs, each in a directory of its own, with a
// pipe as its input and a file as its output.
//
// Whatever is killed, no prompt is lost and none runs twice. What happens is in a session's journal before
// anybody is told. The agent's program holds its end of the pipe itself, so it outlives the host; the next
// host finds it by pid and start time, reads the file from where the journal left off, and writes a prompt
// without a receipt again under the same id, of which the program runs no second one. A prompt of a program
// that died is written to the next one only where the session's own transcript shows that it never arrived.
//
// Permissions do not pass through here: they go through hooks and assent mcp, and wait on when the host
// is gone. What an agent may ask, and who answers it, is no concern of this package.
//
// # Concurrency
//
// Run, in its caller's goroutine, does all the work; what is asked of git, of gh, and of the
// agents' programs while nothing of them runs, is asked in goroutines that end before Run does. All methods may be called
// from any goroutine. One mutex guards the state. The look at a project, and the reading of what agents write, is without
// it: both may take seconds.
package executor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/host/optin"
)

const (
	maxKept   = 200  // sessions whose directories are kept
	maxOffers = 1000 // messages that were not taken yet
	maxEvents = 100  // of progress, that were not acknowledged yet
	// MaxPrompt is the longest prompt, in bytes.
	MaxPrompt = hook.MaxMessage

	pollEvery     = 100 * time.Millisecond // while a session has something to do
	restEvery     = time.Second
	progressEvery = time.Second
)

// ErrRuns says that another host works on the same directory.
var ErrRuns = errors.New("another assent agent serve works there")

// Config is what a Host needs. All members but Version, Ask, Changed and Logf are required.
type Config struct {
	Dir     string   // of the sessions; made if it is not there
	Home    string   // of the person
	Version string   // of this program, see FindRunning; may be empty
	Environ []string // of the host, of which agents get a part
	File    func() (optin.File, error)
	Look    func(context.Context, optin.Agent) []optin.Finding
	// Again is what Look finds that can have changed since, quickly: the last thing that is asked before a start.
	Again func(optin.Agent) []optin.Finding
	// Ask returns the version of an agent's program, "" where that cannot be known; nil: it is said once it runs.
	Ask func(context.Context, optin.Agent) string
	// Settings is the text of settings with the hooks that are not installed; nil: all are.
	Settings func(optin.Agent) ([]byte, error)
	// MCP is the text of the configuration that makes assent mcp the agent's prompt tool.
	MCP func() ([]byte, error)
	// Changed is called when Outbox or Agents changed, under the lock: it must not call back.
	Changed func()
	// Logf reports what happens, and never a prompt; nil discards it.
	Logf func(format string, args ...any)
}

// Host runs the agents. Make it with Open.
type Host struct {
	cfg  Config
	lock *flock.Flock // see keepsLock, but in Open and Close
	held fs.FileInfo  // what lock is of
	seen time.Time    // when that was looked at last
	wake chan struct{}
	name string // of this run, for the ids of its frames

	mu       sync.Mutex
	sessions map[string]*session      // guarded by mu
	offers   []Order                  // guarded by mu; in the order in which they came
	extra    []api.HostFrame          // guarded by mu; refusals, and what is said of messages that nobody here knows
	events   []api.HostFrame          // guarded by mu; of progress
	said     map[string]time.Time     // guarded by mu; when a session's progress was told last
	serial   int                      // guarded by mu; of events
	children map[int]bool             // guarded by mu; processes that are ours to wait for
	scopes   string                   // guarded by mu; findScopes, before the last start
	timeouts map[string]time.Duration // guarded by mu; of the agents, as their file said last
	halted   bool                     // guarded by mu; everything is stopped, as the broker said last
	asking   bool                     // guarded by mu; gh is being asked
	programs map[string]program       // guarded by mu; by the agent's name
	unasked  []optin.Agent            // guarded by mu; whose program is to be asked for its version
	repos    gitrepo.Cache
	ids      map[string]time.Time // guarded by mu; of messages that were taken, with the end of their time, see keepIDs
	over     time.Time            // guarded by mu; see overID

	offered []optin.Agent // guarded by mu; as their file said last
	accept  []string      // guarded by mu; whom it named last; nil: it could not be read since this host began

	forgetting map[string]bool // guarded by mu; sessions that are still to be forgotten
	forgotten  []string        // guarded by mu; those of which the broker is not told

	beside sync.WaitGroup // goroutines of Run
}

// Open takes up what is in the directory: sessions of an earlier host, with their agents if they still run.
// ErrRuns: another host has it. The caller must Close it.
func Open(cfg Config) (*Host, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("agents can be started on Linux only: elsewhere assent cannot tell whether a process still is the one that it started")
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil { // its one name, as there are no links in it, by which what was started is found again
		return nil, err
	}
	if err := optin.Others(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%w; sessions of agents need a directory that is yours alone", err)
	}
	if err := os.Chmod(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	h := &Host{
		cfg: cfg, lock: lockOf(cfg.Dir), wake: make(chan struct{}, 1), name: strings.ToLower(rand.Text()[:16]),
		sessions: map[string]*session{}, said: map[string]time.Time{}, children: map[int]bool{}, timeouts: map[string]time.Duration{}, ids: map[string]time.Time{}, forgetting: map[string]bool{},
	}
	if ok, err := h.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the sessions: %w; if no host runs, remove what stands there", err)
	} else if !ok {
		return nil, ErrRuns
	}
	if r, ok := FindRunning(cfg.Dir); ok && r.PID != os.Getpid() { // its lock was removed
		return nil, errors.Join(fmt.Errorf("%w, process %d", ErrRuns, r.PID), h.lock.Unlock())
	}
	if h.held, err = os.Lstat(h.lock.Path()); err != nil {
		return nil, errors.Join(err, h.lock.Unlock())
	}
	if err := errors.Join(sayRunning(cfg.Dir, cfg.Version), h.loadIDs(), h.load()); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Close ends the host and leaves the agents running.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		s.closeFiles()
		_ = s.journal.close()
	}
	sayEnded(h.cfg.Dir)
	return h.lock.Unlock()
}

// Run works until ctx ends, and returns its error; or until another host has the directory, which is ErrRuns. The agents go on.
func (h *Host) Run(ctx context.Context) error {
	defer h.beside.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.wake:
		case <-timer.C:
		}
		if err := h.keepsLock(time.Now()); err != nil {
			return err
		}
		if h.work(ctx) {
			timer.Reset(pollEvery)
		} else {
			timer.Reset(restEvery)
		}
	}
}

// work does all that can be done now; busy says that there may soon be more.
func (h *Host) work(ctx context.Context) (busy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		s.poll(time.Now())
		s.advance(ctx, time.Now())
		if s.outstanding() != nil || s.handover() != nil || s.stopping != "" {
			busy = true
		}
	}
	for _, o := range slices.Clone(h.offers) {
		if ctx.Err() != nil {
			return false
		}
		h.consider(ctx, o)
	}
	h.verify(ctx)
	h.pullRequests(ctx, time.Now())
	h.askVersions(ctx)
	h.forgetAll(time.Now())
	return busy
}

// Offer hands over a message that is sent, and was verified. What becomes of it is in the Outbox.
func (h *Host) Offer(o Order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sayAgainLocked(o.ID) {
		return
	}
	if _, used := h.ids[o.ID]; used {
		h.refuseLocked(o.ID, "this host took it before; its session was forgotten or removed since")
		return
	}
	if slices.ContainsFunc(h.offers, func(p Order) bool { return p.ID == o.ID }) {
		return
	}
	if len(h.offers) >= maxOffers {
		return // it comes again with the next connection
	}
	h.offers = append(h.offers, o)
	h.wakeUp()
}

// sayAgainLocked says whether a message was taken. If so, its frames are in the outbox until they are acknowledged. A broker
// that offers it after that does not know it any more, as it made room for others: it is told again.
func (h *Host) sayAgainLocked(id string) bool {
	for _, s := range h.sessions {
		m := s.find(id)
		if m == nil {
			continue
		}
		if m.acked[frameID(id, "taken")] && s.broken == nil {
			for _, f := range s.framesOf(m, nil) {
				if f.Type != api.HostEvent && m.acked[f.ID] {
					h.extraLocked(f)
				}
			}
		}
		return true
	}
	return false
}

// Refuse has the broker told that a message is not obeyed.
func (h *Host) Refuse(id, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.findLocked(id) != nil { // another of this name came: what became of the one that was taken is said by its journal
		h.cfg.Logf("a message with the id of one that was taken is not obeyed: %s: %s", id, clip(reason, maxWhy))
		return
	}
	h.refuseLocked(id, reason)
}

func (h *Host) refuseLocked(id, reason string) {
	if !isUUID(id) { // no broker has a message of that name; it is not kept, as long as it may be
		h.cfg.Logf("a message with the id %.40q is refused: %s", id, clip(reason, maxWhy))
		return
	}
	h.extraLocked(api.HostFrame{Type: api.HostRefused, ID: frameID(id, "refused"), Message: id, Why: clip(reason, maxWhy)})
	h.cfg.Logf("message %s is refused: %s", id, clip(reason, maxWhy))
}

func (h *Host) extraLocked(f api.HostFrame) {
	if len(h.extra) < maxOffers && !slices.ContainsFunc(h.extra, func(g api.HostFrame) bool { return g.ID == f.ID }) {
		h.extra = append(h.extra, f)
		h.changed()
	}
}

// Disconnected forgets what was offered and not taken: it comes again with the next connection.
func (h *Host) Disconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offers = nil
}

// Held takes the messages that the broker has as this host's. Of one that is not in a journal here it is
// not known what became of it.
func (h *Host) Held(held []api.HeldMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range held {
		if !isUUID(m.ID) || h.findLocked(m.ID) != nil {
			continue
		}
		h.extraLocked(api.HostFrame{Type: api.HostLost, ID: frameID(m.ID, "lost"), Message: m.ID, Why: "this host has no record of it"})
	}
}

func (h *Host) findLocked(id string) *message {
	for _, s := range h.sessions {
		if m := s.find(id); m != nil {
			return m
		}
	}
	return nil
}

// Acked takes the broker's word on a frame that waits for it. Without ok what it says never will be recorded.
func (h *Host) Acked(frame string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := func(f api.HostFrame) bool { return f.ID == frame }
	h.extra = slices.DeleteFunc(h.extra, is)
	h.events = slices.DeleteFunc(h.events, is)
	for _, s := range h.sessions {
		for _, m := range s.messages {
			if !frameOf(frame, m.ID) {
				continue
			}
			if !slices.ContainsFunc(s.frames(), is) {
				return // nobody said it: a journal is not filled from outside
			}
			e := entry{At: time.Now(), Acked: frame}
			if frame == frameID(m.ID, "taken") && m.state == claimed { // in one entry: a claim that is acknowledged is not told again
				if e.Message, e.State = m.ID, dropped; ok {
					e.State = confirmed
				}
			}
			_ = s.note(e)
			h.wakeUp()
			return
		}
	}
}

// Outbox are the frames that the broker has not acknowledged, in the order in which they are to be sent.
func (h *Host) Outbox() []api.HostFrame {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.extra)
	for _, s := range h.sessions {
		all = append(all, s.frames()...)
	}
	return append(all, h.events...)
}

// progress tells of what an agent does, once a second at most for each session.
func (h *Host) progress(now time.Time, s *session, e streamjson.Event) {
	text := e.Tool
	if text == "" {
		text = e.Text
	}
	if text == "" || s.turn() == nil || now.Sub(h.said[s.meta.Session]) < progressEvery {
		return
	}
	h.tell(now, s, strings.Join(strings.Fields(text), " "))
}

// tell tells of what is not about a message.
func (h *Host) tell(now time.Time, s *session, text string) {
	h.said[s.meta.Session] = now
	if len(h.events) >= maxEvents {
		h.events = h.events[1:]
	}
	h.serial++
	h.events = append(h.events, api.HostFrame{Type: api.HostEvent, ID: fmt.Sprintf("%s-%d", h.name, h.serial), At: now, Event: &api.AgentEvent{
		SessionID: s.meta.Session, Agent: s.meta.Agent, Kind: api.AgentProgress, Message: clip(text, maxProgress), Timestamp: now,
	}})
	h.changed()
}

// timeoutOf is how long turns of an agent's session may take. started is what agents.yaml said when the process was started that
// runs, 0 where that was not noted.
func (h *Host) timeoutOf(agent string, started time.Duration) time.Duration {
	if t, ok := h.timeouts[agent]; ok {
		return t
	}
	f, err := h.cfg.File()
	if err == nil {
		for _, a := range f.Agents {
			h.timeouts[a.Name] = a.Timeout
		}
	}
	switch t, ok := h.timeouts[agent]; {
	case ok:
		return t
	case started == 0:
		return unnamed
	case err != nil: // what the file will say once it is fixed is not known
		return started
	}
	return min(started, unnamed) // the agent was taken out of the file
}

func (h *Host) wakeUp() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *Host) changed() {
	if h.cfg.Changed != nil {
		h.cfg.Changed()
	}
}

// isUUID says whether a text is a UUID in its one spelling: it names files.
func isUUID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}

// live counts the processes but those that do nothing and are on their way out, having made room, and finds the
// session that has been idle for longest.
func (h *Host) live(agent string) (all, same int, idle *session) {
	for _, s := range h.sessions {
		if !s.runs || s.stopping != "" && s.outstanding() == nil || s.broken != nil && s.in == nil {
			continue
		}
		all++
		if s.meta.Agent == agent {
			same++
		}
		if s.outstanding() == nil && s.stopping == "" && (idle == nil || s.idleSince.Before(idle.idleSince)) {
			idle = s
		}
	}
	return all, same, idle
}
