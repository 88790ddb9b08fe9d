package server

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The largest body gives way to a small one, and what has ended counts no more.
func TestLargestArrivalGivesWay(t *testing.T) {
	a := arrivals{max: 100}
	var cut []string
	begin := func(name string) *arrival { return a.begin(func() { cut = append(cut, name) }) }
	large, middle, small := begin("large"), begin("middle"), begin("small")
	for _, step := range []struct {
		x *arrival
		n int
	}{{large, 60}, {middle, 40}, {small, 1}} {
		if err := step.x.grow(step.n); err != nil {
			t.Fatal(err)
		}
	}
	if len(cut) != 1 || cut[0] != "large" || a.bytes != 41 {
		t.Errorf("%v gave way, %d bytes are left", cut, a.bytes)
	}
	if err := large.grow(1); !errors.Is(err, errCrowd) {
		t.Errorf("what gave way goes on: %v", err)
	}
	if err := small.grow(99); !errors.Is(err, errCrowd) || len(cut) != 1 {
		t.Errorf("the largest by itself: %v, %v", err, cut)
	}
	if !large.end() || middle.end() || !small.end() || a.bytes != 0 || len(a.open) != 0 {
		t.Errorf("%d bytes of %d bodies are left", a.bytes, len(a.open))
	}
}

// A body is what came, however it came, and never more than came is held.
func TestArrivalReads(t *testing.T) {
	for _, size := range []int{0, 1, firstPart - 1, firstPart, firstPart + 1, 100_000, 3 * largePart, 5<<20 + 7} {
		text := strings.Repeat("abcdefg", size/7+1)[:size]
		for name, length := range map[string]int64{"announced": int64(size), "not announced": -1} {
			for how, r := range map[string]io.Reader{"at once": strings.NewReader(text), "in halves": iotest.HalfReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text))} {
				a := arrivals{max: 1 << 30}
				x := a.begin(func() {})
				got, err := x.read(r, length)
				if err != nil || string(got) != text {
					t.Errorf("%d bytes, %s, %s: %d bytes, %v", size, name, how, len(got), err)
				}
			}
		}
		if size > 0 {
			a := arrivals{max: 1 << 30}
			x := a.begin(func() {})
			if _, err := x.read(strings.NewReader(text), 1<<40); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d of 2^40 bytes: %v", size, err)
			}
			if held := a.bytes; held > int64(3*size+2*firstPart) {
				t.Errorf("%d bytes are held for %d that came", held, size)
			}
		}
	}
}
