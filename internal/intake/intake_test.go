package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/intake"
)

// rig is an intake before a real broker on a log in memory. It lives in a synctest bubble.
type rig struct {
	t         *testing.T
	b         *broker.Broker
	in        *intake.Intake
	published []hook.Event
	refuse    error // of publishing
}

func inBubble(t *testing.T, cfg intake.Config, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		var err error
		if r.b, err = broker.New(t.Context(), broker.Config{Log: logtest.New(), SingleReplica: true, CallKey: claude.CallKey}); err != nil {
			t.Fatal(err)
		}
		defer r.b.Close()
		cfg.Broker = r.b
		cfg.Publish = func(_ context.Context, e hook.Event) (uint64, error) {
			if r.refuse != nil {
				return 0, r.refuse
			}
			r.published = append(r.published, e)
			return uint64(len(r.published)), nil
		}
		if cfg.MaxWaiting == 0 {
			cfg.MaxWaiting, cfg.MaxRemote = 100, 100
		}
		r.in = intake.New(t.Context(), cfg)
		f(t, r)
	})
}

// arrival is a hook's event that came on the socket now.
func arrival(payload string) intake.Arrival {
	return intake.Arrival{
		Event:   hook.Event{ID: uuid.NewString(), Agent: "claude", Time: time.Now(), Attempt: 1, Raw: []byte(payload), Submitter: "user:1@x"},
		Channel: hook.ChannelSocket, At: time.Now(), Timeout: 590 * time.Second, OnTimeout: hook.Abstain,
	}
}

func payload(event, tool string) string {
	return `{"session_id":"s","cwd":"/home/dev","hook_event_name":"` + event + `","tool_name":"` + tool + `","tool_input":{"command":"ls"}}`
}

// pending hands over an event that must wait.
func (r *rig) pending(a intake.Arrival) *intake.Pending {
	r.t.Helper()
	p, err := r.in.Handle(r.t.Context(), a)
	if err != nil || p == nil {
		r.t.Fatalf("Handle: %v, %v", p, err)
	}
	synctest.Wait()
	return p
}

func (r *rig) wants(p *intake.Pending, outcome hook.Outcome, body string) {
	r.t.Helper()
	a, err := p.Wait(r.t.Context())
	p.Close()
	if err != nil || a.Outcome != outcome || string(a.Body) != body {
		r.t.Errorf("answer %s %q, %v", a.Outcome, a.Body, err)
	}
}

const allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`

// An event that asks for nothing is published, byte for byte, and over.
func TestPlainEvents(t *testing.T) {
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		for _, raw := range []string{payload("PreToolUse", "Bash"), payload("Stop", ""), "no JSON", `{"hook_event_name":"PermissionRequest"}`} {
			p, err := r.in.Handle(t.Context(), arrival(raw))
			if p != nil || err != nil {
				t.Fatalf("%s: %v, %v", raw, p, err)
			}
			if last := r.published[len(r.published)-1]; string(last.Raw) != raw {
				t.Errorf("%s published as %s", raw, last.Raw)
			}
		}
		if n := r.in.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

// A request waits for a person, and its hook gets the bytes for its agent.
func TestPersonAnswers(t *testing.T) {
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		p := r.pending(arrival(payload("PermissionRequest", "Bash")))
		if p.Answered() || r.in.Waiting() != 1 {
			t.Error("nobody waits")
		}
		woken := make(chan struct{})
		p.Notify(func() { close(woken) })
		v, err := r.b.Get(t.Context(), p.ID())
		if err != nil || v.EventSeq != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if _, err := r.b.Decide(over(), p.ID(), hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: v.InputSHA256}, hook.Approver{Kind: "token"}); err != nil {
			t.Fatal(err)
		}
		<-woken
		r.wants(p, hook.Allowed, allowed)
		if r.in.Waiting() != 0 {
			t.Error("it still waits")
		}
	})
}

// over is a context that is done.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// What rules decide needs nobody, and what they may not decide is asked.
func TestRulesAnswer(t *testing.T) {
	allow := hook.Verdict{Action: hook.ActionAllow, Rule: "r"}
	for _, c := range []struct {
		name    string
		verdict hook.Verdict
		tool    string
		outcome hook.Outcome // empty: a person is asked
	}{
		{"allow", allow, "Bash", hook.Allowed},
		{"deny", hook.Verdict{Action: hook.ActionDeny, Rule: "r"}, "Bash", hook.Denied},
		{"ask", hook.Verdict{Action: hook.ActionAsk, Rule: "r"}, "Bash", ""},
		{"an allow that no rule says", hook.Verdict{Action: hook.ActionAllow}, "Bash", ""},
		{"an allow that the agent does not take", allow, "AskUserQuestion", ""},
		{"nonsense", hook.Verdict{Action: "yes", Rule: "r"}, "Bash", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, intake.Config{Rules: func(*hook.Request, hook.JSON) hook.Verdict { return c.verdict }}, func(t *testing.T, r *rig) {
				p := r.pending(arrival(payload("PermissionRequest", c.tool)))
				defer p.Close()
				if p.Answered() != (c.outcome != "") {
					t.Fatalf("answered: %v", p.Answered())
				}
				if c.outcome == "" {
					if n := len(r.b.Pending()); n != 1 {
						t.Errorf("%d requests wait", n)
					}
					return
				}
				if a, err := p.Wait(t.Context()); err != nil || a.Outcome != c.outcome || !a.Decides || a.By.ID != "r" {
					t.Errorf("%+v, %v", a, err)
				}
			})
		})
	}
}

// A grant that is used up in the very moment does not allow: the rules are asked again, and a person
// if it never is certain.
func TestGrantsAreRedeemed(t *testing.T) {
	saved := hook.Verdict{Action: hook.ActionAllow, Rule: "r", Saved: []string{"g"}}
	for _, c := range []struct {
		name   string
		redeem func(n int) (bool, error)
		asked  int // how often the rules are
		allows bool
	}{
		{"it holds", func(int) (bool, error) { return true, nil }, 1, true},
		{"used up, then another holds", func(n int) (bool, error) { return n == 2, nil }, 2, true},
		{"always used up", func(int) (bool, error) { return false, nil }, 6, false},
		{"unknown", func(int) (bool, error) { return false, errors.New("away") }, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, redeemed := 0, 0
			inBubble(t, intake.Config{
				Rules:  func(*hook.Request, hook.JSON) hook.Verdict { asked++; return saved },
				Redeem: func(context.Context, string, []string) (bool, error) { redeemed++; return c.redeem(redeemed) },
			}, func(t *testing.T, r *rig) {
				p := r.pending(arrival(payload("PermissionRequest", "Bash")))
				defer p.Close()
				if p.Answered() != c.allows || asked != c.asked {
					t.Errorf("allowed: %v, and the rules were asked %d times", p.Answered(), asked)
				}
			})
		})
	}
}

// What cannot be taken is refused, and leaves nothing behind.
func TestRefusals(t *testing.T) {
	inBubble(t, intake.Config{MaxWaiting: 1, MaxRemote: 1}, func(t *testing.T, r *rig) {
		r.refuse = errors.New("no disk")
		var unpublished *intake.PublishError
		if p, err := r.in.Handle(t.Context(), arrival(payload("Stop", ""))); p != nil || !errors.As(err, &unpublished) || !errors.Is(err, r.refuse) {
			t.Errorf("unpublished: %v, %v", p, err)
		}
		r.refuse = nil
		first := r.pending(arrival(payload("PermissionRequest", "Bash")))
		if p, err := r.in.Handle(t.Context(), arrival(payload("PermissionRequest", "Bash"))); p != nil || !errors.Is(err, intake.ErrTooMany) {
			t.Errorf("one too many: %v, %v", p, err)
		}
		if _, err := first.Wait(over()); !errors.Is(err, context.Canceled) {
			t.Errorf("the hook that went away: %v", err)
		}
		first.Close()
		second := r.pending(arrival(payload("PermissionRequest", "Bash")))
		second.Close()
		r.b.Close()
		if p, err := r.in.Handle(t.Context(), arrival(payload("PermissionRequest", "Bash"))); p != nil || !errors.Is(err, broker.ErrStopping) {
			t.Errorf("while the broker stops: %v, %v", p, err)
		}
		if n := r.in.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

// The request of a permission prompt tool does not wait for that of a hook that was sent away.
func TestPromptDoesNotWaitForARefusedHook(t *testing.T) {
	large := strings.Replace(payload("PermissionRequest", "Bash"), "ls", strings.Repeat("x", hook.MaxRequest), 1)
	for _, c := range []struct {
		name, request string
		max           int // of hooks that may wait
	}{
		{"there is room", payload("PermissionRequest", "Bash"), 3},
		{"too many wait", payload("PermissionRequest", "Bash"), 1},
		{"too large", large, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, intake.Config{MaxWaiting: c.max, MaxRemote: c.max}, func(t *testing.T, r *rig) {
				other := r.pending(arrival(strings.Replace(payload("PermissionRequest", "Bash"), `"s"`, `"other"`, 1)))
				defer other.Close()
				call := strings.Replace(c.request, "{", `{"tool_use_id":"toolu_1",`, 1)
				if _, err := r.in.Handle(t.Context(), arrival(strings.Replace(call, "PermissionRequest", "PreToolUse", 1))); err != nil {
					t.Fatal(err)
				}
				if p, _ := r.in.Handle(t.Context(), arrival(c.request)); p != nil {
					defer p.Close()
				}
				prompt := arrival(call)
				prompt.Event.Source = hook.SourceMCP
				start := time.Now()
				if p, _ := r.in.Handle(t.Context(), prompt); p != nil {
					defer p.Close()
				}
				if waited := time.Since(start); waited != 0 { // the bubble's time
					t.Errorf("it waited for %v", waited)
				}
			})
		})
	}
}

// A request that is too large is handed back at once, and its payload is not kept.
func TestTooLarge(t *testing.T) {
	inBubble(t, intake.Config{}, func(t *testing.T, r *rig) {
		p := r.pending(arrival(strings.Replace(payload("PermissionRequest", "Bash"), "ls", strings.Repeat("x", hook.MaxRequest), 1)))
		if !p.Answered() || r.in.Waiting() != 0 {
			t.Error("it waits")
		}
		r.wants(p, hook.HandedBack, "")
		v, err := r.b.Get(t.Context(), p.ID())
		if err != nil || v.Outcome != hook.HandedBack || len(v.Raw)+len(v.ToolInput) > 0 || r.in.Waiting() != 0 {
			t.Errorf("%+v, %v", v.Outcome, err)
		}
	})
}

// A Request is never changed once somebody has seen it.
func TestRequestsDoNotChange(t *testing.T) {
	type seen struct {
		req  *hook.Request
		then hook.Request
	}
	var all []seen
	rules := func(req *hook.Request, _ hook.JSON) hook.Verdict {
		all = append(all, seen{req, *req})
		return hook.Verdict{Action: hook.ActionAsk, Rule: "r", Timeout: time.Minute, OnTimeout: hook.Deny}
	}
	inBubble(t, intake.Config{Rules: rules}, func(t *testing.T, r *rig) {
		pre := payload("PreToolUse", "Bash")
		if _, err := r.in.Handle(t.Context(), arrival(strings.Replace(pre, `"tool_name"`, `"tool_use_id":"t1","tool_name"`, 1))); err != nil {
			t.Fatal(err)
		}
		first := r.pending(arrival(payload("PermissionRequest", "Bash")))
		tool := arrival(strings.Replace(payload("PermissionRequest", "Bash"), `"tool_name"`, `"tool_use_id":"t1","tool_name"`, 1))
		tool.Event.Source = hook.SourceMCP
		second := r.pending(tool)
		if second.ID() != first.ID() {
			t.Error("they are two requests")
		}
		large := r.pending(arrival(strings.Replace(payload("PermissionRequest", "Write"), "ls", strings.Repeat("x", hook.MaxRequest), 1)))
		large.Close()
		time.Sleep(2 * time.Minute)
		for _, p := range []*intake.Pending{first, second} {
			a, err := p.Wait(t.Context())
			if err != nil || a.Outcome != hook.Expired || !bytes.Contains(a.Body, []byte(`"deny"`)) || !json.Valid(a.Body) {
				t.Errorf("answer %s %s, %v", a.Outcome, a.Body, err)
			}
			p.Close()
		}
	})
	if len(all) == 0 {
		t.Fatal("no rule saw anything")
	}
	for _, s := range all {
		if !reflect.DeepEqual(*s.req, s.then) {
			t.Errorf("was %+v\nis %+v", s.then, *s.req)
		}
	}
}
