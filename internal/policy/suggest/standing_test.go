package suggest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stand is a Standing over a past that the test sets, and how often it was read.
func (d *desk) stand(past *[]Settled) (*Standing, *int) {
	reads := new(int)
	return NewStanding(d.book, func(_ context.Context, visit func(Settled) bool) error {
		*reads++
		for _, s := range *past {
			if !visit(s) {
				break
			}
		}
		return nil
	}), reads
}

func TestStandingLooksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, "")
		past := d.settle("allowed make x", "allowed make x")
		s, reads := d.stand(&past)
		look := func(want int) {
			t.Helper()
			f, err := s.Suggest(t.Context())
			if err != nil || len(f.Rules) != 1 || f.Rules[0].Newest.ID != "r0" || *reads != want {
				t.Fatalf("%+v, %v; looked %d times, want %d", f, err, *reads, want)
			}
		}
		look(1)
		look(1)
		s.RulesChanged()
		look(2)
		time.Sleep(standFor)
		look(3)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.RulesChanged()
		if _, err := s.Suggest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("for who left: %v", err)
		}
		look(*reads + 1)
	})
}

func TestStandingRefuses(t *testing.T) {
	d := newDesk(t, "")
	past := d.settle("allowed go test ./a", "allowed go test ./b")
	s, _ := d.stand(&past)
	f, err := s.Suggest(t.Context())
	if err != nil || len(f.Rules) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	req := past[0].Request
	if got, err := s.Find(t.Context(), req, f.Rules[0].Proposal); err != nil || got.RequestID != req.ID {
		t.Errorf("found %+v, %v", got, err)
	}
	past = append(d.settle("edited go test ./c"), past...)
	if _, err := s.Find(t.Context(), req, f.Rules[0].Proposal); !errors.Is(err, ErrRefused) {
		t.Errorf("after a like one was edited: %v", err)
	}
	if _, err := s.Find(t.Context(), req, "x"); !errors.Is(err, ErrGone) {
		t.Errorf("of no proposal: %v", err)
	}
}
