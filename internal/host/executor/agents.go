package executor

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/host/optin"
)

// What is told of sessions that have no process.
const (
	toldAfter = 24 * time.Hour // their last turn
	maxTold   = 16             // of an agent, the newest
)

// What describes an agent that something still works for, and that no file says anything of.
const (
	takenOut   = "no longer in agents.yaml on its host"
	unreadable = "agents.yaml on its host cannot be used; it can be cancelled and takes no prompt"
)

// activeStep is in which steps it is told how long a session has worked: each is said to every page.
const activeStep = 10 * time.Second

// Agents are what this host offers, as its file says now, with their sessions. While the file has mistakes they are those that
// it had before: what is not offered for a moment is another host's to take. One that was taken out of the file is there as
// long as something works for it, so that it is seen and can be stopped; it takes no prompt any more.
func (h *Host) Agents() []api.Agent {
	file, err := h.cfg.File()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.offered, h.accept = file.Agents, append([]string{}, file.Accept...)
	case errors.Is(err, fs.ErrNotExist):
		h.offered = nil
	}
	file.Agents = slices.Clone(h.offered)
	inFile := len(file.Agents)
	for _, s := range h.sessions {
		if _, there := file.Agent(s.meta.Agent); !there && (s.runs || s.outstanding() != nil) {
			description := takenOut
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				description = unreadable
			}
			file.Agents = append(file.Agents, optin.Agent{Name: s.meta.Agent, Description: description})
		}
	}
	now := time.Now()
	all := []api.Agent{}
	slices.SortFunc(file.Agents[inFile:], func(a, b optin.Agent) int { return cmp.Compare(a.Name, b.Name) })
	for i, a := range file.Agents {
		agent := api.Agent{Name: a.Name, Description: a.Description, Tags: a.Tags, Status: api.AgentIdle, Executor: &api.AgentExecutor{Kind: "claude"}}
		if i < inFile { // of others nothing is looked at or asked: where they are says a session's directory only
			agent.Executor.CLI, agent.Executor.Version = a.CLI, h.versionLocked(a)
			agent.Project = &api.AgentProject{Name: filepath.Base(a.Project), Path: a.Project, Repo: gitrepo.Name(h.repos.Find(a.Project).Remote)}
			agent.Limits = &api.AgentLimits{BudgetUSD: a.BudgetUSD, TimeoutSeconds: int64(a.Timeout / time.Second), Sessions: a.Sessions, AutoPR: a.AutoPR}
			agent.Worktree = a.Worktree
		}
		var busyAt time.Time
		var over []api.AgentSession
		for _, s := range h.sessions {
			if s.meta.Agent != a.Name {
				continue
			}
			one := s.stands(a)
			if !s.runs && one.Status != api.AgentBusy {
				if one.Turn != nil && now.Sub(one.Turn.At) < toldAfter {
					over = append(over, one)
				}
				continue
			}
			if m := s.outstanding(); m != nil {
				agent.Status = api.AgentBusy
				if m.at.After(busyAt) {
					busyAt, agent.ActiveSessionID = m.at, s.meta.Session
				}
			}
			agent.Sessions = append(agent.Sessions, one)
		}
		slices.SortFunc(over, func(x, y api.AgentSession) int { return y.Turn.At.Compare(x.Turn.At) })
		agent.Sessions = append(agent.Sessions, over[:min(len(over), maxTold)]...)
		slices.SortFunc(agent.Sessions, func(x, y api.AgentSession) int {
			return cmp.Or(x.StartedAt.Compare(y.StartedAt), cmp.Compare(x.SessionID, y.SessionID))
		})
		all = append(all, agent)
	}
	return all
}

// stands is how a session of an agent stands.
func (s *session) stands(a optin.Agent) api.AgentSession {
	budget, timeout := s.said().within(a)
	one := api.AgentSession{
		SessionID: s.meta.Session, Status: api.AgentIdle, StartedAt: s.meta.MadeAt, CostUSD: s.cost(),
		BudgetUSD: budget, TimeoutSeconds: int64(timeout / time.Second),
		ActiveSeconds: int64(s.active.Truncate(activeStep) / time.Second),
		Worktree:      s.meta.Worktree != "", PR: s.pr,
	}
	if m := s.lastTurn(); m != nil {
		one.Turn = &api.AgentTurn{Message: m.ID, Outcome: m.outcome, Code: m.code, Why: clip(m.why, maxWhy), CostUSD: m.cost, At: m.at, By: m.by}
		if m.state == lost {
			one.Turn.Outcome, one.Turn.Code = hook.OutcomeFailed, "LOST"
		}
	}
	switch {
	case s.outstanding() != nil:
		one.Status = api.AgentBusy
	case one.Turn != nil && (one.Turn.Code == "BUDGET" || one.Turn.Code == "TIMEOUT"):
		one.Status = api.SessionBlocked
	case !s.runs:
		one.Status = api.SessionEnded
	}
	return one
}

// lastTurn is the message whose turn ended last, or was lost; nil where none has.
func (b *book) lastTurn() *message {
	for _, m := range slices.Backward(b.messages) {
		if !hook.Wordless(m.Kind) && (m.state == ended || m.state == lost) {
			return m
		}
	}
	return nil
}

// bounds are what messages said that a session may spend, and how long it may work; 0: nothing.
type bounds struct {
	budget  float64 // USD
	timeout time.Duration
}

// said are the bounds of the session: what a message says holds until another one says another.
func (b *book) said() (said bounds) {
	for _, m := range b.messages {
		if m.state != claimed && m.state != dropped {
			said = said.with(m.Order)
		}
	}
	return said
}

// with are the bounds once an order is taken.
func (b bounds) with(o Order) bounds {
	if o.BudgetUSD > 0 {
		b.budget = o.BudgetUSD
	}
	if o.Timeout > 0 {
		b.timeout = o.Timeout
	}
	return b
}

// within are the bounds below the ceilings of an agent, which may have become lower.
func (b bounds) within(a optin.Agent) (budget float64, timeout time.Duration) {
	budget, timeout = a.BudgetUSD, a.Timeout
	if b.budget > 0 {
		budget = min(budget, b.budget)
	}
	if b.timeout > 0 {
		timeout = min(timeout, b.timeout)
	}
	return budget, timeout
}
