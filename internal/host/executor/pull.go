package executor

import (
	"context"
	"slices"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/host/pullrequest"
)

// maxOpening bounds the calls of a session whose answers are waited for because they may open a pull request.
const maxOpening = 16

// opens notes which commands and tools of servers may open a pull request: the host may be another one when they are
// done, because somebody is asked about them.
func (s *session) opens(now time.Time, e streamjson.Event) {
	left := maxOpening // each is written to the disk before the next line is read
	for _, c := range e.Commands {
		if left > 0 && pullrequest.Opens(c.Text) && s.awaits(entry{At: now, Opening: c.ID}) {
			left--
		}
	}
	for _, c := range e.Tools {
		if left > 0 && pullrequest.OpensTool(c.Text) && s.awaits(entry{At: now, Opening: c.ID, ByTool: true}) {
			left--
		}
	}
}

// awaits notes one call, unless it was noted, and says whether it did.
func (s *session) awaits(e entry) bool {
	return e.Opening != "" && len(e.Opening) <= maxVersion && s.awaited(e.Opening) == nil && s.note(e) == nil
}

// opening is a call that may open a pull request.
type opening struct {
	id   string
	tool bool // of a server, not a command
}

// awaited is the call with this id that may open a pull request, nil if that one does not.
func (b *book) awaited(id string) *opening {
	if i := slices.IndexFunc(b.opening, func(o opening) bool { return o.id == id }); i >= 0 {
		return &b.opening[i]
	}
	return nil
}

// opened notes the pull request that such a call opened.
func (s *session) opened(now time.Time, results []streamjson.Command) {
	left := maxOpening
	for _, r := range results {
		if left == 0 {
			return
		}
		call := s.awaited(r.ID)
		if call == nil {
			continue
		}
		find := pullrequest.Find
		if call.tool {
			find = pullrequest.FindTool
		}
		if pr, ok := find(r.Text); ok && s.note(entry{At: now, PR: &pr}) == nil {
			left--
			s.unsure = pr.URL
		}
	}
}

// pull applies an entry about a pull request.
func (b *book) pull(e entry) {
	if e.Opening != "" {
		b.opening = append(b.opening, opening{e.Opening, e.ByTool})
		b.opening = b.opening[max(0, len(b.opening)-maxOpening):]
	}
	if e.PR == nil {
		return
	}
	b.pr = e.PR
	for _, m := range b.messages {
		if m.pr != nil && m.pr.URL == e.PR.URL {
			m.pr = e.PR
		}
	}
}

// verify asks gh about pull requests that commands say they opened, one after the other, beside all else.
// That a turn with one is over is told with the answer.
func (h *Host) verify(ctx context.Context) {
	if h.asking {
		return
	}
	for _, s := range h.sessions {
		if s.unsure == "" || s.pr == nil {
			continue
		}
		pr, project := *s.pr, s.meta.Project
		h.asking = true
		h.beside.Go(func() {
			known := pullrequest.Known(ctx, OwnEnv(h.cfg.Environ), h.cfg.Home, project, pr)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asking = false
			if ctx.Err() != nil || h.sessions[s.meta.Session] != s {
				return // the next host asks, or the session is forgotten
			}
			if s.unsure == pr.URL {
				s.unsure = ""
			}
			if pr.Verified = known; known && s.pr.URL == pr.URL {
				_ = s.note(entry{At: time.Now(), PR: &pr})
			}
			h.changed()
			h.wakeUp()
		})
		return
	}
}

// untold returns the pull request that gh is to be asked about, as no host has told of the turn that opened it; "" where
// there is none.
func (b *book) untold() string {
	m := b.lastTurn()
	if b.pr == nil || b.pr.Verified || b.outstanding() == nil && (m == nil || m.acked[frameID(m.ID, "over")]) {
		return ""
	}
	return b.pr.URL
}

// unverified says whether gh is still to be asked about a pull request.
func (s *session) unverified(pr *api.AgentPR) bool { return pr != nil && pr.URL == s.unsure }
