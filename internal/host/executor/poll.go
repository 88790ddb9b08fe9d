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
		s.mend(now)
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
	if s.read(now) && gone {
		return // there is more: it is over once all of that is known
	}
	if gone {
		s.exited(now, saved)
		return
	}
	s.limits(now)
}

// read follows the output from where it was left; more says that it was left before its end.
func (s *session) read(now time.Time) (more bool) {
	began, bytesRead := time.Now(), 0
	for range maxLines {
		line, ok := s.lines.Next()
		s.offset = max(s.offset, s.lines.At())
		switch {
		case ok:
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if e, err := streamjson.Parse(line); err == nil { // else nothing is believed of it
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
	if w := s.outstanding(); w != nil && w.state == written && now.Sub(w.at) > receiptTime {
		_ = s.note(entry{At: now, Message: w.ID, State: lost, Code: "LOST", Why: "the agent was given the prompt and has not said that it has it; it is not sent again by itself"})
	}
	if m != nil && s.active > s.timeout(m) {
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
	var live []inbox.Session
	var err error
	s.h.unlocked(func() { live, err = inbox.Live(inbox.Dir(s.h.cfg.Home, ""), s.meta.Session, s.process.PID) })
	if s.stopping != "" {
		return // it was stopped meanwhile
	}
	s.waiting, s.other, s.unclear = false, "", unsure(err)
	for _, l := range live {
		if l.PID == s.process.PID {
			s.waiting = l.Status == "waiting"
		} else {
			s.other = fmt.Sprintf("process %d (%s)", l.PID, l.Kind)
		}
	}
	switch {
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

// timeout is how long turns of the session may take for m.
func (s *session) timeout(m *message) time.Duration {
	_, t := s.said().with(m.Order).within(optin.Agent{Timeout: s.h.timeoutOf(s.meta.Agent)})
	return t
}
