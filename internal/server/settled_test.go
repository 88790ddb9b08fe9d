package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

func TestDecisions(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		if got := validList(t, "Settled", g.view("/v1/decisions", 200).body); len(got) != 0 {
			t.Errorf("%s", got)
		}
		past.settled = []hook.Settled{
			{ID: "a", SessionID: "s", ToolName: "Bash", Summary: "make", CreatedAt: clock(), SettledAt: clock(), Outcome: hook.Allowed, By: &hook.Decider{Kind: hook.KindRule, Name: `rule "r"`}},
			{ID: "b", SessionID: "s", Agent: "codex", ToolName: "Edit", CreatedAt: clock(), SettledAt: clock(), Outcome: hook.Expired, Reason: hook.ReasonDeadline},
		}
		if got := validList(t, "Settled", g.view("/v1/decisions?after=a&limit=7&outcome=expired&kind=rule&by=x%20y&repo=%2Fsrc&tool=Bash&session=s&q=two%20words&since=2026-11-21T15:04:05Z&until=2026-11-22T15:04:05%2B01:00", 200).body); len(got) != 2 || !strings.Contains(string(got[1]), `"agent":"codex","agentTitle":"Codex"`) {
			t.Errorf("%s", got)
		}
		want := hook.SettledQuery{
			Session: "s", Kind: "rule", By: "x y", Repo: "/src", Tool: "Bash", Outcome: hook.Expired, Words: "two words", After: "a", Limit: 7,
			Since: time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC), Until: past.asked.Until,
		}
		if past.asked != want || !past.asked.Until.Equal(time.Date(2026, 11, 22, 14, 4, 5, 0, time.UTC)) {
			t.Errorf("asked for %+v", past.asked)
		}
		for _, query := range []string{"outcome=maybe", "since=yesterday", "until=1", "limit=0", "limit=x", "after=nothing", "q=" + strings.Repeat("x", 2000), "repo=" + strings.Repeat("x", 2000)} {
			g.view("/v1/decisions?"+query, 400)
		}
	})
}

// TestRecordedMessages: the list of messages that the record has is whole, or it is an error.
func TestRecordedMessages(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		if got := validList(t, "RecordedMessage", g.view("/v1/audit/messages", 200).body); len(got) != 0 {
			t.Errorf("%s", got)
		}
		past.sent = []hook.RecordedMessage{{ID: "msg-b", SessionID: "s", SentAt: clock()}, {ID: "msg-a", SessionID: "s", SentAt: clock()}}
		if got := validList(t, "RecordedMessage", g.view("/v1/audit/messages?session=s&since=2026-11-21T15:04:05Z&limit=7", 200).body); len(got) != 2 {
			t.Errorf("%s", got)
		}
		if want := (hook.MessageQuery{Session: "s", Since: time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC), Limit: 7}); past.askedFor != want {
			t.Errorf("asked for %+v", past.askedFor)
		}
		for _, query := range []string{"since=yesterday", "limit=0", "after=msg-c", "session=" + strings.Repeat("x", 2000)} {
			g.view("/v1/audit/messages?"+query, 400)
		}
		past.behind = errors.New("3 events behind")
		g.view("/v1/audit/messages", 503)
		if g.view("/v1/audit/messages?after=msg-b", 200); past.askedFor.After != "msg-b" {
			t.Errorf("asked for %+v", past.askedFor)
		}
	})
}

func TestStats(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		body := g.view("/v1/stats?step=hour&zone=Europe%2FBerlin", 200).body
		valid(t, "Stats", body)
		if s := decode[hook.Stats](t, body); s.Step != "hour" || s.Zone != "Europe/Berlin" {
			t.Errorf("%s", body)
		}
		valid(t, "Stats", g.view("/v1/stats", 200).body)
		for _, query := range []string{"step=minute", "zone=Nowhere%2FLand", "zone=..%2F..%2Fetc%2Fpasswd", "since=x", "since=2999-01-01T00:00:00Z"} {
			if r := g.view("/v1/stats?"+query, http.StatusBadRequest); strings.Contains(r.body, "zoneinfo") {
				t.Errorf("%s", r.body)
			}
		}
	})
}
