package executor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/host/gitdiff"
	"assent/internal/host/optin"
)

// openPR is the prompt that follows a turn whose message asked for autoPr. The agent does it, so what it needs for that
// is asked for as anything else: the host itself pushes nothing.
const openPR = "Push the branch that this work tree is on, and open a draft pull request for it, such as with gh pr create --draft --fill. " +
	"Change nothing else. (assent sends this because whoever started the turn ticked that; the turn has left commits.)"

// autoPRTime is how long after the end of a turn its pull request is asked for: not by a host that comes much later.
const autoPRTime = 10 * time.Minute

// pullRequests asks for those that are due.
func (h *Host) pullRequests(ctx context.Context, now time.Time) {
	for _, s := range h.sessions {
		m := s.duePR(now)
		if m == nil || s.looked == m.ID {
			continue
		}
		s.looked = m.ID
		if h.halted || s.stopping != "" {
			continue
		}
		dir, project := s.workDir(), s.meta.Project
		h.beside.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, diffTime)
			defer cancel()
			d, err := gitdiff.Read(ctx, optin.Tool(h.cfg.Environ, "git", project), dir, project)
			h.mu.Lock()
			defer h.mu.Unlock()
			why := ""
			switch now := time.Now(); {
			case h.sessions[s.meta.Session] != s || s.duePR(now) != m || h.halted || ctx.Err() != nil:
				return // something else came, or the session is forgotten
			case err != nil:
				why = err.Error()
			case d.Commits == 0:
				why = "the turn left no commits on the branch"
			default:
				why = s.askForPR(now, m)
			}
			if why != "" {
				h.tell(time.Now(), s, "no pull request is asked for: "+why)
				h.cfg.Logf("session %s of %s: no pull request is asked for: %s", s.meta.Session, s.meta.Agent, why)
			}
			h.wakeUp()
		})
	}
}

// duePR is the message whose turn ended well, has no pull request yet that it asked for, and was not followed by anything.
func (b *book) duePR(now time.Time) *message {
	if len(b.messages) == 0 || b.pr != nil {
		return nil
	}
	m := b.messages[len(b.messages)-1]
	if !m.AutoPR || m.state != ended || m.outcome != hook.OutcomeCompleted || now.Sub(m.at) > autoPRTime {
		return nil
	}
	return m
}

// askForPR notes the prompt, which is then handed over as any other; why says why not.
func (s *session) askForPR(now time.Time, m *message) (why string) {
	o := Order{
		ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(m.ID+" autoPr")).String(), Agent: m.Agent, Session: m.Session, Kind: hook.MessagePrompt,
		Prompt: openPR, By: m.By, Own: true, ExpiresAt: now.Add(autoPRTime),
	}
	switch {
	case s.meta.Worktree == "":
		return "the session works in no work tree of its own"
	case s.other != "":
		return "the session is open in another place: " + s.other
	case s.unclear != "":
		return s.unclear
	}
	if _, _, why := s.h.ceilings(s, o); why != "" {
		return why
	}
	if err := s.note(entry{At: now, Order: &o}); err != nil {
		return err.Error()
	}
	return ""
}
