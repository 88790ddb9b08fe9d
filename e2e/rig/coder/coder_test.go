package coder

import "testing"

func TestLinesBelow(t *testing.T) {
	for _, c := range []struct {
		name, screen string
		want         int
	}{
		{"none", "a\nb\n", 3},
		{"one", "run it\ndone\n\n", 3},
		{"the last of two", "run it\ndone\n> run it\n", 1},
		{"the oldest is out of sight", "done\nrun it\ndone\n> run it", 0},
	} {
		if got := linesBelow(c.screen, "run it"); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
