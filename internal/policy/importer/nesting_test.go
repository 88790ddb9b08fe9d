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
