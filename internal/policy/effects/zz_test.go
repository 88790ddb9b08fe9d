package effects_test

import (
	"bufio"
	"os"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy/effects"
)

func TestZZ(t *testing.T) {
	f, err := os.Open(os.Getenv("ZZ"))
	if err != nil {
		t.Skip()
	}
	of := effects.Func("/home/dev")
	s := bufio.NewScanner(f)
	for s.Scan() {
		l := s.Text()
		if l == "" || l[0] == '#' {
			continue
		}
		e := of(bash(t, l, "/srv/shop"))
		if e.Risk.Level() < hook.Attention.Level() || os.Getenv("ALL") != "" {
			t.Logf("%-9s %s\n      %s | %s", e.Risk, l, e.Sentence, e.RiskReason)
		}
	}
}
