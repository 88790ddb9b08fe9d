package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/hook"
	"assent/internal/host/inbox"
	"assent/internal/host/optin"
)

// least is what a session has to have left of its budget to be started, in USD.
const least = 0.001

// consider takes an offer, refuses it, or leaves it for later: as long as it is not taken it can be taken
// back where it was sent.
func (h *Host) consider(ctx context.Context, o Order) {
	s := h.sessions[o.Session]
	why := check(o, time.Now())
	if why == "" && o.Kind != hook.MessageCancel && !o.ExpiresAt.After(h.over) { // the file that says so is the agent's to write, too
		why = overWhy
	}
	if why == "" {
		_, why = h.accepted(o)
	}
	switch {
	case why != "":
	case h.halted && !hook.Wordless(o.Kind):
		why = haltedWhy
	case hook.Wordless(o.Kind) && (s == nil || s.meta.Agent != o.Agent):
		why = "this agent has no such session on this host"
	case o.Kind == hook.MessageCancel:
	case s != nil && len(s.messages) >= maxMessages:
		why = fmt.Sprintf("the session has had its %d messages; start another one", maxMessages)
	case o.Kind == hook.MessageHandover:
		why = s.considerHandover()
	case s != nil && s.meta.Agent != o.Agent:
		why = "the session is of another agent, " + s.meta.Agent
	case s != nil && s.handover() != nil:
		why = "the session is being handed over to a terminal"
	case s != nil && s.outstanding() != nil:
		return
	case s != nil && s.stopping != "":
		return // its process is on the way out
	case s != nil && s.broken != nil:
		why = s.broken.Error()
	case s != nil && s.handed && o.Kind == hook.MessagePrompt:
		why = "the session was handed over to a terminal; when it has ended there, send a message of kind resume"
	case s != nil && s.gone() != "":
		why = s.gone()
		if s.runs {
			s.stop(time.Now(), "EXIT", why, 1)
		}
	case s != nil && s.runs && o.Kind == hook.MessagePrompt:
		why = h.goesOn(s, o)
		if why == "" {
			why = s.beside()
		}
	case s != nil && s.runs:
		// resume: it runs
		why = h.goesOn(s, o)
	default:
		why = h.considerStart(ctx, s, o)
	}
	if !slices.ContainsFunc(h.offers, func(p Order) bool { return p.ID == o.ID }) {
		return // the connection ended meanwhile
	}
	if why != "" && ctx.Err() != nil {
		return // the look was broken off; it is offered to the next host
	}
	h.offers = slices.DeleteFunc(h.offers, func(p Order) bool { return p.ID == o.ID })
	if why != "" {
		h.refuseLocked(o.ID, why)
		return
	}
	if s = h.sessions[o.Session]; s == nil {
		var err error
		if s, err = h.make(o); err != nil {
			h.refuseLocked(o.ID, "make the session's directory: "+err.Error())
			return
		}
	}
	if err := s.note(entry{At: time.Now(), Order: &o}); err != nil {
		h.refuseLocked(o.ID, err.Error())
		return
	}
	if err := h.keepIDs(time.Now(), s.find(o.ID)); err != nil { // its journal says so, too
		h.cfg.Logf("that message %s was taken cannot be noted beside its journal: %v", o.ID, err)
	}
	if hook.Wordless(o.Kind) { // what waits behind the turn is not to begin in its place
		why := "the session was cancelled before its turn came"
		if o.Kind == hook.MessageHandover {
			why = "the session was handed over to a terminal before its turn came"
		}
		for _, p := range slices.Clone(h.offers) {
			if p.Session == o.Session && !hook.Wordless(p.Kind) {
				h.offers = slices.DeleteFunc(h.offers, func(q Order) bool { return q.ID == p.ID })
				h.refuseLocked(p.ID, why)
			}
		}
	}
}

// gone says that the session's directory is not there any more, "" if it is. Nothing is started for it elsewhere.
func (s *session) gone() string {
	if s.runs {
		if dir, err := os.Readlink("/proc/" + strconv.Itoa(s.process.PID) + "/cwd"); err == nil && strings.HasSuffix(dir, " (deleted)") {
			return "the session's directory is gone, " + strings.TrimSuffix(dir, " (deleted)") + "; start another session"
		}
	}
	if s.known && s.meta.Worktree != "" && s.workDir() == s.meta.Project {
		return "the session's work tree is gone, " + s.meta.Worktree + " of " + s.meta.Project + "; start another session"
	}
	return ""
}

