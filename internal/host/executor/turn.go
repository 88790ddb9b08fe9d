package executor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// Bounds of what is told of a turn, in bytes.
const (
	maxResult   = 32 << 10
	maxProgress = 200
	maxWhy      = 300
	maxVersion  = 64
)

// event takes in one line of the agent.
func (s *session) event(now time.Time, e streamjson.Event) {
	m := s.outstanding()
	switch e.Kind {
	case streamjson.Init:
		s.version = clip(e.Version, maxVersion)
		s.h.runs(s.meta.Agent, s.version)
		s.mode(now, e.Mode)
		s.asLooked(now)
	case streamjson.Mode:
		s.mode(now, e.Mode)
	case streamjson.Answer:
		if !s.metered(now, e) {
			s.answer(now, e.Request)
		}
	case streamjson.Replay:
		s.receipt(now, e.Prompt)
	case streamjson.Lifecycle:
		switch {
		case e.State == streamjson.Started:
			s.receipt(now, e.Prompt)
		case m == nil || m.ID != e.Prompt || m.state == claimed:
		case e.State == streamjson.Cancelled:
			s.end(now, m, hook.OutcomeCancelled, "CANCELLED", "cancelled", "")
		case e.State == streamjson.Completed: // without a result: the client knew it from before, and its turn was cut
			s.end(now, m, hook.OutcomeFailed, "INTERRUPTED", "an earlier turn with this prompt was cut off; resume goes on", "")
		}
	case streamjson.Says:
		if !e.Within {
			s.trouble = e.Trouble
		}
		s.called(now, e.Call)
		s.opens(now, e)
		if e.Text != "" && !e.Within && s.turn() != nil {
			if s.output != "" {
				s.output += "\n\n"
			}
			s.output = clip(s.output+e.Text, maxResult)
		}
		s.h.progress(now, s, e)
	case streamjson.Did:
		s.opened(now, e.Results)
	case streamjson.Result:
		s.result(now, e)
	}
}

// mode makes sure, at the beginning of each turn and whenever it changes, that the agent asks.
func (s *session) mode(now time.Time, mode string) {
	if slices.Contains(install.Modes, mode) || s.forced == 3 {
		return
	}
	why := fmt.Sprintf("the agent said that it works in mode %q, in which it decides without asking; it was stopped", clip(mode, 40))
	s.h.cfg.Logf("session %s of %s: %s", s.meta.Session, s.meta.Agent, why)
	s.stop(now, "REFUSED", why, 3)
}

// asLooked makes sure, once a process has read its settings and before the model is asked, that these are still what was looked
// at before it was started: what came in between is nobody's to have accepted.
func (s *session) asLooked(now time.Time) {
	if !s.unseen {
		return
	}
	s.unseen = false
	why := s.changedSince()
	if why == "" || s.forced == 3 {
		return
	}
	s.h.cfg.Logf("session %s of %s: %s", s.meta.Session, s.meta.Agent, clip(why, maxWhy))
	s.stop(now, "REFUSED", clip(why, maxWhy), 3)
}

// changedSince says why a process that has just read its settings is to be stopped; empty where they are what was looked at.
func (s *session) changedSince() string {
	file, err := s.h.cfg.File()
	if err != nil { // what it was started by is not known any more, so nothing can be held against it
		return "agents.yaml could not be read when the agent began, and it was stopped; once \"assent agent doctor\" finds nothing, send the message again: " + err.Error()
	}
	agent, ok := file.Agent(s.meta.Agent)
	if !ok {
		return "" // of one that was taken out of the file the turn goes on, as it does later
	}
	if why := s.unaccepted(agent); why != "" {
		return "what it was started with changed at that moment, and it was stopped: " + why
	}
	return ""
}

