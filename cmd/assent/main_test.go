package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestEveryCommandExplainsItself walks all commands: each stands in a group, says more than its line in the
// list of commands, shows an example that calls it, and has no line that is overlong or broken off.
func TestEveryCommandExplainsItself(t *testing.T) {
	root := (&app{}).root()
	root.InitDefaultHelpCmd()
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		seen++
		path := c.CommandPath()
		if c.Short == "" || !strings.Contains(c.Example, "assent "+strings.TrimPrefix(path, "assent ")) && c != root {
			t.Errorf("%s: short %q, example %q", path, c.Short, c.Example)
		}
		if c.Long == "" || c.Long == c.Short {
			t.Errorf("%s: long %q", path, c.Long)
		}
		for _, line := range unevenLines(c.Long) {
			t.Errorf("%s: uneven line: %s", path, line)
		}
		if c.Parent() == root && !root.ContainsGroup(c.GroupID) {
			t.Errorf("%s stands in no group", path)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 90 {
		t.Errorf("only %d commands", seen)
	}
}

// unevenLines are the lines of text that are too long, or break off before the end of a paragraph.
// Indented lines are tables. A text of one line is wrapped by the terminal.
func unevenLines(text string) (uneven []string) {
	const narrowest, widest = 60, 110 // characters
	flows := func(line string) bool { return line != "" && line[0] != ' ' }
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		n := utf8.RuneCountInString(line)
		continued := i+1 < len(lines) && flows(line) && flows(lines[i+1])
		if continued && n < narrowest || flows(line) && len(lines) > 1 && n > widest {
			uneven = append(uneven, line)
		}
	}
	return uneven
}
