package broker

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/hook"
)

// refusal is a problem, as far as it names members.
type refusal struct {
	Field  string
	Detail string
	Errors []struct{ Field, Problem string }
}

// fields are the members that it names, sorted.
func (r refusal) fields() []string {
	var names []string
	for _, e := range r.Errors {
		names = append(names, e.Field)
	}
	if len(names) == 0 && r.Field != "" {
		names = []string{r.Field}
	}
	slices.Sort(names)
	return names
}

// members is a document as an object.
func members(t *testing.T, doc []byte) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return m
}

// agrees holds a document to have all that the example has, but for the members in other, which are those.
func agrees(t *testing.T, name string, doc []byte, other map[string]any) {
	t.Helper()
	rig.OfSeed(t, name, doc)
	got, want := members(t, doc), members(t, rig.SeedExample(name))
	maps.Copy(want, other)
	for k, v := range want {
		if !reflect.DeepEqual(got[k], v) {
			t.Errorf("%s.%s is %v, want %v", name, k, got[k], v)
		}
	}
}

// seedRig is a broker with the end of a host's connection.
type seedRig struct {
	*rig.Daemon
	t *testing.T
}

// refuses posts what is to be refused with this status, naming these members.
func (x *seedRig) refuses(path, token string, body any, status int, fields ...string) {
	x.t.Helper()
	if token == "" {
		_, token = x.Owner()
	}
	got, text, err := x.As(token, "POST", path, body)
	var r refusal
	if err != nil || got != status || json.Unmarshal(text, &r) != nil {
		x.t.Errorf("POST %s %v: %d %s %v", path, body, got, text, err)
		return
	}
	slices.Sort(fields)
	if !slices.Equal(r.fields(), fields) || r.Detail == "" {
		x.t.Errorf("POST %s: %v, want %v: %s", path, r.fields(), fields, text)
	}
}

func (x *seedRig) doc(path string) (doc json.RawMessage) {
	x.t.Helper()
	x.Get(path, &doc)
	return doc
}

// Each of the seed's six examples, as it stands there, is given to whatever takes such an object: it is taken as the example has
// it, or refused, naming the members that are the reason. And whatever is said in such an object is as the seed defines it.
func TestTheExamplesOfTheSeed(t *testing.T) {
	t.Parallel()
	x := &seedRig{rig.Serve(t), t}
	for name := range rig.SeedFields() {
		rig.OfSeed(t, name, rig.SeedExample(name))
	}
	x.requests()
	b := x.agent()
	x.event(b)
	x.message(b)
}

