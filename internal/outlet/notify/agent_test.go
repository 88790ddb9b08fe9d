package notify_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/outlet/notify"
)

// An agent is named once another than Claude Code was heard of: before that it would say nothing.
func TestAgentsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.AgentTitle = strings.ToTitle
		r.start()
		defer r.end()
		r.device("phone", func(s *notify.Settings) { s.Failed = true })
		of := func(agent string) string {
			r.ask(func(q *hook.Request) { q.Agent = agent })
			pass(time.Minute)
			all := r.got()
			return all[len(all)-1].Agent
		}
		for _, x := range [][2]string{{"claude", ""}, {"codex", "CODEX"}, {"claude", "CLAUDE"}} {
			if got := of(x[0]); got != x[1] {
				t.Errorf("a request of %s is told of as %q's, want %q", x[0], got, x[1])
			}
		}
		r.push.Observe(hook.Event{Type: hook.EventStopFailure, Agent: "copilot", Time: time.Now()}, hook.Payload{SessionID: "s1"})
		pass(time.Minute)
		if all := r.got(); all[len(all)-1].Agent != "COPILOT" || all[len(all)-1].Type != "failed" {
			t.Errorf("%+v", all[len(all)-1])
		}
	})
}

// What an agent says of a turn that goes on makes it no shorter.
func TestATurnGoesOn(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.Finished = true })
		says := func(kind string, more bool) {
			r.push.Observe(hook.Event{Type: kind, Agent: "qwen", Time: time.Now()}, hook.Payload{SessionID: "s1", Continues: more})
			synctest.Wait()
		}
		says(hook.EventUserPromptSubmit, false)
		pass(time.Minute)
		says(hook.EventUserPromptSubmit, true)
		pass(time.Second)
		says(hook.EventStop, false)
		pass(time.Minute)
		r.want("finished")
	})
}
