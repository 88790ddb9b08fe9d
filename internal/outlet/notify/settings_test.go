package notify

import (
	"testing"
	"time"
)

func TestQuietUntil(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	night := []Hours{{"22:00", "07:00"}}
	for _, tt := range []struct {
		now, zone string
		quiet     []Hours
		end       string // "": it rings
	}{
		{"2026-06-01T21:59:59Z", "", night, ""},
		{"2026-06-01T22:00:00Z", "", night, "2026-06-02T07:00:00Z"},
		{"2026-06-02T06:59:59Z", "", night, "2026-06-02T07:00:00Z"},
		{"2026-06-02T07:00:00Z", "", night, ""},
		{"2026-06-01T20:30:00Z", "Europe/Berlin", night, "2026-06-02T05:00:00Z"},
		{"2026-03-28T22:00:00Z", "Europe/Berlin", night, "2026-03-29T05:00:00Z"}, // the clocks go forward
		{"2026-10-24T22:00:00Z", "Europe/Berlin", night, "2026-10-25T06:00:00Z"}, // and back
		{"2026-12-31T23:00:00Z", "", night, "2027-01-01T07:00:00Z"},
		{"2026-06-01T12:30:00Z", "", []Hours{{"12:00", "13:00"}, {"13:00", "14:00"}}, "2026-06-01T14:00:00Z"},
		{"2026-06-01T12:30:00Z", "", nil, ""},
	} {
		s := Settings{Quiet: tt.quiet, TimeZone: tt.zone}
		end, quiet := s.quietUntil(at(tt.now))
		if want := tt.end; quiet != (want != "") || quiet && !end.Equal(at(want)) {
			t.Errorf("%s in %q: %v %v, want %q", tt.now, tt.zone, end.UTC(), quiet, want)
		}
	}
	// A day without an hour left still has an end to look at.
	all := Settings{Quiet: []Hours{{"00:00", "12:00"}, {"12:00", "00:00"}}}
	if end, quiet := all.quietUntil(at("2026-06-01T12:30:00Z")); !quiet || !end.After(at("2026-06-02T12:30:00Z")) {
		t.Errorf("%v %v", end, quiet)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"afterSeconds":30,"quiet":[{"from":"22:00","to":"07:00"}],"timeZone":"Europe/Berlin"}`), int64(1780000000))
	f.Add([]byte(`{"quiet":[{"from":"00:00","to":"12:00"},{"from":"12:00","to":"00:00"}]}`), int64(0))
	f.Fuzz(func(t *testing.T, doc []byte, unix int64) {
		s, err := ParseSettings(doc)
		if err != nil {
			return
		}
		now := time.Unix(unix%(1<<34), 0)
		if end, quiet := s.quietUntil(now); quiet && (!end.After(now) || end.Sub(now) > 16*48*time.Hour) {
			t.Errorf("quiet from %v to %v by %s", now, end, doc)
		}
	})
}