// requests are PermissionRequest, SessionInfo and PermissionResponse.
func (x *seedRig) requests() {
	t := x.t
	// What has no hook_event_name is no event of an agent's: its hook has no opinion, and nothing waits.
	for _, name := range []string{"PermissionRequest", "PermissionResponse", "SessionInfo"} {
		if out := x.Hook(rig.SeedExample(name)).Wait(); out != "" || len(x.Pending()) != 0 {
			t.Errorf("%s as an event: the hook prints %q, and %d requests wait", name, out, len(x.Pending()))
		}
	}
	// As many as the example of SessionInfo counts.
	example := members(t, rig.SeedExample("PermissionRequest"))
	payload, err := json.Marshal(map[string]any{
		"hook_event_name": "PermissionRequest", "session_id": example["sessionId"], "cwd": example["cwd"], "tool_name": example["toolName"], "tool_input": example["toolInput"],
	})
	if err != nil {
		t.Fatal(err)
	}
	const waiting = 42
	var hooks sync.WaitGroup
	answers := make(chan string, waiting)
	client := x.SocketClient()
	for range waiting - 1 {
		hooks.Go(func() {
			_, answer, _ := rig.PostHook(t.Context(), client, payload)
			answers <- answer
		})
	}
	first := x.Hook(payload)
	requests := x.WaitPending(waiting)
	session := x.doc("/v1/sessions/example-sessionId")
	agrees(t, "SessionInfo", session, nil)
	for _, r := range requests {
		agrees(t, "PermissionRequest", x.doc("/v1/requests/"+r.ID), map[string]any{"id": r.ID})
	}
	x.refuses("/v1/requests/"+requests[0].ID+"/decision", "", rig.SeedExample("PermissionResponse"), http.StatusBadRequest, "sessionId", "hookSpecificOutput", "behavior", "inputSha256")
	if n := len(x.Pending()); n != waiting {
		t.Errorf("%d wait after a decision that was refused", n)
	}
	// The event is always PermissionRequest, and the words are of a denial.
	for _, r := range requests {
		x.Deny(r, "example-message")
		agrees(t, "PermissionResponse", responseOf(t, x.doc("/v1/requests/"+r.ID)), map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PermissionRequest", "decision": map[string]any{"behavior": "deny", "message": "example-message"},
		}})
	}
	hooks.Wait()
	answers <- first.Wait()
	for range waiting {
		answer := <-answers
		rig.OfSeed(t, "PermissionResponse", []byte(answer))
		if answer != rig.Denied("example-message") {
			t.Errorf("a hook prints %s", answer)
		}
	}
	agrees(t, "SessionInfo", x.doc("/v1/sessions/example-sessionId"), map[string]any{"queueCount": 0.0})
	// Words of an allow reach nobody, so none are given.
	last := x.Hook(payload)
	r := x.WaitPending(1)[0]
	x.refuses("/v1/requests/"+r.ID+"/decision", "", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256, Message: "example-message"}, http.StatusBadRequest, "message")
	x.Allow(r)
	answer := last.Wait()
	if rig.OfSeed(t, "PermissionResponse", []byte(answer)); answer != rig.Allowed {
		t.Errorf("a hook prints %s", answer)
	}
}

// responseOf is the response in a request.
func responseOf(t *testing.T, request []byte) []byte {
	t.Helper()
	var r struct{ Response json.RawMessage }
	if err := json.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	return r.Response
}

// agent offers the example of Agent as a host does, and then one with the name that the other examples have.
func (x *seedRig) agent() *box {
	t := x.t
	b := connectBox(t, x.Daemon)
	var offered api.Agent
	if err := json.Unmarshal(rig.SeedExample("Agent"), &offered); err != nil {
		t.Fatal(err)
	}
	offer := func(agents ...api.Agent) {
		b.say(api.HostFrame{Type: api.HostAgents, Agents: agents})
		want := agents[len(agents)-1]
		rig.Eventually(t, rig.Soon, "the agent is there", func() bool {
			status, body, err := x.Try("GET", "/v1/agents/"+want.Name, nil)
			var a api.Agent
			return err == nil && status == http.StatusOK && json.Unmarshal(body, &a) == nil && a.Status == want.Status
		})
	}
	offer(offered)
	// Its host says what it is called itself, for all of its agents; and one that is idle has no active session.
	agrees(t, "Agent", x.doc("/v1/agents/example-name"), map[string]any{"hostname": "box", "activeSessionId": nil})
	offered.Status = api.AgentBusy
	example := coder()
	example.Name, example.Limits = "example-agent", &api.AgentLimits{BudgetUSD: 5, TimeoutSeconds: 7200, AutoPR: true}
	offer(example, offered)
	agrees(t, "Agent", x.doc("/v1/agents/example-name"), map[string]any{"hostname": "box", "status": "busy"})
	// There is no other way in, and no other kind of executor.
	for _, method := range []string{"POST", "PUT"} {
		for _, path := range []string{"/v1/agents", "/v1/agents/example-name"} {
			if status, body, err := x.Try(method, path, rig.SeedExample("Agent")); err != nil || status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d %s %v", method, path, status, body, err)
			}
		}
	}
	for _, kind := range []string{"claude", "codex", "gemini", "custom", "another"} {
		a := offered
		a.Executor = &api.AgentExecutor{Kind: kind}
		b.say(api.HostFrame{Type: api.HostAgents, Agents: []api.Agent{example, a}})
		rig.Eventually(t, rig.Soon, "it is an agent only if its executor is of a kind that the seed knows", func() bool {
			status, body, err := x.Try("GET", "/v1/agents/example-name", nil)
			if kind == "another" {
				return err == nil && status == http.StatusNotFound
			}
			return err == nil && strings.Contains(string(body), `"kind":"`+kind+`"`)
		})
	}
	return b
}

