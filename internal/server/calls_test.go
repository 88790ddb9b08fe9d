package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// toolEvent is an event about a call of Bash.
func toolEvent(kind, id, command string) string {
	return mustJSON(map[string]any{"session_id": "s1", "hook_event_name": kind, "tool_name": "Bash", "tool_use_id": id,
		"tool_input": map[string]string{"command": command, "description": "words"}})
}

// tell is a plain event on the socket.
func (g *rig) tell(body string) {
	g.t.Helper()
	if r := g.call(call{unix: true, method: http.MethodPost, path: "/v1/hooks", body: body}); r.status != http.StatusNoContent {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
}

// tool is the permission prompt tool's question about a call.
func (g *rig) tool(id, command string, more ...string) *waiting {
	g.t.Helper()
	body := strings.Replace(bash(command), `"tool_input"`, `"tool_use_id":"`+id+`","tool_input"`, 1)
	h := map[string]string{hook.HeaderSource: hook.SourceMCP}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return g.raise(call{unix: true, body: body, header: h})
}

func (g *rig) hook(command string) *waiting {
	g.t.Helper()
	return g.raise(call{unix: true, body: bash(command)})
}

// pending are the ids of the requests that wait, in order.
func (g *rig) pending() []string {
	g.t.Helper()
	synctest.Wait()
	ids := []string{}
	for _, doc := range validList(g.t, "PermissionRequest", g.call(call{path: "/v1/requests?state=pending", token: g.tokens[auth.RoleView]}).body) {
		ids = append(ids, decode[requestDoc](g.t, string(doc)).ID)
	}
	return ids
}

func (g *rig) wantPending(ws ...*waiting) {
	g.t.Helper()
	want := []string{}
	for _, w := range ws {
		want = append(want, w.id)
	}
	if got := g.pending(); fmt.Sprint(got) != fmt.Sprint(want) {
		g.t.Errorf("pending %v, want %v", got, want)
	}
}

func (g *rig) allow(w *waiting) {
	g.t.Helper()
	r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
	if r.status != http.StatusOK {
		g.t.Fatalf("%d %s", r.status, r.body)
	}
}

func (w *waiting) wants(t *testing.T, body string) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-w.reply:
		if r.body != body {
			t.Errorf("answer %d %q, want %q; %v", r.status, r.body, body, r.err)
		}
	default:
		t.Errorf("no answer, want %q", body)
	}
}

// The tool asks a moment before the hook, as it does with the real client. The hook's request, which
// tells more, is the one that people see, and the stream tells of one request.
func TestHookAndToolAskOnce(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		tool := g.tool("t1", "ls")
		g.wantPending()
		time.Sleep(300 * time.Millisecond)
		h := g.hook("ls")
		g.wantPending(h)
		if n := len(g.published()); n != 2 {
			t.Errorf("%d events, want PreToolUse and the hook's request", n)
		}
		g.allow(h)
		h.wants(t, allowed)
		tool.wants(t, allowed)
		var steps []string
		recs, err := g.log.Records(t.Context(), h.id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			steps = append(steps, string(r.Step))
		}
		if recs[0].Request.ToolUseID != "t1" || steps[1] != "decided" || len(steps) > 3 {
			t.Errorf("%v of %+v", steps, recs[0].Request)
		}
	})
}

// A hook that is later than anybody waits for it joins the tool's request.
func TestHookComesAfterTheTool(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		tool := g.tool("t1", "ls")
		time.Sleep(2 * time.Second)
		g.wantPending(tool)
		if q := g.get(tool.id); q.State != "pending" {
			t.Errorf("%+v", q)
		}
		h := g.hook("ls")
		g.wantPending(tool)
		g.allow(tool)
		h.wants(t, allowed)
		tool.wants(t, allowed)
	})
}

// Without hooks the tool's request is one like any other, at once.
func TestToolAlone(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		tool := g.tool("t1", "ls")
		g.wantPending(tool)
		got := g.published()
		if len(got) != 1 || got[0].Type != "PermissionRequest" {
			t.Errorf("published %+v", got)
		}
		g.allow(tool)
		tool.wants(t, allowed)
	})
}

// A tool that is told to deny is told so when the time is up, whatever its duplicate does then.
func TestDuplicatesExpireAsTheyWereTold(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		h := g.hook("ls")
		tool := g.tool("t1", "ls", hook.HeaderRemaining, "60000", hook.HeaderOnTimeout, "deny")
		g.wantPending(h)
		time.Sleep(59 * time.Second)
		h.wants(t, "")
		if r := <-tool.reply; !strings.Contains(r.body, `"deny"`) || !strings.Contains(r.body, "Nobody answered") {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// Two equal calls at once: nobody can say which hook is about which, so one answer must not run both.
func TestEqualCallsShareNothing(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		g.tell(toolEvent("PreToolUse", "t2", "ls"))
		hooks := []*waiting{g.hook("ls"), g.hook("ls")}
		tools := []*waiting{g.tool("t1", "ls"), g.tool("t2", "ls")}
		g.wantPending(hooks[0], hooks[1], tools[0], tools[1])
		g.allow(tools[0])
		tools[0].wants(t, allowed)
		left := []*waiting{hooks[0], hooks[1], tools[1]}
		g.wantPending(left...)

		// The next turn may do the same again, one after the other, and is known by then.
		g.tell(`{"session_id":"s1","hook_event_name":"PostToolBatch"}`)
		time.Sleep(time.Second)
		g.tell(toolEvent("PreToolUse", "t3", "ls"))
		h := g.hook("ls")
		g.tell(toolEvent("PreToolUse", "t4", "ls"))
		h2 := g.hook("ls")
		tool2, tool := g.tool("t4", "ls"), g.tool("t3", "ls")
		g.wantPending(append(left, h, h2)...)
		g.allow(h2)
		tool2.wants(t, allowed)
		g.wantPending(append(left, h)...)
		g.allow(h)
		tool.wants(t, allowed)
	})
}