// check looks at an order by itself.
func check(o Order, now time.Time) string {
	switch {
	case !isUUID(o.ID) || !isUUID(o.Session):
		return "want UUIDs in lower case as the ids of the message and of the session"
	case !now.Before(o.ExpiresAt):
		return "its time was over before it could be taken"
	case o.Kind != hook.MessagePrompt && o.Kind != hook.MessageResume && !hook.Wordless(o.Kind):
		return "this host does not know messages of this kind; update assent there"
	case len(o.Prompt) > MaxPrompt:
		return fmt.Sprintf("the prompt is longer than %d KiB", MaxPrompt>>10)
	case o.Kind == hook.MessagePrompt && strings.TrimSpace(o.Prompt) == "":
		return "the prompt is empty"
	case streamjson.Obeyed(o.Prompt) != "":
		return fmt.Sprintf("the prompt holds %q: %s", streamjson.Obeyed(o.Prompt), streamjson.NotObeyed)
	case hook.Wordless(o.Kind) && o.Prompt != "":
		return "a " + o.Kind + " has no prompt"
	}
	return ""
}

// considerStart looks at an order for which a process would have to be started.
func (h *Host) considerStart(ctx context.Context, s *session, o Order) (why string) {
	if s == nil {
		// Whose it is says the client's own record of it.
		begun, err := transcripts(h.cfg.Home, "", o.Session)
		switch {
		case err != nil:
			return err.Error()
		case o.Kind == hook.MessagePrompt && len(begun) > 0:
			return "this session was begun elsewhere; to go on with it here, send a message of kind resume"
		case o.Kind == hook.MessageResume:
			file, err := h.cfg.File()
			if err != nil {
				return err.Error()
			}
			agent, ok := file.Agent(o.Agent)
			if !ok {
				return "agents.yaml has no agent " + o.Agent
			}
			if here, _ := transcripts(h.cfg.Home, agent.Project, o.Session); len(here) == 0 {
				return "there is no session with this id in the agent's project"
			}
		}
	}
	_, _, why = h.startable(ctx, s, o)
	return why
}

// ceilings are the agent of an order and what the session may still spend; why says what is over a ceiling.
func (h *Host) ceilings(s *session, o Order) (agent optin.Agent, budget float64, why string) {
	file, why := h.accepted(o)
	if why != "" {
		return agent, 0, why
	}
	agent, ok := file.Agent(o.Agent)
	if !ok {
		return agent, 0, "agents.yaml has no agent " + o.Agent
	}
	h.timeouts[agent.Name] = agent.Timeout
	switch {
	case o.BudgetUSD > agent.BudgetUSD:
		return agent, 0, fmt.Sprintf("budgetUsd %g is above the ceiling of %s, %g", o.BudgetUSD, agent.Name, agent.BudgetUSD)
	case o.Timeout > agent.Timeout:
		return agent, 0, fmt.Sprintf("timeoutSeconds %g is above the ceiling of %s, %g", o.Timeout.Seconds(), agent.Name, agent.Timeout.Seconds())
	}
	if o.AutoPR && !agent.AutoPR {
		return agent, 0, "autoPr: the owner of this host lets no pull request be asked for that way from " + agent.Name
	}
	var said bounds
	if s != nil {
		said = s.said()
	}
	budget, timeout := said.with(o).within(agent)
	if s == nil {
		return agent, budget, ""
	}
	if s.active >= timeout {
		return agent, 0, fmt.Sprintf("the session has worked for its %v", timeout)
	}
	if left := budget - s.cost(); left < least {
		return agent, 0, fmt.Sprintf("the session has spent $%.2f of its $%.2f; start another one", s.cost(), budget)
	}
	return agent, budget - s.cost(), ""
}

const otherProject = "agents.yaml names another project for this agent than the session works in; start another session"

// goesOn says why a session whose process runs, and has no turn, is not given an order. A process that could not be started as
// things are now is killed: it would do what nobody accepted, and at its own end, too.
func (h *Host) goesOn(s *session, o Order) string {
	agent, _, why := h.ceilings(s, o)
	switch {
	case why != "":
		return why
	case s.meta.Project != agent.Project:
		return otherProject
	}
	if why = s.unaccepted(agent); why != "" {
		s.stop(time.Now(), "REFUSED", why, 3)
	}
	return why
}

