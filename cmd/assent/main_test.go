package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command says what it is and shows how it is used, and stands in a group.
func TestEveryCommandExplainsItself(t *testing.T) {
	root := (&app{}).root()
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		seen++
		path := c.CommandPath()
		if c.Short == "" || !strings.Contains(c.Example, "assent "+strings.TrimPrefix(path, "assent ")) && c != root {
			t.Errorf("%s: short %q, example %q", path, c.Short, c.Example)
		}
		if c.Parent() == root && !root.ContainsGroup(c.GroupID) {
			t.Errorf("%s stands in no group", path)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
