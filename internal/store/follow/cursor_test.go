package follow

import (
	"math"
	"strings"
	"testing"
	"time"
)

var (
	noon  = time.Date(2026, 11, 27, 12, 0, 0, 123456789, time.UTC)
	later = noon.Add(time.Nanosecond)
)

func TestResume(t *testing.T) {
	for _, x := range []struct {
		name  string
		c     Cursor
		s     Stream
		seq   uint64
		found Found
	}{
		{"nothing read", Cursor{}, Stream{noon, 7}, 0, Same},
		{"nothing read of another", Cursor{Made: noon}, Stream{later, 7}, 0, Anew},
		{"nothing read of an old one", Cursor{Stored: later}, Stream{noon, 7}, 0, Same},
		{"longer", Cursor{Seq: 5, Made: noon}, Stream{noon, 7}, 5, Same},
		{"nothing new", Cursor{Seq: 5, Made: noon}, Stream{noon, 5}, 5, Same},
		{"in another zone", Cursor{Seq: 5, Made: noon.In(time.FixedZone("", 3600))}, Stream{noon, 5}, 5, Same},
		{"end lost", Cursor{Seq: 5, Made: noon}, Stream{noon, 4}, 4, Shorter},
		{"all lost", Cursor{Seq: 5, Made: noon}, Stream{noon, 0}, 0, Shorter},
		{"anew and shorter", Cursor{Seq: 5, Made: noon}, Stream{later, 4}, 0, Anew},
		{"anew and empty", Cursor{Seq: 5, Made: noon}, Stream{later, 0}, 0, Anew},
		{"anew and as long", Cursor{Seq: 5, Made: noon}, Stream{later, 5}, 0, Anew},
		{"anew and longer", Cursor{Seq: 5, Made: noon}, Stream{later, 7}, 0, Anew},
		{"anew by a clock that went back", Cursor{Seq: 5, Made: later}, Stream{noon, 7}, 0, Anew},
		{"old cursor", Cursor{Seq: 5, Stored: later}, Stream{noon, 7}, 5, Same},
		{"old cursor of the same moment", Cursor{Seq: 5, Stored: noon}, Stream{noon, 7}, 5, Same},
		{"old cursor, end lost", Cursor{Seq: 5, Stored: later}, Stream{noon, 3}, 3, Shorter},
		{"old cursor, anew and longer", Cursor{Seq: 5, Stored: noon}, Stream{later, 7}, 0, Anew},
		{"old cursor, anew and shorter", Cursor{Seq: 5, Stored: noon}, Stream{later, 3}, 0, Anew},
		{"bare cursor", Cursor{Seq: 5}, Stream{noon, 7}, 5, Same},
		{"bare cursor beyond the end", Cursor{Seq: 5}, Stream{noon, 4}, 0, Anew},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, found := x.c.Resume(x.s)
			if got.Seq != x.seq || !got.Made.Equal(x.s.Made) || !got.Stored.IsZero() || found != x.found {
				t.Errorf("%+v, %d; want %d, %d", got, found, x.seq, x.found)
			}
			if again, found := got.Resume(x.s); again != got || found != Same {
				t.Errorf("and again: %+v, %d", again, found)
			}
			if text := x.found.Explain("it", x.c, x.s); (text == "") != (found == Same) {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []Cursor{{}, {Seq: 7}, {Seq: math.MaxUint64, Made: noon}, {Made: later}} {
		got, err := Decode(c.Encode())
		if err != nil || got.Seq != c.Seq || !got.Made.Equal(c.Made) {
			t.Errorf("%+v became %+v, %v", c, got, err)
		}
	}
	if got, err := Decode([]byte("18446744073709551615")); err != nil || got != (Cursor{Seq: math.MaxUint64}) {
		t.Errorf("a number alone: %+v, %v", got, err)
	}
	for _, text := range []string{"", "-1", "x", "1 ", " 1", "{", `{"seq":-1}`, `{"seq":1,"stream":"yesterday"}`, "[1]", "null"} {
		if got, err := Decode([]byte(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"7", "", `{"seq":7}`, `{"seq":7,"stream":"2026-11-27T12:00:00.123456789Z"}`, `{"seq":7,"stream":"9999-12-31T23:59:59+23:59"}`, strings.Repeat("9", 30)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			return
		}
		if again, err := Decode(c.Encode()); err != nil || again.Seq != c.Seq || !again.Made.Equal(c.Made) {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
