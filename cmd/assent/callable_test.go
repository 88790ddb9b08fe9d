package main

import (
	"slices"
	"strings"
	"testing"
)

func TestOwnCommands(t *testing.T) {
	var have []string
	for _, c := range (&app{}).root().Commands() {
		have = append(have, c.Name())
	}
	slices.Sort(have)
	if want := strings.Join(have, "|"); commandNames != want {
		t.Errorf("commandNames is\n%s\nwant\n%s", commandNames, want)
	}
}

func TestCallable(t *testing.T) {
	name := typed() // of the test's program
	for text, want := range map[string]string{
		"run assent up again, or assent install": "run " + name + " up again, or " + name + " install",
		"(assent audit export)":                  "(" + name + " audit export)",
		"assent serve":                           name + " serve",
		"/usr/bin/assent serve, bin/assent up":   "/usr/bin/assent serve, bin/assent up",
		"assent asks you; assent upends nothing": "assent asks you; assent upends nothing",
	} {
		if got := callable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHelpFits(t *testing.T) {
	for line, want := range map[string]int{
		"  1  only what it asks about":        5,
		"      --url string         a broker": 27,
		"  -h, --help   help for x":           15,
		"    an example":                      4,
		"a sentence":                          0,
	} {
		if got := hanging(line); got != want {
			t.Errorf("%q goes on at %d, want %d", line, got, want)
		}
	}
	if got := paragraphs("a\nb\n\nc\n  d\ne"); got != "a b\n\nc\n  d\ne" {
		t.Errorf("%q", got)
	}
}