// startable says why no process may be started for an order. It is called with the lock, and gives it up
// for as long as it looks at the project.
func (h *Host) startable(ctx context.Context, s *session, o Order) (agent optin.Agent, budget float64, why string) {
	agent, _, why = h.ceilings(s, o)
	if why != "" {
		return agent, 0, why
	}
	if s != nil && s.meta.Project != agent.Project {
		return agent, 0, otherProject
	}
	if why = h.elsewhere(o.Session); why != "" {
		return agent, 0, why
	}
	all, same, idle := h.live(agent.Name)
	switch {
	case all < optin.MaxSessions && same < agent.Sessions:
	case idle != nil && (all >= optin.MaxSessions || idle.meta.Agent == agent.Name):
		idle.stop(time.Now(), "EXIT", "another session needed its place", 1)
	case same >= agent.Sessions:
		return agent, 0, fmt.Sprintf("%d of %d sessions of %s work; cancel one, or wait for its end", same, agent.Sessions, agent.Name)
	default:
		return agent, 0, fmt.Sprintf("%d sessions work on this host, which is as many as may; cancel one, or wait for its end", all)
	}
	if n := free(h.cfg.Dir); n >= 0 && n < minFree {
		return agent, 0, "the disk of " + h.cfg.Dir + " is full"
	}
	var findings []optin.Finding
	var scopes string
	var err error
	h.meanwhile(ctx, o.Session, func() {
		findings, scopes = h.cfg.Look(ctx, agent), findScopes(ctx, h.cfg.Environ, agent.Project)
		if s != nil && s.meta.Worktree != "" && optin.Startable(findings) {
			err = h.tree(ctx, agent.Project, s.meta.Worktree)
		}
	})
	h.scopes = scopes
	if why := refused(findings); why != "" {
		return agent, 0, why
	}
	if err != nil {
		return agent, 0, err.Error()
	}
	return h.stillStartable(s, o, agent)
}

// elsewhere says why no process may be started for a session that has none here: another one works on it, or may.
func (h *Host) elsewhere(session string) string {
	live, err := inbox.Live(inbox.Dir(h.cfg.Home, ""), session, 0)
	if len(live) > 0 {
		return fmt.Sprintf("the session is open in another place: process %d (%s) on this machine; end it there, then send this again", live[0].PID, live[0].Kind)
	}
	return unsure(err)
}

// refused says why an agent must not be started, "" if nothing stands against it.
func refused(findings []optin.Finding) string {
	for _, f := range findings {
		if f.Refused {
			return f.Detail + "; on the host: " + f.Fix
		}
	}
	return ""
}

// stillStartable says what has changed while it was looked whether an agent can be started. It does not give up the lock,
// so what it says holds for what is done next.
func (h *Host) stillStartable(s *session, o Order, looked optin.Agent) (agent optin.Agent, budget float64, why string) {
	if h.halted {
		return looked, 0, haltedWhy
	}
	if agent, budget, why = h.ceilings(s, o); why != "" {
		return agent, 0, why
	}
	if !reflect.DeepEqual(agent, looked) {
		return agent, 0, "agents.yaml was changed while the project was looked at; send it again"
	}
	if why := refused(h.cfg.Again(agent)); why != "" {
		return agent, 0, why
	}
	if why := h.elsewhere(o.Session); why != "" { // it may have been opened meanwhile
		return agent, 0, why
	}
	if s != nil && s.meta.Worktree != "" {
		if err := optin.NothingNew(agent.Project, optin.Tree(agent.Project, s.meta.Worktree), h.cfg.Home); err != nil {
			return agent, 0, err.Error()
		}
	}
	return agent, budget, ""
}

// make makes room for a session, and its directory.
func (h *Host) make(o Order) (*session, error) {
	file, err := h.cfg.File()
	if err != nil {
		return nil, err
	}
	agent, ok := file.Agent(o.Agent)
	if !ok {
		return nil, errors.New("agents.yaml has no agent " + o.Agent)
	}
	if err := h.prune(time.Now()); err != nil {
		return nil, err
	}
	m := meta{Session: o.Session, Agent: agent.Name, Project: agent.Project, MadeAt: time.Now().UTC()}
	if agent.Worktree && o.Kind == hook.MessagePrompt {
		m.Worktree = h.treeName(agent.Project, o.Session)
	}
	s, err := makeSession(h, m)
	if err == nil {
		h.sessions[o.Session] = s
	}
	return s, err
}

// prune removes the oldest sessions that are over, once there are more than are kept. Those whose orders
// could come again are kept: their ids are what stops that.
func (h *Host) prune(now time.Time) error {
	for len(h.sessions) >= maxKept {
		var oldest *session
		for _, s := range h.sessions {
			if s.runs || s.outstanding() != nil || len(s.frames()) > 0 || slices.ContainsFunc(s.messages, func(m *message) bool { return now.Before(m.ExpiresAt) }) {
				continue
			}
			if oldest == nil || s.meta.MadeAt.Before(oldest.meta.MadeAt) {
				oldest = s
			}
		}
		if oldest == nil {
			return fmt.Errorf("more than %d sessions are not over", maxKept)
		}
		if err := h.keepIDs(now, oldest.messages...); err != nil {
			return err
		}
		_ = oldest.journal.close()
		if err := os.RemoveAll(oldest.dir); err != nil {
			return err
		}
		delete(h.sessions, oldest.meta.Session)
	}
	return nil
}
