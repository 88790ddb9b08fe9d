package reqcontext

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

func pending(id string) *broker.View {
	return &broker.View{Request: hook.Request{ID: id, CreatedAt: time.Now().Add(time.Minute)}, State: broker.Pending}
}

func before(text string) hook.Context {
	return hook.Context{Said: "words", Before: &hook.Before{Text: &text}}
}

// listed is the context as lists have it.
func listed(t *testing.T, s *Store, v *broker.View) hook.Context {
	t.Helper()
	var c hook.Context
	if err := json.Unmarshal(s.JSON(v), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A context is there while its request waits, and not a moment longer.
func TestContextEndsWithItsRequest(t *testing.T) {
	for _, step := range []hook.Step{hook.StepDecided, hook.StepEnded} {
		s := New(0)
		v := pending("a")
		if !s.Put("a", before("text")) || s.Put("a", hook.Context{Said: "another's"}) {
			t.Error("the first counts")
		}
		if c := s.Whole(v); c == nil || c.Said != "words" || *c.Before.Text != "text" {
			t.Errorf("%+v", c)
		}
		s.Recorded(hook.StepAsked, v)
		if c := listed(t, s, v); c.Said != "words" || c.Before.Text == nil {
			t.Errorf("%+v", c)
		}
		s.Recorded(step, v)
		if n, bytes := s.Held(); n != 0 || bytes != 0 {
			t.Errorf("%d held, %d bytes", n, bytes)
		}
		ended := *v
		ended.State = broker.Ended
		if s.Whole(&ended) != nil || s.JSON(&ended) != nil {
			t.Error("one that is over has a context")
		}
	}
}

// A request without a context says why.
func TestWithout(t *testing.T) {
	s := New(0)
	old := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name   string
		v      broker.View
		why    string
		before string
	}{
		{"nothing came", broker.View{Request: hook.Request{CreatedAt: time.Now().Add(time.Minute)}}, hook.SaidUnknown, ""},
		{"a restart", broker.View{Request: hook.Request{CreatedAt: old}}, hook.SaidLost, ""},
		{"a restart, and a file", broker.View{Request: hook.Request{CreatedAt: old, Overwrites: &hook.Overwrites{Exists: true}}}, hook.SaidLost, hook.BeforeLost},
		{"a restart, and a new file", broker.View{Request: hook.Request{CreatedAt: old, Overwrites: &hook.Overwrites{}}}, hook.SaidLost, ""},
		{"another broker's", broker.View{Request: hook.Request{CreatedAt: old}, HeldElsewhere: true}, hook.SaidElsewhere, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.v.State = broker.Pending
			for _, got := range []hook.Context{*s.Whole(&c.v), listed(t, s, &c.v)} {
				why := ""
				if got.Before != nil {
					why = got.Before.Why
				}
				if got.SaidWhy != c.why || why != c.before {
					t.Errorf("%+v, %q", got, why)
				}
			}
		})
	}
	var none *Store
	if none.Put("a", hook.Context{}) || none.Whole(pending("a")) != nil || none.JSON(pending("a")) != nil {
		t.Error("no store holds something")
	}
	none.Drop("a")
}

// A long text stands in no list.
func TestLongTextsAreFetched(t *testing.T) {
	s := New(0)
	s.Put("a", before(strings.Repeat("x", maxPart)))
	s.Put("b", before(strings.Repeat("x", maxPart+1)))
	if c := listed(t, s, pending("a")); c.Before.Text == nil {
		t.Errorf("%+v", c.Before)
	}
	if c := listed(t, s, pending("b")); c.Before.Text != nil || c.Before.Why != hook.BeforePartial {
		t.Errorf("%+v", c.Before)
	}
	if c := s.Whole(pending("b")); c.Before.Text == nil || len(*c.Before.Text) != maxPart+1 {
		t.Errorf("%+v", c.Before)
	}
}

// Beyond its bound the store keeps nothing but why, and what ends makes room.
func TestBound(t *testing.T) {
	const max = 1 << 20
	s := New(max)
	long := strings.Repeat("x", 100<<10)
	full, small := 0, 0
	for i := range 2000 {
		id := strconv.Itoa(i)
		s.Put(id, before(long))
		switch c := s.Whole(pending(id)); {
		case c.SaidWhy == hook.SaidFull:
			full++
		case c.Before.Why == hook.BeforeFull:
			small++
		}
	}
	n, bytes := s.Held()
	if n != 2000 || full == 0 || small == 0 || bytes > max+2000*2*entryBytes {
		t.Errorf("%d held, %d bytes, %d without a text, %d with nothing", n, bytes, small, full)
	}
	if files, all := s.Dropped(); int(files) != full+small || int(all) != full {
		t.Errorf("%d texts and %d contexts are counted as dropped, want %d and %d", files, all, full+small, full)
	}
	for i := range 2000 {
		s.Drop(strconv.Itoa(i))
	}
	if n, bytes := s.Held(); n != 0 || bytes != 0 {
		t.Errorf("%d held, %d bytes", n, bytes)
	}
	if s.Put("a", before(long)); s.Whole(pending("a")).Before.Text == nil {
		t.Error("there is room again")
	}
}
