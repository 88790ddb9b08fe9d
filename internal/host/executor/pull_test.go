package executor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/optin"
)

// One that a tool of a server opened is like one of gh, also where the host is another one by then. What other tools
// name is not the agent's.
func TestPullRequestByTool(t *testing.T) {
	dir := t.TempDir()
	h := &Host{cfg: Config{Dir: dir, Home: dir, Logf: func(string, ...any) {}}, sessions: map[string]*session{}, said: map[string]time.Time{}, wake: make(chan struct{}, 1)}
	s, err := makeSession(h, meta{Session: one, Agent: "coder", Project: filepath.Join(dir, "project")})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	s.event(at, streamjson.Event{Kind: streamjson.Says, Tools: []streamjson.Command{{ID: "a", Text: "mcp__github__get_pull_request"}, {ID: "b", Text: "mcp__github__create_pull_request"}}})
	_ = s.journal.close()
	if s, err = openSession(h, one); err != nil {
		t.Fatal(err)
	}
	if s.event(at, streamjson.Event{Kind: streamjson.Did, Results: []streamjson.Command{{ID: "a", Text: `{"html_url":"https://github.com/o/r/pull/7"}`}}}); s.pr != nil {
		t.Errorf("a pull request that was only read: %+v", s.pr)
	}
	s.event(at, streamjson.Event{Kind: streamjson.Did, Results: []streamjson.Command{{ID: "b", Text: `{"url":"https://api.github.com/repos/o/r/pulls/42","html_url":"https://github.com/o/r/pull/42","body":"after https://github.com/o/r/pull/9"}`}}})
	if s.pr == nil || s.pr.URL != "https://github.com/o/r/pull/42" || s.pr.Number != 42 || s.pr.Verified || s.unsure != s.pr.URL {
		t.Errorf("the pull request of the tool is %+v, to be asked about %q", s.pr, s.unsure)
	}
	_ = s.journal.close()
}

