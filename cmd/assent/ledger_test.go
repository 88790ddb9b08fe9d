package main

import (
	"errors"
	"io"
	"slices"
	"testing"
)

func TestOtherName(t *testing.T) {
	if got := commandLine([]string{"/usr/bin/hookd-query", "--since", "1h"}); !slices.Equal(got, []string{"ledger", "query", "--since", "1h"}) {
		t.Errorf("%q", got)
	}
	if got := commandLine([]string{"assent", "pending"}); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("%q", got)
	}
}

// A script whose variable is not set must not get everything, and a span without any time in it is
// a mistake, not an empty answer.
func TestSpanThatIsNone(t *testing.T) {
	t.Chdir(t.TempDir()) // in no work tree: what passes the flags ends there
	for _, tt := range []struct {
		args  []string
		usage bool
	}{
		{[]string{"--since", ""}, true},
		{[]string{"--until", ""}, true},
		{[]string{"--since", "1h", "--until", "2h"}, true},
		{[]string{"--since", "2026-02-06", "--until", "2026-02-06"}, true},
		{[]string{"--since", "2h", "--until", "1h"}, false},
		{[]string{"--until", "1h"}, false},
		{nil, false},
	} {
		for _, command := range []string{"query", "stats"} {
			c := (&app{}).ledgerCmd()
			c.SetArgs(append([]string{command}, tt.args...))
			c.SetOut(io.Discard)
			c.SetErr(io.Discard)
			var usage *exitError
			err := c.Execute()
			if is := errors.As(err, &usage) && usage.code == exitUsage; err == nil || is != tt.usage {
				t.Errorf("%s %q: %v", command, tt.args, err)
			}
		}
	}
}
