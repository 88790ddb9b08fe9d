package terminal

import (
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// A deadline may be another day's.
func TestClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 15, 0, 8, 0, time.Local)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(time.Minute), "15:01:08"},
		{now.AddDate(0, 0, 1), "2026-11-23 15:00:08"},
		{now.AddDate(0, 0, -1), "2026-11-21 15:00:08"},
		{now.AddDate(0, 1, 0), "2026-12-22 15:00:08"},
		{now.AddDate(1, 0, 0).UTC(), "2027-11-22 15:00:08"},
	} {
		if got := Clock(c.at, now); got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}

func TestOverwriteWords(t *testing.T) {
	one, many := int64(1), int64(120)
	for want, o := range map[string]*hook.Overwrites{
		"Replaces the file, if there is one: assent cannot see it from here.": nil,
		"A new file.":                          {},
		"Replaces the file, 7 bytes before.":   {Exists: true, Bytes: 7},
		"Replaces the file, 1 line before.":    {Exists: true, Lines: &one},
		"Replaces the file, 120 lines before.": {Exists: true, Lines: &many},
	} {
		if got := OverwriteWords(o); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

// Agents are named once another than Claude Code asks.
func TestAgentNames(t *testing.T) {
	of := func(agent, title string) *api.Request {
		return &api.Request{Request: hook.Request{Agent: agent, CWD: "/srv/shop"}, AgentTitle: title}
	}
	mine, codex := of("claude", "Claude"), of("codex", "Codex")
	if OtherAgents([]*api.Request{mine, of("", "")}) || !OtherAgents([]*api.Request{mine, codex}) {
		t.Error("who is another agent")
	}
	tree := &api.Request{Request: hook.Request{CWD: "/srv/shop/.claude/worktrees/assent-01234567"}} // of a host's session
	for _, x := range [][2]string{
		{Project(tree), "shop"}, {(&Session{api.Session{CWD: tree.CWD}}).Name(), "shop"}, {(&Session{api.Session{CWD: tree.CWD}}).Where(), "shop"}, {Project(mine), "shop"}, {Project(codex), "Codex · shop"}, {ProjectOf(mine, true), "Claude · shop"}, {ProjectOf(codex, false), "shop"}, {ProjectOf(of("new", ""), true), "shop"},
	} {
		if x[0] != x[1] {
			t.Errorf("%q, want %q", x[0], x[1])
		}
	}
}

// Who tries assent out must see that a sample runs nothing.
func TestMarked(t *testing.T) {
	r := request("ls")
	if got := Marked(r); got != "Writes x" {
		t.Errorf("%q", got)
	}
	r.SessionID = hook.SampleSession + "1"
	if got := Marked(r); got != "Sample: Writes x" {
		t.Errorf("%q", got)
	}
}
