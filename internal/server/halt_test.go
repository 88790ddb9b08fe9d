package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker/logtest"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
)

// withHalt runs f with a server that answers by rulebook and can be stopped.
func withHalt(t *testing.T, f func(t *testing.T, g *rig, s *halt.Store)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := halt.Open(context.Background(), halt.Config{KV: kvtest.New(), Logf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		g := newRig(t, server.Config{Rules: rulebook, Halt: s})
		s.Notify(g.server.HaltChanged)
		defer func() {
			g.stop()
			_ = s.Close()
		}()
		f(t, g, s)
	})
}

// halts does one act as the holder of a token.
func (g *rig) halts(method, path, body, token string) (api.StopResult, reply) {
	g.t.Helper()
	r := g.call(call{method: method, path: path, body: body, token: token})
	var res api.StopResult
	if r.status == http.StatusOK {
		schema := "Halt"
		if method == "POST" && path == "/v1/stop" {
			schema = "StopResult"
		}
		valid(g.t, schema, r.body)
		res = decode[api.StopResult](g.t, r.body)
	}
	return res, r
}

func TestStopDeniesWhatWaitsAndSuspendsRules(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		approve := g.tokens[auth.RoleApprove]
		a, b := g.hook("one"), g.hook("two")
		res, r := g.halts("POST", "/v1/stop", "{}", approve)
		if r.status != http.StatusOK || res.Denied != 2 || res.Left != 0 || res.Stopped == nil || res.Stopped.By.ID != g.ids[auth.RoleApprove] {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for _, w := range []*waiting{a, b} {
			if r := <-w.reply; !strings.Contains(r.body, `"behavior":"deny"`) || !strings.Contains(r.body, "Stopped by approve") {
				t.Errorf("the agent is told %s", r.body)
			}
			if q := g.get(w.id); q.Outcome != "denied" || q.DecidedBy == nil || q.DecidedBy.ID != g.ids[auth.RoleApprove] {
				t.Errorf("recorded as %+v", q)
			}
		}
		fine := g.hook("fine") // a rule would allow it
		g.wantPending(fine)
		if r := <-g.hook("forbidden").reply; !strings.Contains(r.body, `"behavior":"deny"`) {
			t.Errorf("a rule that denies: %s", r.body)
		}
		if _, r := g.halts("POST", "/v1/pause", `{"seconds":60}`, approve); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"stopped"`) {
			t.Errorf("a pause while stopped: %d %s", r.status, r.body)
		}
		if res, r := g.halts("DELETE", "/v1/stop", "{}", approve); r.status != http.StatusOK || res.Stopped != nil || len(res.Acts) != 2 {
			t.Errorf("lift: %d %s", r.status, r.body)
		}
		if r := <-g.hook("fine").reply; !strings.Contains(r.body, `"behavior":"allow"`) {
			t.Errorf("after the lift: %s", r.body)
		}
		g.wantPending(fine) // what a person was asked stays with people
		g.allow(fine)
	})
}

// TestNoRuleAllowsAfterAStop holds the promise of POST /v1/stop: when it has answered, no rule's allow is
// recorded any more, and none is on its way.
func TestNoRuleAllowsAfterAStop(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		var n atomic.Int64
		g.log.Inject(func(hook.Record) logtest.Fault { // answers take their time, each another
			return logtest.Fault{Delay: time.Duration(n.Add(1)%7) * time.Millisecond}
		})
		ctx, cancel := context.WithCancel(context.Background())
		var stopped atomic.Bool
		var before, late atomic.Int64
		var hooks sync.WaitGroup
		for i := range 40 {
			hooks.Go(func() {
				for ctx.Err() == nil {
					time.Sleep(time.Duration(i%5) * time.Millisecond)
					after := stopped.Load()
					r := g.do(ctx, call{unix: true, method: "POST", path: "/v1/hooks", body: bash(fmt.Sprint("fine ", i)),
						header: map[string]string{hook.HeaderRequestID: uuid.NewString()}})
					if r.err == nil && strings.Contains(r.body, `"behavior":"allow"`) {
						if before.Add(1); after {
							late.Add(1)
						}
					}
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		_, r := g.halts("POST", "/v1/stop", "{}", g.tokens[auth.RoleApprove])
		stopped.Store(true)
		at := g.log.Len()
		if r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
		hooks.Wait()
		if before.Load() == 0 || late.Load() > 0 {
			t.Errorf("%d allows, %d of them to hooks that came after the stop", before.Load(), late.Load())
		}
		asked := 0
		for _, rec := range g.log.All()[at:] {
			if rec.Step == hook.StepAsked {
				asked++
			}
			if rec.Outcome == hook.Allowed {
				t.Errorf("record %d allows %s after the stop, by %+v", rec.Seq, rec.RequestID, rec.By)
			}
		}
		if asked == 0 {
			t.Error("nothing was asked after the stop")
		}
	})
}

// haltBody is the body of an act that a phone signed.
func (p *phone) haltBody(act string, revision uint64, seconds int) string {
	body := map[string]any{"revision": revision, "signature": p.key.Sign(auth.HaltText(act, revision, seconds))}
	if seconds > 0 {
		body["seconds"] = seconds
	}
	return mustJSON(body)
}

func TestDeviceSignsAStop(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		p := g.paired(auth.RoleApprove, "phone")
		w := g.hook("one")
		for name, body := range map[string]string{
			"unsigned":             "{}",
			"without the revision": `{"signature":"` + p.key.Sign(auth.HaltText("stop", 0, 0)) + `"}`,
			"of another act":       p.haltBody("lift", 0, 0),
			"of another revision":  strings.Replace(p.haltBody("stop", 7, 0), `"revision":7`, `"revision":0`, 1),
		} {
			if _, r := g.halts("POST", "/v1/stop", body, p.bearer); r.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if _, r := g.halts("POST", "/v1/stop", p.haltBody("stop", 7, 0), p.bearer); r.status != http.StatusConflict || !strings.Contains(r.body, `"reason":"changed"`) {
			t.Errorf("on a state that is not: %d %s", r.status, r.body)
		}
		g.wantPending(w)
		once := p.haltBody("stop", 0, 0)
		res, r := g.halts("POST", "/v1/stop", once, p.bearer)
		if r.status != http.StatusOK || !auth.VerifyHalt(*res.Stopped) || res.Denied != 1 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if _, r := g.halts("DELETE", "/v1/stop", p.haltBody("lift", res.Revision, 0), p.bearer); r.status != http.StatusOK {
			t.Errorf("lift: %d %s", r.status, r.body)
		}
		if _, r := g.halts("POST", "/v1/stop", once, p.bearer); r.status != http.StatusConflict {
			t.Errorf("what was signed once was done twice: %d %s", r.status, r.body)
		}
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: p.bearer}).body
		for _, doc := range validList(t, "Record", trace) {
			var rec hook.Record
			if err := json.Unmarshal(doc, &rec); err != nil {
				t.Fatal(err)
			}
			if rec.Step != hook.StepDecided {
				continue
			}
			if rec.By.ID != p.ID || !auth.VerifyDecision(w.id, *rec.Decision) {
				t.Errorf("the record does not verify: %s", doc)
			}
			forged := *rec.Decision
			forged.Behavior = hook.BehaviorAllow
			if auth.VerifyDecision(w.id, forged) {
				t.Error("a stop's signature verifies an allow")
			}
		}
	})
}

func TestPauseHandsBack(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		approve := g.tokens[auth.RoleApprove]
		waits := g.hook("before")
		for _, body := range []string{"{}", `{"seconds":0}`, `{"seconds":86401}`, `{"seconds":1.5}`, `{"seconds":-1}`} {
			if _, r := g.halts("POST", "/v1/pause", body, approve); r.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		if res, r := g.halts("POST", "/v1/pause", `{"seconds":60}`, approve); r.status != http.StatusOK || res.Paused == nil || time.Until(res.Paused.Until) != time.Minute {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for _, command := range []string{"during", "fine"} {
			w := g.hook(command)
			if r := <-w.reply; r.status != http.StatusNoContent {
				t.Errorf("%s: %d %s", command, r.status, r.body)
			}
			if q := g.get(w.id); q.Outcome != "handed_back" || q.Reason != hook.ReasonPaused || !strings.Contains(string(q.ToolInput), command) {
				t.Errorf("%s: %+v", command, q)
			}
		}
		if r := <-g.hook("forbidden").reply; !strings.Contains(r.body, `"behavior":"deny"`) {
			t.Errorf("a rule that denies: %s", r.body)
		}
		prompt := g.tool("t1", "by the prompt tool")
		g.wantPending(waits, prompt)
		g.allow(waits)
		back := g.raise(call{body: bash("over tcp"), token: g.tokens[auth.RoleSubmit]})
		if r := <-back.reply; r.status != http.StatusNoContent {
			t.Errorf("%d %s", r.status, r.body)
		}
		time.Sleep(time.Minute)
		after := g.hook("after")
		g.wantPending(prompt, after)
		if res, _ := g.halts("GET", "/v1/pause", "", approve); res.Paused != nil {
			t.Error("a pause outlives its time")
		}
		g.halts("POST", "/v1/pause", `{"seconds":60}`, approve)
		if res, r := g.halts("DELETE", "/v1/pause", "{}", approve); r.status != http.StatusOK || res.Paused != nil {
			t.Errorf("%d %s", r.status, r.body)
		}
		again := g.hook("again")
		g.wantPending(prompt, after, again)
	})
}

// TestPauseLeavesWhoComesBack holds that a hook whose request waits goes on waiting when it comes back
// during a pause.
func TestPauseLeavesWhoComesBack(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		header := map[string]string{hook.HeaderRequestID: uuid.NewString(), hook.HeaderAttempt: "1"}
		first := g.raise(call{body: bash("x"), token: g.tokens[auth.RoleSubmit], header: header})
		g.halts("POST", "/v1/pause", `{"seconds":60}`, g.tokens[auth.RoleApprove])
		first.cancel()
		synctest.Wait()
		header[hook.HeaderAttempt] = "2"
		again := g.raise(call{body: bash("x"), token: g.tokens[auth.RoleSubmit], header: header})
		g.allow(again)
		if r := <-again.reply; !strings.Contains(r.body, `"behavior":"allow"`) {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

func TestSocketTellsOfAStop(t *testing.T) {
	withHalt(t, func(t *testing.T, g *rig, _ *halt.Store) {
		f := g.follow("")
		defer f.conn.Close()
		f.next()
		halted := func(f *follower) api.Halt {
			for {
				_, b, err := f.conn.ReadMessage()
				if err != nil {
					t.Fatal(err)
				}
				valid(t, "ws/Message", string(b))
				if m := decode[api.Message](t, string(b)); m.Type == api.MessageHalt {
					return *m.Halt
				}
			}
		}
		g.halts("POST", "/v1/stop", "{}", g.tokens[auth.RoleApprove])
		if h := halted(f); h.Stopped == nil {
			t.Errorf("%+v", h)
		}
		late := g.follow("")
		defer late.conn.Close()
		late.next()
		if h := halted(late); h.Stopped == nil {
			t.Errorf("a client that connects later is sent %+v", h)
		}
		g.halts("DELETE", "/v1/stop", "{}", g.tokens[auth.RoleApprove])
		if h := halted(f); h.Stopped != nil {
			t.Errorf("%+v", h)
		}
	})
}
