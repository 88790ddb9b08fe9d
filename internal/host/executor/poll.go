package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/host/inbox"
	"assent/internal/host/optin"
	"assent/internal/host/process"
)

// poll takes in what the process did since.
func (s *session) poll(now time.Time) {
	if s.broken != nil {
		s.tryJournal(now)
	}
	if !s.runs || s.broken != nil && s.in == nil {
		return
	}
	gone, saved := process.Look(s.process.PID, s.process.ID) != process.Runs, s.reaped
	if gone && s.h.children[s.process.PID] {
		// Its first thread can be gone before the others: only then is it over, and says how it ended.
		if gone, saved = reap(s.process.PID); gone {
			delete(s.h.children, s.process.PID)
			s.reaped = saved
		}
	}
	more := s.read(now)
	switch {
	case !more:
		s.behind = time.Time{}
	case s.behind.IsZero():
		s.behind = now
	}
	if more && gone {
		return // there is more: it is over once all of that is known
	}
	if gone {
		s.exited(now, saved)
		return
	}
	s.limits(now)
}

// parse is streamjson.Parse, but in a test that looks what may be done meanwhile.
var parse = streamjson.Parse

// read follows the output from where it was left; more says that it was left before its end. How long a line is the agent
// decides, so it is taken apart without the lock.
func (s *session) read(now time.Time) (more bool) {
	began, bytesRead := time.Now(), 0
	for range maxLines {
		var e streamjson.Event
		var ok, known bool
		s.h.unlocked(func() {
			var line []byte
			if line, ok = s.lines.Next(); ok && len(bytes.TrimSpace(line)) > 0 {
				var err error
				e, err = parse(line)
				known = err == nil // else nothing is believed of it
			}
		})
		s.offset = max(s.offset, s.lines.At())
		switch {
		case ok:
			if known {
				s.event(now, e)
			}
			if time.Since(began) > readTime {
				return true
			}
			continue
		case s.lines.End() > maxOutput: // limits ends the agent; what it writes behind that nobody reads
			return false
		case bytesRead >= maxRead || time.Since(began) > readTime:
			return true
		}
		var n int
		var err error
		s.h.unlocked(func() { n, err = s.lines.Fill(s.out) })
		if errors.Is(err, streamjson.ErrCut) { // of what follows nothing is believed; see replaced
			return false
		}
		if err != nil && !errors.Is(err, io.EOF) {
			s.h.cfg.Logf("session %s: read what the agent wrote: %v", s.meta.Session, err)
			return false
		}
		if bytesRead += n; n == 0 {
			return false
		}
	}
	return true
}

// limits ends what takes too long, writes too much, or works beside somebody else.
func (s *session) limits(now time.Time) {
	m := s.turn()
	// While it is not known yet what it wrote, time says little: the host itself may have been stopped.
	current := s.behind.IsZero() || now.Sub(s.behind) > catchUpTime
	if m != nil {
		if passed := now.Sub(s.tickedAt); s.waiting && s.waited < maxWaited {
			s.waited += passed
		} else {
			s.active += passed
		}
		if s.active+s.waited-s.timed > timeEvery { // so that no end of the host makes it much less
			_ = s.note(entry{At: now})
		}
	}
	s.tickedAt = now
	if s.stopping != "" {
		switch {
		case s.forced == 3 && now.Sub(s.lookedAt) >= lookEvery: // it was killed, and is not gone
			s.lookedAt = now
			s.sweep()
		case s.forced < 3 && now.Sub(s.stopAt) > graceTime:
			s.stop(now, s.stopping, s.stopWhy, s.forced+1)
		}
		return
	}
	if w := s.outstanding(); w != nil && w.state == written && current && now.Sub(w.at) > receiptTime {
		_ = s.note(entry{At: now, Message: w.ID, State: lost, Code: "LOST", Why: "the agent was given the prompt and has not said that it has it; it is not sent again by itself"})
	}
	if m != nil && current && s.active > s.timeout(m) {
		s.stop(now, "TIMEOUT", fmt.Sprintf("the session has worked for its %v", s.timeout(m)), 1)
	}
	if now.Sub(s.lookedAt) < lookEvery {
		return
	}
	s.lookedAt = now
	if err := s.replaced(); err != nil {
		why := err.Error() + "; the agent was stopped"
		s.h.cfg.Logf("session %s of %s: %s", s.meta.Session, s.meta.Agent, why)
		s.stop(now, "REFUSED", why, 3)
		return
	}
	if !s.straysUntil.IsZero() && m == nil {
		s.strays(now)
	}
	if fi, err := s.out.Stat(); err == nil && fi.Size() > maxOutput {
		s.stop(now, "EXIT", fmt.Sprintf("the agent wrote more than %d MiB; resume goes on with an empty file", maxOutput>>20), 2)
	} else if fi, err := os.Stat(filepath.Join(s.dir, errFile)); err == nil && fi.Size() > maxErrors {
		s.stop(now, "EXIT", "the agent wrote more errors than are kept", 2)
	} else if n := free(s.dir); n >= 0 && n < minFree {
		s.stop(now, "EXIT", fmt.Sprintf("the disk of %s is full; make room, then resume", s.h.cfg.Dir), 2)
	}
	s.lookBeside()
	switch {
	case s.stopping != "": // meanwhile
	case s.outstanding() != nil:
		s.idleSince = now
	case s.other != "":
		why := "the session was taken over in a terminal, by " + s.other
		s.h.cfg.Logf("session %s: %s; the agent here is ended", s.meta.Session, why)
		s.h.tell(now, s, why)
		s.stop(now, "INTERRUPTED", why, 1)
	case now.Sub(s.idleSince) > idleTime:
		s.stop(now, "EXIT", "it had nothing to do", 1)
	}
}

// lookBeside finds out who else writes to the session, and whether its agent waits for a person.
func (s *session) lookBeside() {
	var live []inbox.Session
	var err error
	s.h.unlocked(func() { live, err = inbox.Live(inbox.Dir(s.h.cfg.Home, ""), s.meta.Session, s.process.PID) })
	s.waiting, s.other, s.unclear = false, "", unsure(err)
	for _, l := range live {
		if l.PID == s.process.PID {
			s.waiting = l.Status == "waiting"
		} else {
			s.other = fmt.Sprintf("process %d (%s)", l.PID, l.Kind)
		}
	}
}

// beside says why the session is not given a prompt: somebody else writes to it, or may; "" if nobody does.
func (s *session) beside() string {
	if s.other != "" {
		return "the session is open in another place: " + s.other + "; end it there, then send this again"
	}
	return s.unclear
}

// timeout is how long turns of the session may take for m.
func (s *session) timeout(m *message) time.Duration {
	_, t := s.said().with(m.Order).within(optin.Agent{Timeout: s.h.timeoutOf(s.meta.Agent, s.process.Timeout)})
	return t
}