// A pull request is told with the turn that opened it, once gh was asked; whoever the host is by then.
func TestPullRequest(t *testing.T) {
	dir := t.TempDir()
	h := &Host{cfg: Config{Dir: dir, Home: dir, Environ: []string{"PATH=" + dir}, Logf: func(string, ...any) {}}, sessions: map[string]*session{}, said: map[string]time.Time{}, wake: make(chan struct{}, 1)}
	s, err := makeSession(h, meta{Session: one, Agent: "coder", Project: filepath.Join(dir, "project")})
	if err != nil {
		t.Fatal(err)
	}
	h.sessions[one] = s
	at := time.Now()
	for _, e := range []entry{
		{At: at, Order: &Order{ID: two, Kind: hook.MessagePrompt}}, {At: at, Process: &began{PID: 1, ID: "x"}},
		{At: at, Message: two, State: confirmed}, {At: at, Message: two, State: written}, {At: at, Message: two, State: started},
	} {
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	url := "https://github.com/o/r/pull/42"
	s.event(at, streamjson.Event{Kind: streamjson.Says, Commands: []streamjson.Command{{ID: "a", Text: "gh pr list"}, {ID: "b", Text: "gh pr create --fill"}}})
	s.event(at, streamjson.Event{Kind: streamjson.Did, Results: []streamjson.Command{{ID: "a", Text: "https://github.com/o/r/pull/7"}}})
	if s.pr != nil {
		t.Errorf("a pull request of somebody else's: %+v", s.pr)
	}
	over := func(s *session) *api.AgentEvent {
		for _, f := range s.frames() {
			if f.Event != nil && f.Event.Kind == api.AgentCompleted {
				return f.Event
			}
		}
		return nil
	}
	again := func() {
		t.Helper()
		_ = s.journal.close()
		if s, err = openSession(h, one); err != nil {
			t.Fatal(err)
		}
		h.sessions[one] = s
	}
	again() // while it was waited for the answer to the command
	s.event(at, streamjson.Event{Kind: streamjson.Did, Results: []streamjson.Command{{ID: "b", Text: url + "\n"}}})
	s.event(at, streamjson.Event{Kind: streamjson.Result, Outcome: streamjson.Success, Text: "done"})
	if got := s.stands(optin.Agent{}).PR; got == nil || got.URL != url || got.Number != 42 || got.Verified || over(s) != nil {
		t.Errorf("before gh was asked: %+v, %+v", got, over(s))
	}
	again()
	script := "#!/bin/sh\necho '{\"number\":42,\"url\":\"" + url + "\"}'\n"
	if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) {
		h.mu.Lock()
		h.verify(ctx)
		h.mu.Unlock()
		h.beside.Wait()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if ask(ended); over(s) != nil {
		t.Error("it is told by a host that ends")
	}
	ask(t.Context())
	if e := over(s); e == nil || e.PR == nil || *e.PR != (api.AgentPR{URL: url, Number: 42, Verified: true}) {
		t.Errorf("%+v", e)
	}
	again()
	if e := over(s); e == nil || e.PR == nil || !e.PR.Verified || s.unsure != "" {
		t.Errorf("%+v", e)
	}
}

// A pull request is asked for once, after a turn that ended well, that nothing followed, and that wanted one; the broker
// hears of no message.
func TestAutoPR(t *testing.T) {
	coder := optin.Agent{Name: "coder", BudgetUSD: 5, Timeout: time.Hour, Worktree: true, AutoPR: true}
	file := optin.File{Accept: []string{"key"}, Agents: []optin.Agent{coder}}
	h := &Host{cfg: Config{Dir: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) { return file, nil }}, sessions: map[string]*session{}, timeouts: map[string]time.Duration{}}
	s, err := makeSession(h, meta{Session: one, Agent: "coder", Worktree: treeNames(one)[0]})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	order := Order{ID: two, Agent: "coder", Session: one, Kind: hook.MessagePrompt, Prompt: "x", By: "key", AutoPR: true, ExpiresAt: at.Add(time.Minute)}
	file.Agents[0].AutoPR = false
	if _, _, why := h.ceilings(nil, order); !strings.Contains(why, "autoPr") {
		t.Errorf("above the ceiling: %q", why)
	}
	file.Agents[0].AutoPR = true
	steps := []entry{{At: at, Order: &order}, {At: at, Message: two, State: confirmed}, {At: at, Message: two, State: started}}
	for _, e := range append(steps, entry{At: at, Message: two, State: ended, Outcome: hook.OutcomeCompleted}) {
		if s.duePR(at) != nil {
			t.Errorf("it is due before %+v", e)
		}
		if err := s.note(e); err != nil {
			t.Fatal(err)
		}
	}
	m := s.duePR(at)
	if m == nil || s.duePR(at.Add(time.Hour)) != nil {
		t.Fatalf("%+v; an hour later: %+v", m, s.duePR(at.Add(time.Hour)))
	}
	file.Accept = nil
	if why := s.askForPR(at, m); !strings.Contains(why, "not accepted here any more") {
		t.Errorf("%q", why)
	}
	file.Accept = []string{"key"}
	if why := s.askForPR(at, m); why != "" || s.duePR(at) != nil {
		t.Errorf("%q", why)
	}
	own := s.outstanding()
	if own == nil || own.state != confirmed || own.Prompt != openPR {
		t.Fatalf("%+v", own)
	}
	_ = s.note(entry{At: at, Message: own.ID, State: started})
	_ = s.note(entry{At: at, Message: own.ID, State: ended, Outcome: hook.OutcomeCompleted, Result: "done"})
	var told []string
	for _, f := range s.frames() {
		if f.Message == own.ID || frameOf(f.ID, own.ID) {
			if told = append(told, f.Type); f.Event != nil {
				told[len(told)-1] = f.Event.Kind
			}
		}
	}
	if want := []string{api.AgentStarted, api.AgentOutput, api.AgentCompleted}; !slices.Equal(told, want) || s.duePR(at) != nil {
		t.Errorf("told: %q", told)
	}
}
