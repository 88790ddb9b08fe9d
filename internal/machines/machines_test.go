package machines

import (
	"fmt"
	"testing"
	"time"

	"assent/internal/hook"
)

func event(submitter, host, kind string) *hook.Event {
	return &hook.Event{Submitter: submitter, Type: kind, Agent: "claude", Origin: hook.Origin{Host: host}}
}

func TestRegister(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := New("0.2.0")
	hear := func(submitter, host, version, session, mode, kind string) {
		e := event(submitter, host, kind)
		r.Heard(e, version, now)
		r.Observed(e, &hook.Payload{SessionID: session, PermissionMode: mode}, now)
	}
	hear("user:1000@x", "box", "0.2.0", "a", "default", "Stop")
	hear("token:1", "laptop", "0.1.0", "b", "bypassPermissions", "Stop")
	hear("token:1", "laptop", "", "b", "", "Notification") // neither says it: both stay
	hear("token:1", "laptop", "", "c", "auto", "Stop")
	hear("token:2", "ci", "0.2.0", "d", "dontAsk", "Stop")
	hear("token:2", "ci", "0.2.0", "d", "", "SessionEnd")
	list := r.List([]Token{{"token:1", "Ana's laptop", now}, {"token:3", "Zoe's", time.Time{}}}, now)
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	box, ci, ana, zoe := list[0], list[1], list[2], list[3]
	if box.Host != "box" || box.Differs || box.Sessions != 1 || len(box.NotAsking) != 0 || box.Name != "" {
		t.Errorf("%+v", box)
	}
	if ci.Host != "ci" || ci.Sessions != 0 {
		t.Errorf("%+v", ci)
	}
	if ana.Name != "Ana's laptop" || ana.HookVersion != "0.1.0" || !ana.Differs || ana.Sessions != 2 || len(ana.NotAsking) != 2 || !ana.Used.Equal(now) || !ana.Heard.Equal(now) {
		t.Errorf("%+v", ana)
	}
	if zoe.Name != "Zoe's" || !zoe.Heard.IsZero() || zoe.NotAsking == nil {
		t.Errorf("%+v", zoe)
	}
	if r.NotAsking("bypassPermissions", now) != 1 || r.NotAsking("auto", now) != 1 || r.NotAsking("dontAsk", now) != 0 || r.Differing() != 1 {
		t.Error("the counts differ")
	}
	if later := now.Add(quiet + 1); r.NotAsking("auto", later) != 0 || r.List(nil, later)[0].Sessions != 0 {
		t.Error("a session without a word for a day counts as running")
	}
}

func TestRegisterIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := New("0.2.0")
	for i := range maxSessions + 10 {
		now = now.Add(time.Millisecond)
		e := event("token:1", fmt.Sprint("host", i), "Stop")
		r.Heard(e, "0.2.0", now)
		r.Observed(e, &hook.Payload{SessionID: fmt.Sprint(i), PermissionMode: "auto"}, now)
	}
	if len(r.machines) != maxMachines || len(r.sessions) != maxSessions {
		t.Errorf("%d machines, %d sessions", len(r.machines), len(r.sessions))
	}
	if r.sessions[sessionKey{"token:1", "0"}] != nil || r.sessions[sessionKey{"token:1", fmt.Sprint(maxSessions + 9)}] == nil {
		t.Error("not the oldest went")
	}
	long := event("token:1", string(make([]byte, 10_000)), "Stop")
	r.Heard(long, string(make([]byte, 10_000)), now.Add(time.Hour))
	for k, m := range r.machines {
		if len(k.host) > maxText || len(m.HookVersion) > maxText {
			t.Error("what a hook says of itself is kept whole, however long")
		}
	}
}
