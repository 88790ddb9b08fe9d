package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/process"
	"assent/internal/host/wholefile"
)

// Bounds of one session.
const (
	maxOutput = 256 << 20 // bytes of out.jsonl, of one process
	maxErrors = 1 << 20   // bytes of err.txt
	maxMeta   = 64 << 10  // bytes of meta.json
	// maxMessages bounds the messages of a session, which takes none but cancels then; twice as many are no journal of a host's.
	maxMessages = 2000
	minFree     = 32 << 20 // bytes that have to be free where they stand
	// What is taken in of one session before others have their turn, and what was asked for meanwhile is done.
	maxRead  = 8 << 20 // bytes
	maxLines = 2000
	readTime = 200 * time.Millisecond
	// maxRounds bounds how often that is done before the host begins.
	maxRounds = 64
	maxTries  = 3 // processes that one prompt is written to

	receiptTime = 2 * time.Minute // until a prompt without a receipt is lost
	unnamed     = time.Hour       // for turns of an agent that agents.yaml does not name
	idleTime    = time.Hour       // until a process without work is ended; going on takes a second or two
	graceTime   = 10 * time.Second
	lookEvery   = 2 * time.Second // at what changes seldom
	timeEvery   = 10 * time.Minute
	// maxWaited is how much of one turn counts as waiting for a person and not as work. That it waits says a file of the
	// client's, which the agent can write.
	maxWaited = 72 * time.Hour
	// catchUpTime is for how long a host that has more to read than it can read at once waits for what an agent may have said.
	catchUpTime = time.Minute
)

// session is one session's directory, and the process that works for it, if one does. Guarded by Host.mu.
type session struct {
	h    *Host
	dir  string
	meta meta
	book
	journal *journal
	in, out *os.File // nil where there is no process
	lines   *streamjson.Lines

	unseen    bool  // its process has not said yet that it began with what was looked at
	broken    error // the journal cannot be written: nothing may happen any more
	known     bool  // its start is known to the broker's readers (AgentStarted)
	idleSince time.Time
	lookedAt  time.Time // for what changes seldom
	behind    time.Time // since when more of its output stands there than was read; zero: it was read
	// straysUntil is until when strays are looked for, after a turn was cancelled and before the next one.
	straysUntil time.Time
	tickedAt    time.Time     // of active and waited
	timed       time.Duration // active and waited, as the journal has them
	stopping    string        // why the process is being ended, by a code of api.AgentError; empty: it is not
	stopWhy     string
	stopAt      time.Time
	forced      int    // how hard it was told: 1 interrupt, 2 SIGTERM, 3 killed
	other       string // who else writes to the session, for people
	unclear     string // why it is not known whether somebody else does
	reaped      bool   // its process ended in its own way, see reap
	waiting     bool   // the client says that it waits for a person
	trouble     string // why the model was not asked, as the agent's program said last
	output      string // what it said in the turn that runs
	unsure      string // the pull request that gh is to be asked about
	looked      string // the message after which it was looked whether a pull request is to be asked for
	meter
}

// note writes down what happened, and only then takes it for true.
func (s *session) note(e entry) error {
	if s.broken != nil {
		return s.broken
	}
	e.Offset = max(e.Offset, s.offset)
	if e.Process != nil && e.Process.PID == 0 {
		e.Offset = 0
	}
	e.Active, e.Waited, e.Unmetered = s.active, s.waited, s.unmetered
	if err := s.journal.add(e); err != nil {
		s.broken = fmt.Errorf("the journal of session %s: %w", s.meta.Session, err)
		s.h.cfg.Logf("%v; the agent is stopped", s.broken)
		s.unwritten(err)
		return s.broken
	}
	s.book.apply(e)
	s.timed = s.active + s.waited
	s.h.changed()
	return nil
}

// unwritten ends what works for a session whose journal cannot be written, because of err.
func (s *session) unwritten(err error) {
	hard := 2
	if errors.Is(err, errDamaged) { // for good, so that the broker hears it in another way
		hard = 3
		if m := s.outstanding(); m != nil && !m.Own {
			s.h.extraLocked(api.HostFrame{Type: api.HostLost, ID: frameID(m.ID, "lost"), Message: m.ID, Why: clip(err.Error(), maxWhy)})
		}
	}
	if s.runs && s.forced < hard {
		s.stop(time.Now(), "EXIT", s.broken.Error(), hard)
	}
}

// tryJournal finds out whether the journal can be written again: the disk was full, and is not any more. What the process
// did meanwhile is not known for certain, so it ends.
func (s *session) tryJournal(now time.Time) {
	if now.Sub(s.lookedAt) < lookEvery {
		return
	}
	if s.lookedAt = now; s.journal.add(entry{At: now, Active: s.active, Waited: s.waited, Unmetered: s.unmetered}) != nil {
		return
	}
	why := s.broken.Error()
	s.broken = nil
	s.h.cfg.Logf("the journal of session %s can be written again", s.meta.Session)
	if !s.runs {
		return
	}
	if err := s.openFiles(); err != nil {
		sweep(s.process, s.meta.Session)
		s.exited(now, false)
		return
	}
	if s.stopping == "" {
		s.stop(now, "EXIT", why, 2)
	}
}