// event has a host say the example of AgentEvent.
func (x *seedRig) event(b *box) {
	t := x.t
	nc, _ := rig.Connect(t, x.Daemon)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	public, err := js.OrderedConsumer(t.Context(), "AGENT_EVENTS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"agents.*.session.>"}})
	if err != nil {
		t.Fatal(err)
	}
	var e api.AgentEvent
	if err := json.Unmarshal(rig.SeedExample("AgentEvent"), &e); err != nil {
		t.Fatal(err)
	}
	says := func(id string, e api.AgentEvent) api.BrokerFrame {
		b.say(api.HostFrame{Type: api.HostEvent, ID: id, Event: &e})
		return b.next(api.BrokerAck)
	}
	for i, kind := range []string{api.AgentStarted, api.AgentProgress, api.AgentOutput, api.AgentCompleted, api.AgentFailed, api.AgentBlocked} {
		e.Kind = kind
		e.PR = &api.AgentPR{URL: "https://example.net/a/b/pull/42", Number: 42}
		want := map[string]any{"kind": kind, "pr": map[string]any{"url": e.PR.URL, "number": 42.0}}
		if i == 0 { // what is no address of a pull request is not passed on as one, and what happened is told all the same
			e.PR.URL, want["pr"] = "example-url", nil
		}
		if ack := says("event-"+kind, e); !ack.OK {
			t.Fatalf("%s: %+v", kind, ack)
		}
		m, err := public.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject() != "agents.example-agent.session."+kind {
			t.Errorf("it is told on %s", m.Subject())
		}
		agrees(t, "AgentEvent", m.Data(), want)
	}
	// A host speaks of its own agents, in the kinds that there are, and with the members that are required.
	for name, change := range map[string]func(*api.AgentEvent){
		"of-another": func(e *api.AgentEvent) { e.Agent = "another" }, "no-kind": func(e *api.AgentEvent) { e.Kind = "example-kind" },
		"no-session": func(e *api.AgentEvent) { e.SessionID = "" }, "no-time": func(e *api.AgentEvent) { e.Timestamp = time.Time{} },
	} {
		bad := e
		change(&bad)
		if ack := says(name, bad); ack.OK || ack.Detail == "" {
			t.Errorf("%s: %+v", name, ack)
		}
	}
	// Nobody else has a way in: not who may read them.
	failed := make(chan struct{})
	if err := nc.Publish("agents.example-agent.session.started", rig.SeedExample("AgentEvent")); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(failed); _ = nc.Flush() }()
	if <-failed; nc.LastError() == nil || !strings.Contains(strings.ToLower(nc.LastError().Error()), "permissions violation") {
		t.Errorf("who may read may publish: %v", nc.LastError())
	}
	if status, body, err := x.Try("POST", "/v1/agents/example-agent/events", rig.SeedExample("AgentEvent")); err != nil || status != http.StatusNotFound {
		t.Errorf("%d %s %v", status, body, err)
	}
}

