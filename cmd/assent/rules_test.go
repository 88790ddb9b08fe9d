package main

import (
	"testing"
	"time"
)

func TestLongDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "90m": 90 * time.Minute, "24h": 24 * time.Hour} {
		if got, err := longDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1h", "0d", "d", "1w", "99999d", "-7d"} {
		if got, err := longDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestShellWords(t *testing.T) {
	if got := shellWords([]string{"git", "commit", "-m", "it's $x", ""}); got != `git commit -m 'it'\''s $x' ''` {
		t.Error(got)
	}
}
