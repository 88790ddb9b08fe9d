package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// Beside its answer a hook gets how the request ended and who decided, for a report.
func TestAnswersSayWhoDecided(t *testing.T) {
	withRules(t, func(t *testing.T, g *rig) {
		check := func(r reply, outcome, kind, name, file string) {
			t.Helper()
			h := func(name string) string { return hook.UnescapeHeader(r.header.Get(name)) }
			if h(hook.HeaderOutcome) != outcome || h(hook.HeaderByKind) != kind || h(hook.HeaderByName) != name || h(hook.HeaderByFile) != file {
				t.Errorf("headers %v", r.header)
			}
		}
		check(<-g.raise(call{unix: true, body: bash("fine")}).reply, "allowed", "rule", "fine", "/rules.yaml")
		w := g.raise(call{unix: true, body: bash("x")})
		g.decide(w.id, `{"behavior":"deny","inputSha256":"`+g.get(w.id).InputSHA256+`"}`)
		r := <-w.reply
		if by := g.get(w.id).DecidedBy; by == nil {
			t.Error("nobody decided")
		} else {
			check(r, "denied", by.Kind, by.Name, "")
		}
		check(<-g.raise(call{unix: true, body: bash(strings.Repeat("x", hook.MaxRequest))}).reply, "handed_back", "", "", "")
	})
}

// The words of a denial name the time that the hook, or a rule, gave.
func TestExpiredDenialSaysHowLong(t *testing.T) {
	for command, want := range map[string]string{"x": "in 300 seconds", "hurry": "in 60 seconds"} {
		withRules(t, func(t *testing.T, g *rig) {
			w := g.raise(call{unix: true, body: bash(command), header: map[string]string{
				hook.HeaderRequestID: uuid.NewString(), hook.HeaderRemaining: "300000", hook.HeaderOnTimeout: "deny"}})
			start := time.Now()
			r := <-w.reply
			if !strings.Contains(r.body, want) || !strings.Contains(r.body, "go on with what needs no permission") || r.header.Get(hook.HeaderOutcome) != "expired" {
				t.Errorf("after %v: %s, %v", time.Since(start), r.body, r.header)
			}
		})
	}
}