// message posts the example of AgentMessage: as it stands, and as a device sends it.
func (x *seedRig) message(b *box) {
	t := x.t
	phone := x.PairBare("operate")
	const path = "/v1/agents/example-agent/messages"
	// A session's id is Claude Code's, which takes UUIDs; without an id and a time it could be run twice, or a year later.
	x.refuses(path, phone.Bearer(), rig.SeedExample("AgentMessage"), http.StatusUnprocessableEntity, "id", "sessionId", "expiresAt")

	var example hook.Message
	if err := json.Unmarshal(rig.SeedExample("AgentMessage"), &example); err != nil {
		t.Fatal(err)
	}
	to := coder()
	to.Name = example.Agent
	m := phone.AgentMessage(to, uuid.NewString(), example.Kind, example.Prompt, example.Options)
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	// What it must not name is refused, named, whatever the device signed.
	with := func(name string, value any) map[string]any {
		doc := members(t, body)
		if at, below, found := strings.Cut(name, "."); found {
			doc[at].(map[string]any)[below] = value
		} else {
			doc[name] = value
		}
		return doc
	}
	for _, name := range []string{"path", "cwd", "project", "cli", "executor", "executable", "command", "args", "env", "mode", "permissionMode", "model", "settings", "worktree", "hostname", "Prompt", "state"} {
		x.refuses(path, phone.Bearer(), with(name, "/bin/sh"), http.StatusUnprocessableEntity, name)
		x.refuses(path, phone.Bearer(), with("options."+name, "/bin/sh"), http.StatusUnprocessableEntity, "options."+name)
	}
	for name, values := range map[string][]any{
		"kind": {"start", "", 1}, "prompt": {1, strings.Repeat("x", 64<<10+1)}, "agent": {"another"}, "sessionId": {"../x", strings.ToUpper(m.SessionID), "a\nb"}, "expiresAt": {"tomorrow"},
		"options.budgetUsd": {-1, 0, "1", 1e9}, "options.timeoutSeconds": {-1, 0, 1e9, 1.5, "1"}, "options.autoPr": {"yes", 1}, "options": {"x", nil},
	} {
		for _, v := range values {
			x.refuses(path, phone.Bearer(), with(name, v), http.StatusUnprocessableEntity, name)
		}
	}
	// Above a ceiling, as the device signed it; and what Claude Code would obey by itself.
	for name, options := range map[string]hook.MessageOptions{"options.budgetUsd": {BudgetUSD: 5.01}, "options.timeoutSeconds": {TimeoutSeconds: 7201}} {
		x.refuses(path, phone.Bearer(), phone.AgentMessage(to, m.SessionID, m.Kind, m.Prompt, &options), http.StatusUnprocessableEntity, name)
	}
	for _, prompt := range []string{"/config permissionMode=dontAsk", "!id", "see @/etc/passwd", " "} {
		x.refuses(path, phone.Bearer(), phone.AgentMessage(to, m.SessionID, m.Kind, prompt, nil), http.StatusUnprocessableEntity, "prompt")
	}
	// Nobody but a device may, of a role that may.
	for _, other := range []*rig.BareDevice{x.PairBare("approve"), x.PairBare("view")} {
		x.Must("POST", path, other.Bearer(), other.AgentMessage(to, m.SessionID, m.Kind, m.Prompt, m.Options), http.StatusForbidden, nil)
	}
	x.Must("POST", path, "", m, http.StatusForbidden, nil)

	x.Must("POST", path, phone.Bearer(), m, http.StatusAccepted, nil)
	doc := x.doc(path + "/" + m.ID)
	agrees(t, "AgentMessage", doc, map[string]any{"sessionId": m.SessionID})
	said := b.next(api.BrokerMessage).Message
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, "AgentMessage", text, map[string]any{"sessionId": m.SessionID})
	x.Must("POST", path, phone.Bearer(), m, http.StatusOK, nil) // the same one again
	for _, kind := range []string{hook.MessageResume, hook.MessageCancel} {
		prompt := example.Prompt
		if kind == hook.MessageCancel {
			prompt = ""
		}
		n := phone.AgentMessage(to, m.SessionID, kind, prompt, nil)
		x.Must("POST", path, phone.Bearer(), n, http.StatusAccepted, nil)
		rig.OfSeed(t, "AgentMessage", x.doc(path+"/"+n.ID))
	}
}