// makeSession makes the directory of a session.
func makeSession(h *Host, m meta) (*session, error) {
	dir := filepath.Join(h.cfg.Dir, m.Session)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := makeJournal(filepath.Join(dir, journalFile)); err != nil { // first: what has a meta.json has a journal
		return nil, err
	}
	if err := wholefile.Write(filepath.Join(dir, metaFile), append(text, '\n'), 0o600); err != nil {
		return nil, err
	}
	if err := wholefile.SyncDir(h.cfg.Dir); err != nil {
		return nil, err
	}
	return openSession(h, m.Session)
}

// openSession reads the directory of a session, of whichever host it was made.
func openSession(h *Host, id string) (*session, error) {
	s := &session{h: h, dir: filepath.Join(h.cfg.Dir, id), book: book{fresh: true}}
	text, err := readFile(filepath.Join(s.dir, metaFile), maxMeta)
	if errors.Is(err, fs.ErrNotExist) {
		if fi, statErr := os.Lstat(filepath.Join(s.dir, journalFile)); statErr == nil && fi.Size() > 0 { // it had one
			err = fmt.Errorf("%s is gone: %w", filepath.Join(s.dir, metaFile), errDamaged)
		}
	}
	if err != nil {
		return nil, err
	}
	names := treeNames(id)
	if err := json.Unmarshal(text, &s.meta); err != nil || s.meta.Session != id || s.meta.Worktree != "" && !slices.Contains(names[:], s.meta.Worktree) {
		return nil, fmt.Errorf("%s is not that of session %s: %w", filepath.Join(s.dir, metaFile), id, errDamaged)
	}
	tooMany := false
	s.journal, err = openJournal(filepath.Join(s.dir, journalFile), func(e entry) {
		if tooMany = tooMany || e.Order != nil && len(s.messages) >= 2*maxMessages; !tooMany { // each entry is held against all
			s.book.apply(e)
		}
	})
	if err != nil {
		return nil, err
	}
	if tooMany {
		return nil, errors.Join(fmt.Errorf("%s has more than %d messages: %w", filepath.Join(s.dir, journalFile), 2*maxMessages, errDamaged), s.journal.close())
	}
	for _, m := range s.messages {
		s.known = s.known || !m.began.IsZero()
	}
	s.unsure = s.untold()
	return s, nil
}

// attach takes up what an earlier host left behind: a process that runs is gone on with.
func (s *session) attach(now time.Time) {
	s.idleSince, s.tickedAt = now, now
	if s.starting { // the host died while it started one, which nobody has written to
		sweep(began{}, s.meta.Session)
		_ = s.note(entry{At: now, Exit: &exit{}})
		return
	}
	if !s.runs { // the host may have died before it had said all of its end
		s.settle(now, s.outstanding(), "", "")
		return
	}
	if err := s.openFiles(); err != nil {
		s.h.cfg.Logf("session %s: %v", s.meta.Session, err)
		sweep(s.process, s.meta.Session)
		s.exited(now, false)
		return
	}
	s.unseen = !s.begun // the host may have died before it had looked again, see asLooked
	if why := s.strange(); why != "" {
		s.h.cfg.Logf("session %s of %s: %s; what works for it is ended", s.meta.Session, s.meta.Agent, why)
		s.process = began{PID: s.process.PID} // it is not known to be ours
		s.stopping, s.stopWhy = "REFUSED", why
		s.exited(now, false)
		return
	}
	for range maxRounds { // what it wrote meanwhile counts before it is told anything
		if !s.read(now) {
			break
		}
	}
	s.poll(now)
	// The prompt may be in the pipe, or was never written. The client runs no second one of the same id.
	if m := s.outstanding(); s.runs && m != nil && m.state == written {
		s.write(now, streamjson.Prompt(m.ID, s.meta.Session, m.Prompt))
	}
	switch m := s.outstanding(); {
	case !s.runs || m == nil || m.cancels == 0: // the word may not have been written, or the signal not been sent
	case m.cancels > 1:
		s.stop(now, "CANCELLED", "cancelled", min(m.cancels, 3))
	case s.note(entry{At: now, Control: repeats + m.ID}) == nil:
		s.write(now, streamjson.Interrupt(repeats+m.ID))
	}
	if s.runs && s.unmetered > 0 {
		s.ask(now)
	}
}

