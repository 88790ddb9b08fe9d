package executor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"assent/internal/api"
	"assent/internal/host/gitdiff"
	"assent/internal/host/optin"
)

// diffTime is how long git may look at a work tree.
const diffTime = 12 * time.Second

// Answer answers what the broker asks. It may be called beside everything else.
func (h *Host) Answer(ctx context.Context, ask api.HostAsk) api.HostAnswer {
	if ask.What != api.AskDiff {
		return api.HostAnswer{Status: http.StatusNotImplemented, Detail: "this host does not know what is asked; update assent there"}
	}
	h.mu.Lock()
	s := h.sessions[ask.Session]
	if s == nil || s.meta.Agent != ask.Agent {
		h.mu.Unlock()
		return api.HostAnswer{Status: http.StatusNotFound, Detail: "its host does not know the session"}
	}
	dir, project, own := s.workDir(), s.meta.Project, s.meta.Worktree != ""
	h.mu.Unlock()
	switch {
	case !own:
		project = ""
	case dir == project: // else the project's changes would stand for the session's
		return api.HostAnswer{Status: http.StatusConflict, Detail: "the session's work tree is gone"}
	}
	ctx, cancel := context.WithTimeout(ctx, diffTime)
	defer cancel()
	d, err := gitdiff.Read(ctx, optin.Tool(h.cfg.Environ, "git", s.meta.Project), dir, project)
	switch {
	case errors.Is(err, gitdiff.ErrNoRepository):
		return api.HostAnswer{Status: http.StatusConflict, Detail: err.Error()}
	case err != nil:
		return api.HostAnswer{Status: http.StatusServiceUnavailable, Detail: clip(err.Error(), maxWhy)}
	}
	d.SessionID, d.Agent = ask.Session, ask.Agent
	return api.HostAnswer{Status: http.StatusOK, Diff: &d}
}
