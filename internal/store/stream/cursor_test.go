package stream

import (
	"math"
	"testing"
)

func TestCursor(t *testing.T) {
	s := open(t, Config{})
	ctx := t.Context()
	c := s.Cursor("a.cursor")
	if seq, ok, err := c.Load(ctx); seq != 0 || ok || err != nil {
		t.Errorf("before the first save: %d, %t, %v", seq, ok, err)
	}
	for _, want := range []uint64{7, 0, math.MaxUint64} {
		if err := c.Save(ctx, want); err != nil {
			t.Fatal(err)
		}
		if seq, ok, err := s.Cursor("a.cursor").Load(ctx); seq != want || !ok || err != nil {
			t.Errorf("saved %d: %d, %t, %v", want, seq, ok, err)
		}
	}
	if _, ok, err := s.Cursor("a.other").Load(ctx); ok || err != nil {
		t.Errorf("another one: %t, %v", ok, err)
	}
	for _, text := range []string{"", "-1", "x", "1 "} {
		if _, err := s.Put(ctx, "a.cursor", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if seq, ok, err := c.Load(ctx); ok || err == nil {
			t.Errorf("%q is taken for %d", text, seq)
		}
	}
}