// stop has the process end. How hard: 1 as a person would with Ctrl-C, 2 SIGTERM, 3 killed, with all that
// it started.
func (s *session) stop(now time.Time, code, why string, hard int) {
	s.stopping, s.stopWhy, s.stopAt = code, why, now
	s.forced = max(s.forced, hard)
	switch s.forced {
	case 1:
		s.signal(syscall.SIGINT)
	case 2:
		s.signal(syscall.SIGTERM)
	default: // what comes in between is found once its process is gone, see exited, or while it is not, see poll
		killSoon(s.process, s.meta.Session)
	}
}

func (s *session) signal(sig syscall.Signal) {
	if s.runs && process.Look(s.process.PID, s.process.ID) == process.Runs {
		_ = syscall.Kill(s.process.PID, sig)
	}
}

// exited closes the books on a process that is gone.
func (s *session) exited(now time.Time, saved bool) {
	m, code, why := s.outstanding(), s.stopping, s.stopWhy
	if s.broken == nil || s.in != nil { // once
		s.sweep()
	}
	s.h.cfg.Logf("session %s of %s: process %d is gone", s.meta.Session, s.meta.Agent, s.process.PID)
	s.closeFiles()
	if s.note(entry{At: now, Exit: &exit{Saved: saved}}) != nil {
		return
	}
	s.stopping, s.stopWhy, s.forced, s.reaped = "", "", 0, false
	s.settle(now, m, code, why)
}

// settle says what becomes of the prompt of a process that is gone. code and why are those of its end, empty
// where that is not known.
func (s *session) settle(now time.Time, m *message, code, why string) {
	if m == nil || m.state != written && m.state != started {
		return
	}
	arrived, known := s.arrived(m.ID)
	switch {
	case m.cancels > 0:
		s.end(now, m, hook.OutcomeCancelled, "CANCELLED", "cancelled", "")
	case code == "CANCELLED":
		s.end(now, m, hook.OutcomeCancelled, code, why, "")
	case code != "":
		s.end(now, m, hook.OutcomeFailed, code, why, "")
	case m.state == started || arrived:
		s.end(now, m, hook.OutcomeFailed, "INTERRUPTED", fmt.Sprintf("the agent's process %d ended in the middle of the turn; resume goes on", s.process.PID), "")
	case !known:
		_ = s.note(entry{At: now, Message: m.ID, State: lost, Code: "LOST", Why: "the agent's process ended, and whether the prompt had arrived cannot be seen; it is not sent again by itself"})
	case m.tries >= maxTries:
		why := "the agent's program ended before it took the prompt"
		if c := s.complaint(); c != "" {
			why += ": " + c
		}
		s.end(now, m, hook.OutcomeFailed, "EXIT", why, "")
	default:
		_ = s.note(entry{At: now, Message: m.ID, State: confirmed})
	}
}

// end notes what became of a prompt.
func (s *session) end(now time.Time, m *message, outcome, code, why, result string) {
	s.endAt(now, m, entry{Outcome: outcome, Code: code, Why: why, Result: result})
}

// endAt is end with what else is known of it, in one entry: half of it must never be all that is known.
func (s *session) endAt(now time.Time, m *message, e entry) {
	outcome, why := e.Outcome, e.Why
	e.At, e.Message, e.State = now, m.ID, ended
	if e.Output, s.output = s.output, ""; e.Output == e.Result {
		e.Output = ""
	}
	if outcome == hook.OutcomeCancelled {
		e.By = s.canceller()
	}
	_ = s.note(e)
	s.idleSince = now
	if outcome == hook.OutcomeCancelled && s.runs {
		s.strays(now)
		s.straysUntil = now.Add(graceTime) // what the client ends itself leaves its children behind a moment later
	}
	for _, c := range s.messages { // what was to cancel it has done so
		if c.Kind == hook.MessageCancel && (c.state == written || c.state == started) {
			_ = s.note(entry{At: now, Message: c.ID, State: ended, Outcome: hook.OutcomeCompleted})
		}
	}
	s.h.cfg.Logf("session %s of %s: %s%s", s.meta.Session, s.meta.Agent, outcome, besides(string(outcome), why))
}

// strays kills what the tools of a cancelled turn left to themselves.
func (s *session) strays(now time.Time) {
	if now.After(s.straysUntil) {
		s.straysUntil = time.Time{}
	}
	all := true
	s.h.unlocked(func() { all = sweepStrays(s.process, s.meta.Session) })
	if !all {
		s.h.cfg.Logf("session %s: not every process of its tools could be killed", s.meta.Session)
	}
}

// sweep kills all of the session until nothing is left, which its agent can have take seconds: without the lock.
func (s *session) sweep() {
	all := true
	s.h.unlocked(func() { all = sweep(s.process, s.meta.Session) })
	if !all {
		s.h.cfg.Logf("session %s: not every process of it could be killed", s.meta.Session)
	}
}

// besides is because, unless why says no more than what is said already.
func besides(said, why string) string {
	if why == said {
		return ""
	}
	return because(why)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
