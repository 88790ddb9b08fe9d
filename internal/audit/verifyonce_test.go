package audit

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TestOnce: of many requests in many runs, those that come again are found wherever they stand, and nothing else is.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const n = 5*runRequests + 17
	var o once
	line := int64(0)
	add := func(id int, asked bool) {
		s := settlement{ID: fmt.Sprintf("r-%d", id*7919%n)}
		if line++; asked {
			s.Asked = place{line, line, uint64(line)}
		}
		line++
		s.Settled = place{line, line, uint64(line)}
		if err := o.add(s); err != nil {
			t.Fatal(err)
		}
	}
	again := map[int]bool{0: true, 1: true, runRequests - 1: true, runRequests: true, n / 2: true, n - 1: true}
	for i := range n {
		add(i, i%3 > 0)
	}
	for i := range again {
		add(i, i%2 == 0)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the temporary file has a name: %v, %v", left, err)
	}
	var got []string
	if err := o.again(func(s *settlement) {
		if s.Settled.Line <= 2*n {
			t.Errorf("the first of the two is found: %+v", s)
		}
		got = append(got, s.ID)
	}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range again {
		want = append(want, fmt.Sprintf("r-%d", i*7919%n))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(o.ends) < 5 {
		t.Errorf("%d runs", len(o.ends))
	}
}

// TestOnceWithoutRoom: what cannot be kept is an error, and not "verified".
func TestOnceWithoutRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere/at/all")
	v := verifier{open: map[string]waiting{}}
	for i := range runRequests {
		v.keep(settlement{ID: fmt.Sprint(i), Settled: place{Line: int64(i + 1)}})
	}
	if err := v.twice(); err == nil {
		t.Error("no error")
	}
}
