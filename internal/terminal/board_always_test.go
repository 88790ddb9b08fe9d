package terminal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"assent/internal/api"
	"assent/internal/hook"
)

func TestBoardAlways(t *testing.T) {
	x := risky("x", hook.Normal, "make test")
	offers := []hook.Proposal{{Digest: "d1", Sentence: "Run make test"}, {Digest: "d2", Sentence: "Run make"}}
	var kept []string
	var fails error
	with := func(s *sitting) {
		kept, fails = nil, nil
		s.b.cfg.Always = AlwaysConfig{
			Proposals: func(context.Context, string) (hook.Proposals, error) {
				return hook.Proposals{Proposals: offers, Reason: "it is no program"}, nil
			},
			Keep: func(_ context.Context, r *api.Request, p *hook.Proposal, b Bound) (string, error) {
				kept = append(kept, fmt.Sprint(r.ID, " ", p.Digest, " ", b))
				return "3 of 3 left", fails
			},
		}
		s.wait(armAfter)
		s.keys("A")
		s.wait(0)
	}
	sit(t, []*api.Request{x}, func(s *sitting) {
		with(s)
		s.sees("1. Run make test", "2. Run make", "1 15m")
		s.types("3 1h")
		s.keys("enter")
		s.sees("there are 2 rules")
		s.types("2 3x")
		s.keys("enter")
		s.wait(0)
		s.answered("allow x")
		s.sees("Saved, 3 of 3 left.")
		if len(kept) != 1 || kept[0] != "x d2 {0s 3}" {
			t.Errorf("kept %q", kept)
		}
	})
	// What could not be saved is not allowed.
	sit(t, []*api.Request{x}, func(s *sitting) {
		with(s)
		fails = errors.New("full")
		s.types("1 15m")
		s.keys("enter")
		s.wait(0)
		s.answered()
		s.sees("Nothing was saved or allowed: full", "command: make test")
	})
	// Esc leaves it as it was, and a request that is over takes its rules along.
	sit(t, []*api.Request{x}, func(s *sitting) {
		with(s)
		s.keys("esc")
		s.sees("command: make test")
		s.answered()
	})
	sit(t, []*api.Request{x, risky("y", hook.Calm, "ls")}, func(s *sitting) {
		with(s)
		s.ends(x, hook.Denied)
		s.sees("command: ls")
		s.types("1 always")
		s.keys("enter")
		s.answered()
	})
	// Danger is answered once at a time.
	sit(t, []*api.Request{risky("z", hook.Danger, "rm -rf /")}, func(s *sitting) {
		with(s)
		s.sees("What is dangerous is answered once at a time here")
	})
	none := offers
	offers = nil
	sit(t, []*api.Request{x}, func(s *sitting) {
		with(s)
		s.sees("No rule can be made of this: it is no program")
	})
	offers = none
}

func TestParseKeep(t *testing.T) {
	for text, want := range map[string]string{
		"1 15m": "1 {15m0s 0}", " 2  3x ": "2 {0s 3}", "1 always": "1 {0s 0}",
		"": "", "1": "", "0 15m": "", "1 0x": "", "1 101x": "", "1 -5m": "", "1 9999h": "", "1 x": "", "1 always now": "", "x 15m": "",
	} {
		n, bound, err := parseKeep(text)
		got := fmt.Sprint(n, " ", bound)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
