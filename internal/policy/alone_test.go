package policy

import (
	"strings"
	"testing"
)

// TestLoadAlone: what a hook cannot find out by itself is refused, wherever in the file it stands; and only a plain allow is one.
func TestLoadAlone(t *testing.T) {
	const head = "version: 1\nuse: [builtin/readonly@1]\nallow: ['Bash(make *)', 'Bash(contained-only *)']\n"
	for text, want := range map[string]string{
		head: "",
		head + "rules:\n  - {id: r, action: allow, match: {command: {program: x}, time: {days: mon-fri, tz: UTC}}}\n":    "",
		head + "rules:\n  - {id: r, action: allow, match: {command: {program: x}, time: {days: mon-fri}}}\n":             "say which",
		head + "rules:\n  - {id: r, action: deny, match: {command: {program: x}, session: {label: y}}}\n":                "session.label",
		head + "rules:\n  - {id: r, action: allow, shadow: true, match: {command: {program: x}, session: {label: y}}}\n": "session.label",
		head + "allowing: x\n":                   "unknown key",
		"version: 1\nuse: [builtin/nothing@1]\n": "no pack",
	} {
		_, err := LoadAlone([]byte(text), LoadOptions{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s, err := LoadAlone([]byte(head+"deny: ['Bash(make evil)']\nrules:\n  - {id: c, action: allow, contain: read, match: {command: {program: prog, args: [x]}}}\n"), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]error{"make x": nil, "ls": nil, "make evil": errAloneAsks, "rm x": errAloneAsks, "prog x": errAloneInside, "make x; rm y": errAloneAsks} {
		c := Call{Agent: "claude", Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Cwd: "/w", Project: "/w", Home: "/home/u", Contain: true}
		if got := s.Alone(c); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
		c.Uninspectable = true
		if s.Alone(c) == nil {
			t.Errorf("%s: allowed, though it reads two ways", command)
		}
	}
}
