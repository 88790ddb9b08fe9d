package claude

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/api"
	"assent/internal/hook"
)

// seen collects which fields had a value in a document of a run.
type seen struct {
	t      *testing.T
	mu     sync.Mutex
	fields map[string]map[string]any // guarded by mu
}

// doc checks a document by its schema and the seed's, and notes its fields.
func (s *seen) doc(schema string, doc []byte) {
	s.t.Helper()
	rig.OfSeed(s.t, schema, doc)
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fields[schema] == nil {
		s.fields[schema] = map[string]any{}
	}
	s.note(s.fields[schema], "", v)
}

func (s *seen) note(into map[string]any, path string, v any) {
	members, ok := v.(map[string]any)
	if !ok {
		if v != nil && v != "" {
			into[path] = v
		}
		return
	}
	if len(members) > 0 {
		into[path] = members
	}
	for name, m := range members {
		s.note(into, strings.TrimPrefix(path+"."+name, "."), m)
	}
}

// ghScript stands in for gh: it opens the pull request 42, and knows it afterwards.
const ghScript = `#!/bin/sh
case "$1 $2" in
"pr create") touch "$HOME/opened"; echo 'Creating draft pull request' >&2; echo https://github.com/filipexyz/notif/pull/42 ;;
"pr view") [ -e "$HOME/opened" ] && [ "$3" = https://github.com/filipexyz/notif/pull/42 ] && echo '{"number":42,"url":"https://github.com/filipexyz/notif/pull/42"}' ;;
*) exit 1 ;;
esac
`

// Each field of the seed's six schemas has a value in a run of the real client: an agent is discovered, started with
// bounds, asks twice, is told to open a pull request because its starter wanted one, which is asked about too, is cancelled and resumed, and says all of that on AGENT_EVENTS.
func TestTheFieldsOfTheSeed(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "    description: Writes Go", "    tags: [go, backend]", "    worktree: true", "    autoPr: true", "    budgetUsd: 5", "    timeoutSeconds: 7200")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", x.work, "-c", "user.name=x", "-c", "user.email=x@example.net"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("remote", "add", "origin", "git@github.com:filipexyz/notif.git")
	git("commit", "-q", "--allow-empty", "-m", "one")
	bin := filepath.Join(x.home, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(ghScript), 0o755); err != nil {
		t.Fatal(err)
	}

	s := &seen{t: t, fields: map[string]map[string]any{}}
	var mu sync.Mutex
	var events []api.AgentEvent // guarded by mu
	nc, _ := rig.Connect(t, x.Daemon)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := js.OrderedConsumer(t.Context(), "AGENT_EVENTS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"agents.>"}})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := reader.Consume(func(m jetstream.Msg) {
		if strings.HasSuffix(m.Subject(), ".available") {
			s.doc("Agent", m.Data())
			return
		}
		s.doc("AgentEvent", m.Data())
		var e api.AgentEvent
		_ = json.Unmarshal(m.Data(), &e)
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reading.Stop)
	event := func(session, kind string, also func(api.AgentEvent) bool) (found api.AgentEvent) {
		t.Helper()
		rig.Eventually(t, time.Minute, kind+" is told", func() bool {
			mu.Lock()
			defer mu.Unlock()
			i := slices.IndexFunc(events, func(e api.AgentEvent) bool { return e.SessionID == session && e.Kind == kind && also(e) })
			if i >= 0 {
				found = events[i]
			}
			return i >= 0
		})
		return found
	}
	any := func(api.AgentEvent) bool { return true }
	get := func(path, schema string) {
		t.Helper()
		var doc json.RawMessage
		x.Get(path, &doc)
		s.doc(schema, doc)
	}

	x.Model.On("open a draft pull request", []modelserver.Use{rig.Run("gh pr create --draft --fill")})
	x.serve()
	m := x.says("start", "coder", modelserver.Prompt([]modelserver.Use{x.Touch("never")}, []modelserver.Use{rig.Run("git -c user.name=x -c user.email=x@example.net commit --allow-empty -m two")}), "--budget", "3.14", "--timeout", "42m", "--pr")
	r := x.WaitPending(1)[0]
	for _, about := range []struct{ path, schema string }{
		{"/v1/agents/coder", "Agent"}, {"/v1/requests/" + r.ID, "PermissionRequest"}, {"/v1/sessions/" + m.SessionID, "SessionInfo"}, {"/v1/agents/coder/messages/" + m.ID, "AgentMessage"},
	} {
		get(about.path, about.schema)
	}
	x.Deny(r, "Rather not.")
	x.Allow(x.WaitPending(1)[0])
	if m = x.untilIs(m, hook.MessageEnded); m.Outcome != hook.OutcomeCompleted {
		t.Errorf("%+v", m)
	}
	var answered struct{ Response json.RawMessage }
	x.Get("/v1/requests/"+r.ID, &answered)
	s.doc("PermissionResponse", answered.Response)
	r = x.WaitPending(1)[0]
	if !strings.Contains(string(r.ToolInput), "gh pr create") {
		t.Errorf("%s is asked for", r.ToolInput)
	}
	x.Allow(r)
	pr := api.AgentPR{URL: "https://github.com/filipexyz/notif/pull/42", Number: 42, Verified: true}
	if e := event(m.SessionID, api.AgentCompleted, func(e api.AgentEvent) bool { return e.PR != nil }); *e.PR != pr || e.CostUSD <= 0 || !strings.Contains(e.Result, modelserver.Done) {
		t.Errorf("%+v, %+v", e, e.PR)
	}
	rig.Eventually(t, time.Minute, "the session has its pull request", func() bool {
		l := x.agents()
		return len(l) == 1 && len(l[0].Sessions) == 1 && l[0].Sessions[0].PR != nil && *l[0].Sessions[0].PR == pr
	})
	again := x.says("resume", m.SessionID[:8], modelserver.Prompt([]modelserver.Use{x.Touch("never")}))
	get("/v1/agents/coder/messages/"+again.ID, "AgentMessage")
	r = x.WaitPending(1)[0]
	if e := event(m.SessionID, api.AgentBlocked, func(e api.AgentEvent) bool { return e.RequestID == r.ID }); !strings.Contains(e.Message, "Bash") {
		t.Errorf("%+v", e)
	}
	x.untilIs(x.says("cancel", m.SessionID[:8]), hook.MessageEnded)
	if e := event(m.SessionID, api.AgentFailed, any); e.Error == nil || e.Error.Code != "CANCELLED" {
		t.Errorf("%+v", e)
	}
	for _, kind := range []string{api.AgentStarted, api.AgentProgress, api.AgentOutput} {
		event(m.SessionID, kind, any)
	}
	rig.Eventually(t, time.Minute, "the agent's version is said", func() bool { return x.agents()[0].Executor.Version == "2.1.329" })
	get("/v1/agents/coder", "Agent")

	s.mu.Lock()
	defer s.mu.Unlock()
	for schema, names := range rig.SeedFields() {
		for _, name := range names {
			v, ok := s.fields[schema][name]
			if !ok {
				t.Errorf("%s.%s had no value", schema, name)
			}
			t.Logf("%s.%s: %.200v", schema, name, v)
		}
	}
	if repo := s.fields["Agent"]["project.repo"]; repo != "filipexyz/notif" {
		t.Errorf("project.repo is %v", repo)
	}
}
