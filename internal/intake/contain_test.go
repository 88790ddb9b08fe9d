package intake_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/intake"
)

// What holds only contained is answered with another input, once for a command of a session; the record has
// both, and says that nobody edited it.
func TestContained(t *testing.T) {
	const line = `{"command":"'/c' read -- 'ls'"}`
	var first []string
	var known error
	cfg := intake.Config{
		Rules: func(req *hook.Request, _ hook.JSON) hook.Verdict {
			if !req.Contain {
				return hook.Verdict{Action: hook.ActionAsk}
			}
			return hook.Verdict{Action: hook.ActionAllow, Rule: "r", Contain: hook.ContainRead, Programs: []string{"ls"}}
		},
		Contain: intake.Contain{
			Rewrite: func(_ *hook.Request, v *hook.Verdict) (hook.JSON, string) {
				if len(v.Programs) != 1 || v.Programs[0] != "ls" {
					return nil, "of another program"
				}
				return hook.JSON(line), ""
			},
			First: func(_ context.Context, session, command, id string) (bool, error) {
				first = append(first, session+" "+command)
				return len(first) == 1, known
			},
		},
	}
	can := func() intake.Arrival {
		a := arrival(payload("PermissionRequest", "Bash"))
		a.Event.Contain = hook.MinContain
		return a
	}
	inBubble(t, cfg, func(t *testing.T, r *rig) {
		p := r.pending(can())
		id := p.ID()
		r.wants(p, hook.Allowed, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":`+line+`}}}`)
		v, err := r.b.Get(t.Context(), id)
		if err != nil || v.Decision == nil || v.Decision.Contain != hook.ContainRead || string(v.Decision.UpdatedInput) != line || string(v.Request.ToolInput) != `{"command":"ls"}` ||
			v.Verdict == nil || v.Verdict.Contain != hook.ContainRead || v.DecidedBy == nil || v.DecidedBy.Kind != hook.KindRule {
			t.Errorf("%+v, %v", v, err)
		}

		// The same again: a person.
		p = r.pending(can())
		defer p.Close()
		if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.State != broker.Pending || !strings.Contains(v.Verdict.Reason, "already") {
			t.Errorf("the same again: %+v, %v", v, err)
		}
		if len(first) != 2 || first[0] != "s ls" {
			t.Errorf("asked for %q", first)
		}
	})

	asks := func(name string, change func(*intake.Config, *intake.Arrival)) {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			first, known = nil, nil
			a := can()
			change(&cfg, &a)
			inBubble(t, cfg, func(t *testing.T, r *rig) {
				a.At, a.Event.Time = time.Now(), time.Now()
				p := r.pending(a)
				defer p.Close()
				if p.Answered() || len(r.b.Pending()) != 1 {
					t.Error("nobody is asked")
				}
			})
		})
	}
	asks("a hook that does not say", func(_ *intake.Config, a *intake.Arrival) { a.Event.Contain = 0 })
	asks("a kernel that is too old", func(_ *intake.Config, a *intake.Arrival) { a.Event.Contain = hook.MinContain - 1 })
	asks("a permission prompt tool", func(_ *intake.Config, a *intake.Arrival) { a.Event.Source = hook.SourceMCP })
	asks("a broker that cannot", func(c *intake.Config, _ *intake.Arrival) { c.Contain = intake.Contain{} })
	asks("a command that cannot", func(c *intake.Config, _ *intake.Arrival) {
		c.Contain.Rewrite = func(*hook.Request, *hook.Verdict) (hook.JSON, string) { return nil, "no" }
	})
	asks("no input to run", func(c *intake.Config, _ *intake.Arrival) {
		c.Contain.Rewrite = func(*hook.Request, *hook.Verdict) (hook.JSON, string) { return nil, "" }
	})
	asks("nobody knows", func(*intake.Config, *intake.Arrival) { known = errors.New("down") })
	asks("everything is stopped", func(c *intake.Config, _ *intake.Arrival) {
		c.EnterAllow = func(context.Context) (func(), bool) { return nil, false }
	})
}

// A later event with the line proves that it ran; one with the command as it was asked for, that the
// agent's terminal was quicker.
func TestContainedProof(t *testing.T) {
	const line = `{"command":"'/c' read -- 'ls'"}`
	for input, want := range map[string]string{line: broker.Confirmed, `{"command":"ls"}`: broker.Overruled} {
		cfg := intake.Config{
			Rules: func(*hook.Request, hook.JSON) hook.Verdict {
				return hook.Verdict{Action: hook.ActionAllow, Rule: "r", Contain: hook.ContainRead}
			},
			Contain: intake.Contain{
				Rewrite: func(*hook.Request, *hook.Verdict) (hook.JSON, string) { return hook.JSON(line), "" },
				First:   func(context.Context, string, string, string) (bool, error) { return true, nil },
			},
		}
		inBubble(t, cfg, func(t *testing.T, r *rig) {
			a := arrival(payload("PermissionRequest", "Bash"))
			a.Event.Contain = hook.MinContain
			p := r.pending(a)
			if _, err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Delivered()
			synctest.Wait()
			raw := strings.Replace(payload("PostToolUse", "Bash"), `{"command":"ls"}`, input, 1)
			e := arrival(raw).Event
			e.Seq, e.Type = 5, hook.EventPostToolUse
			decoded, err := claude.Agent{}.Decode(e.Type, e.Raw)
			if err != nil {
				t.Fatal(err)
			}
			r.b.Observe(e, decoded)
			time.Sleep(time.Second)
			synctest.Wait()
			if v, err := r.b.Get(t.Context(), p.ID()); err != nil || v.Delivery != want {
				t.Errorf("%s: %s, %v, want %s", input, v.Delivery, err, want)
			}
			p.Close()
		})
	}
}
