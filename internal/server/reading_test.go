package server_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/hook"
	reader "assent/internal/policy/files"
	"assent/internal/server"
)

// TestViewSaysHowACommandIsRead: the list, the request and what watchers get agree with the
// schema, with units of every kind.
func TestViewSaysHowACommandIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Views: server.Views{Reading: reader.Reading("/home/dev")}})
		defer g.stop()
		f := g.follow("")
		f.next()
		w := g.raise(call{unix: true, body: bash(`cd /tmp && X=1 timeout 5 sort < a > "b$c"; sudo sh -c 'rm -rf x' $(ls)`)})
		f.next()
		live := f.state[w.id]
		if len(live.Units) < 6 || len(live.Doubts) == 0 || live.Units[0].Program != "cd" || live.Units[0].Text != "cd /tmp" {
			t.Errorf("units %+v, doubts %+v", live.Units, live.Doubts)
		}
		if one := g.get(w.id); len(one.Units) != len(live.Units) {
			t.Errorf("the request has %d units, the live message %d", len(one.Units), len(live.Units))
		}
		list := validList(t, "PermissionRequest", g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}).body)
		if len(list) != 1 || len(decode[requestDoc](t, string(list[0])).Units) != len(live.Units) {
			t.Errorf("the list says %s", list)
		}
		w.cancel()
	})
}

// TestViewSaysTheEffectsOfWhatWasAllowed: what was edited away has had no effect.
func TestViewSaysTheEffectsOfWhatWasAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Views: server.Views{Effects: func(r *hook.Request) *hook.Effects {
			return &hook.Effects{Risk: hook.Danger, Sentence: string(r.ToolInput), Effects: []hook.Effect{}, Marks: []hook.RiskMark{{Start: 0, End: 1, Risk: hook.Danger}}}
		}}})
		defer g.stop()
		w := g.raise(call{unix: true, body: bash("git commit && git push")})
		asked := g.get(w.id)
		if !strings.Contains(asked.Sentence, "git push") || len(asked.Marks) != 1 {
			t.Errorf("as it waits: %q, %v", asked.Sentence, asked.Marks)
		}
		g.decide(w.id, `{"behavior":"allow","inputSha256":"`+asked.InputSHA256+`","updatedInput":{"command":"git commit"}}`)
		synctest.Wait()
		if over := g.get(w.id); over.Sentence != `{"command":"git commit"}` || len(over.Marks) != 0 {
			t.Errorf("as it ran: %q, %v", over.Sentence, over.Marks)
		}
		w.cancel()
	})
}

// TestViewSaysHowOftenItWasAllowed: of a request that waits, and only where a habit does no harm.
func TestViewSaysHowOftenItWasAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		risk := hook.Calm
		g := newRig(t, server.Config{Views: server.Views{
			Effects: func(*hook.Request) *hook.Effects {
				return &hook.Effects{Risk: risk, Sentence: "s", Effects: []hook.Effect{}}
			},
			Allowed: func(*hook.Request) int { return 14 },
		}})
		defer g.stop()
		for _, c := range []struct {
			risk hook.Risk
			want int
		}{{hook.Calm, 14}, {hook.Normal, 14}, {hook.Attention, 0}, {hook.Danger, 0}} {
			risk = c.risk
			w := g.raise(call{unix: true, body: bash("make " + string(c.risk))})
			if got := g.get(w.id).AllowedHere; got != c.want {
				t.Errorf("%s: %d, want %d", c.risk, got, c.want)
			}
			w.cancel()
			synctest.Wait()
			if got := g.get(w.id).AllowedHere; got != 0 {
				t.Errorf("%s, over: %d", c.risk, got)
			}
		}
	})
}