// An answer is for the call it was given for: once that has run, the same question is a new one.
func TestAnswersEndWithTheirCall(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		h := g.hook("ls")
		g.allow(h)
		h.wants(t, allowed)
		g.tool("t1", "ls").wants(t, allowed)
		g.tell(toolEvent("PreToolUse", "t2", "ls"))
		again := g.tool("t2", "ls")
		time.Sleep(2 * time.Second)
		g.wantPending(again)
	})
}

// A rule is asked once for both, so that what it counts is counted once.
func TestRuleAnswersBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		g := newRig(t, server.Config{Rules: func(*hook.Request, hook.JSON) hook.Verdict {
			asked++
			return hook.Verdict{Action: hook.ActionAllow, Rule: "r"}
		}})
		defer g.stop()
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		tool := g.tool("t1", "ls")
		h := g.hook("ls")
		h.wants(t, allowed)
		tool.wants(t, allowed)
		if asked != 1 {
			t.Errorf("the rules were asked %d times", asked)
		}
		var ended []json.RawMessage = validList(t, "PermissionRequest", g.call(call{path: "/v1/requests?state=ended", token: g.tokens[auth.RoleView]}).body)
		if len(ended) != 1 {
			t.Errorf("%d requests", len(ended))
		}
	})
}

// The word in the header is no way around anything: what it does not know counts as a hook, and
// what asks nothing is no event.
func TestSourceIsNoSideDoor(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("ls"), header: map[string]string{hook.HeaderSource: "psychic"}})
		g.wantPending(w)
		if r := g.call(call{unix: true, method: http.MethodPost, path: "/v1/hooks", body: toolEvent("PostToolUse", "t1", "ls"),
			header: map[string]string{hook.HeaderSource: hook.SourceMCP}}); r.status != http.StatusNoContent {
			t.Errorf("%d", r.status)
		}
		if n := len(g.published()); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// A request that a rule denies has no duplicate, however its other half looks to the rules.
func TestDuplicateOfADeniedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Rules: func(q *hook.Request, _ hook.JSON) hook.Verdict {
			if q.Source == "" {
				return hook.Verdict{Action: hook.ActionDeny, Rule: "no", Message: "never"}
			}
			return hook.Verdict{Action: hook.ActionAsk}
		}})
		defer g.stop()
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		tool := g.tool("t1", "ls")
		time.Sleep(2 * time.Second)
		h := g.hook("ls")
		synctest.Wait()
		select {
		case r := <-h.reply:
			if !strings.Contains(r.body, "never") {
				t.Errorf("answer %s", r.body)
			}
		default:
			t.Error("a denied request waits for what a person says about its duplicate")
		}
		g.wantPending(tool)
	})
}

// The request that a duplicate would share may end in the very moment between the look for it and the
// wait. Then the duplicate is a request like any other: the rules see it, and so does the stream.
func TestDuplicateWhoseOtherHalfEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *rig
		var first atomic.Pointer[waiting]
		g = newRig(t, server.Config{Rules: func(q *hook.Request, _ hook.JSON) hook.Verdict {
			if w := first.Load(); w != nil && q.Source == "" {
				w.cancel() // while the hook's own request is looked at
				time.Sleep(time.Second)
			}
			return hook.Verdict{Action: hook.ActionAsk, Rule: "asks", Reason: "a rule has seen it"}
		}})
		defer g.stop()
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		tool := g.tool("t1", "ls")
		time.Sleep(2 * time.Second)
		first.Store(tool)
		h := g.hook("ls")
		time.Sleep(2 * time.Second)
		g.wantPending(h)
		recs, err := g.log.Records(t.Context(), h.id)
		if err != nil || len(recs) == 0 || recs[0].Request.Verdict == nil {
			t.Fatalf("the rules have not seen it: %+v %v", recs, err)
		}
	})
}

// Without a PreToolUse nobody knows which of two equal calls a hook is about: one answer is for
// one call.
func TestEqualCallsOfWhichNothingIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		// The first hook is about t2, and nobody can know.
		first, tool1 := g.hook("ls"), g.tool("t1", "ls")
		g.wantPending(first, tool1)
		second, tool2 := g.hook("ls"), g.tool("t2", "ls")
		g.wantPending(first, tool1, second, tool2)
	})
}

// What another credential asks is not the other half of anybody's request.
func TestDuplicateOfAnotherCredential(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.tell(toolEvent("PreToolUse", "t1", "ls"))
		forged := g.raise(call{token: g.tokens[auth.RoleSubmit], body: strings.Replace(bash("ls"), `"tool_input"`, `"tool_use_id":"t1","tool_input"`, 1),
			header: map[string]string{hook.HeaderSource: hook.SourceMCP}})
		time.Sleep(2 * time.Second)
		h := g.hook("ls")
		g.wantPending(forged, h)
	})
}
