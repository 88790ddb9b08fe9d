package importer

import (
	"strings"
	"testing"
)

// The parser descends by nesting, and a stack that is used up ends the program.
func TestCodexRefusesDeepNesting(t *testing.T) {
	m := &Import{}
	err := m.codexRules("x.rules", []byte("x = "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"\n"))
	if err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Errorf("got %v", err)
	}
}

// What is not understood may forbid what the rules beside it allow.
func TestCodexAllowsNothingBesideUnread(t *testing.T) {
	m := &Import{}
	text := "prefix_rule(pattern=[\"git\"])\nfor w in [\"push\"]:\n    prefix_rule(pattern=[\"git\", w], decision=\"forbidden\")\n"
	if err := m.codexRules("x.rules", []byte(text)); err != nil {
		t.Fatal(err)
	}
	m.allowNothingBesideUnread()
	if m.Count(Left) != 2 {
		t.Errorf("got %+v", m.Entries)
	}
}