// unaccepted says what stands against a process of the session's by now: what its project brings, or what settings say. The
// client reads its settings again whenever they change, and runs the hooks in them.
func (s *session) unaccepted(agent optin.Agent) string {
	if why := refused(s.h.cfg.Again(agent)); why != "" {
		return why
	}
	if s.meta.Worktree != "" {
		if err := optin.NothingNew(agent.Project, optin.Tree(agent.Project, s.meta.Worktree), s.h.cfg.Home); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Ids of the control requests that are written here begin with one of these; that of a message follows.
const (
	cancels = "cancel-"
	repeats = "again-"
)

// answer makes sure that nobody but this host controls the agent: what else can write to its pipe could have it allow
// itself what it likes. A request that was written is answered once: who uses its id again is somebody else.
func (s *session) answer(now time.Time, request string) {
	if slices.Contains(s.controls, request) {
		_ = s.note(entry{At: now, Answered: request})
		return
	}
	if s.forced == 3 {
		return
	}
	why := "another process wrote to the agent's pipe; the agent was stopped"
	s.h.cfg.Logf("session %s of %s: %s", s.meta.Session, s.meta.Agent, why)
	s.stop(now, "REFUSED", why, 3)
}

// receipt notes that a prompt is in the agent's context.
func (s *session) receipt(now time.Time, id string) {
	m := s.find(id)
	if m == nil || m.state != written && m.state != lost {
		return
	}
	_ = s.note(entry{At: now, Message: id, State: started})
	s.known, s.output = true, ""
}

// result closes a turn.
func (s *session) result(now time.Time, e streamjson.Event) {
	s.meter, s.unmetered = meter{}, 0
	m := s.turn()
	if m == nil { // a turn that nobody here began, or that was over when it was read again
		if s.fresh || e.CostUSD > s.last {
			_ = s.note(entry{At: now, Cost: &e.CostUSD})
		}
		return
	}
	over := entry{Cost: &e.CostUSD, Outcome: hook.OutcomeFailed, Why: clip("the agent said: "+e.Outcome, maxWhy)}
	switch {
	case m.cancels > 0:
		over.Outcome, over.Code, over.Why = hook.OutcomeCancelled, "CANCELLED", "cancelled"
	case s.stopping != "":
		over.Code, over.Why = s.stopping, s.stopWhy
	case !e.Failed:
		over.Outcome, over.Why, over.Result = hook.OutcomeCompleted, "", clip(e.Text, maxResult)
	case e.Outcome == streamjson.MaxBudget:
		now := s.book
		now.costs(e.CostUSD, false)
		over.Code, over.Why = "BUDGET", fmt.Sprintf("the session has spent $%.2f, by the client's own estimate", now.cost())
	case e.Outcome == streamjson.MaxTurns:
		over.Code = "MAX_TURNS"
	case e.Outcome == streamjson.Interrupted:
		over.Code = "INTERRUPTED"
	case s.trouble == streamjson.AuthenticationFailed:
		over.Code, over.Why = "LOGIN", clip("the agent's program is not logged in, or its key was refused ("+e.Text+"); "+optin.LoginFix, maxWhy)
	case e.Outcome == streamjson.Success: // the client calls it so where the model could not be asked
		over.Code, over.Why = "API", clip("the agent said"+because(e.Text), maxWhy)
	default:
		over.Code, over.Why = "API", clip(over.Why+because(e.Text), maxWhy)
	}
	s.endAt(now, m, over)
	if over.Code == "BUDGET" { // it would fail each prompt that follows
		s.stop(now, "BUDGET", "its budget is spent", 1)
	}
}

// frames are what the broker has not acknowledged yet of the session's messages, in order. No frame has
// a prompt.
func (s *session) frames() []api.HostFrame {
	if s.broken != nil { // what is acknowledged could not be noted, and would be said again and again
		return nil
	}
	var all []api.HostFrame
	for _, m := range s.messages {
		all = append(all, s.framesOf(m, m.acked)...)
	}
	return all
}

// framesOf are the frames about one message, without those that were acknowledged.
func (s *session) framesOf(m *message, acked map[string]bool) []api.HostFrame {
	var all []api.HostFrame
	add := func(what string, f api.HostFrame) {
		if f.ID = frameID(m.ID, what); !acked[f.ID] && !m.Own {
			f.Message, f.Why = m.ID, why(m.why, f.Why)
			all = append(all, f)
		}
	}
	tell := func(what, kind string) {
		if hook.Wordless(m.Kind) {
			return
		}
		e := &api.AgentEvent{SessionID: s.meta.Session, Agent: s.meta.Agent, Kind: kind, CostUSD: m.cost, Timestamp: m.at}
		switch kind {
		case api.AgentStarted:
			e.Timestamp, e.CostUSD = m.began, 0
		case api.AgentOutput:
			e.Message = cmp.Or(m.output, m.result)
		case api.AgentBlocked:
			e.Message = clip(m.why, maxWhy)
			e.Error = &api.AgentError{Message: e.Message, Code: m.code}
		case api.AgentCompleted:
			e.Message, e.Result, e.PR = clip(m.why, maxWhy), m.result, m.pr
		case api.AgentFailed:
			e.Error = &api.AgentError{Message: clip(m.why, maxWhy), Code: m.code}
		}
		if id := frameID(m.ID, what); !acked[id] {
			all = append(all, api.HostFrame{Type: api.HostEvent, ID: id, At: e.Timestamp, Event: e})
		}
	}
	if m.state == dropped {
		return nil
	}
	add("taken", api.HostFrame{Type: api.HostTaken})
	if !m.began.IsZero() {
		add("started", api.HostFrame{Type: api.HostStarted, At: m.began})
		tell("began", api.AgentStarted)
	}
	switch {
	case m.state == lost:
		add("lost", api.HostFrame{Type: api.HostLost, At: m.at})
	case m.state == ended:
		add("ended", api.HostFrame{Type: api.HostEnded, At: m.at, Outcome: m.outcome, Command: m.command, By: m.by})
		if m.output != "" || m.result != "" {
			tell("said", api.AgentOutput)
		}
		if m.outcome == hook.OutcomeCompleted {
			if !s.unverified(m.pr) {
				tell("over", api.AgentCompleted)
			}
		} else {
			tell("over", api.AgentFailed)
		}
		if m.code == "BUDGET" || m.code == "TIMEOUT" { // it goes on once it is allowed more
			tell("blocked", api.AgentBlocked)
		}
	}
	return all
}

func why(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return clip(t, maxWhy)
		}
	}
	return ""
}

// frameID names the frame that says a thing of a message: the same one, whichever host says it when.
func frameID(message, what string) string { return message + "-" + what }

// frameOf says whether a frame is about a message.
func frameOf(frame, message string) bool { return strings.HasPrefix(frame, message+"-") }

// clip cuts a text to at most n bytes, at the beginning of a character.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	text = text[:n-len("…")]
	for len(text) > 0 && !strings.HasSuffix(strings.ToValidUTF8(text, ""), text[len(text)-1:]) {
		text = text[:len(text)-1]
	}
	return strings.ToValidUTF8(text, "") + "…"
}
