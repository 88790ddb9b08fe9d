package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWithNumber(t *testing.T) {
	var known []Request
	for _, n := range []uint64{0, 7, 17, 107, 1017, 2034} {
		known = append(known, Request{Number: n})
	}
	for _, c := range []struct {
		digits string
		want   []uint64
	}{
		{"7", []uint64{7}}, // a whole number is nobody's suffix
		{"17", []uint64{17}},
		{"07", []uint64{107}},
		{"017", []uint64{1017}},
		{"34", []uint64{2034}},
		{"4", []uint64{2034}},
		{"1", nil},
		{"0", nil}, // one without a number is meant by none
		{"12034", nil},
	} {
		var got []uint64
		for _, r := range withNumber(known, c.digits) {
			got = append(got, r.Number)
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: %v, want %v", c.digits, got, c.want)
		}
	}
	if got := withNumber([]Request{{Number: 117}, {Number: 217}}, "17"); len(got) != 2 {
		t.Errorf("two end in 17: %v", got)
	}
}

// having is a client of a broker that has these requests and sessions.
func having(t *testing.T, pending, ended []Request, sessions ...Session) *Client {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		all := append(append([]Request{}, pending...), ended...)
		var answer any
		switch id, one := strings.CutPrefix(r.URL.Path, "/v1/requests/"); {
		case one:
			for i := range all {
				if all[i].ID == id {
					answer = all[i]
				}
			}
		case strings.HasPrefix(r.URL.Path, "/v1/sessions/"):
			for i := range sessions {
				if sessions[i].SessionID == strings.TrimPrefix(r.URL.Path, "/v1/sessions/") {
					answer = sessions[i]
				}
			}
		case r.URL.Path == "/v1/sessions":
			answer = sessions
		case q.Has("number"):
			found := []Request{}
			for _, x := range all {
				if strconv.FormatUint(x.Number, 10) == q.Get("number") {
					found = append(found, x)
				}
			}
			answer = found
		case q.Get("state") == "pending":
			answer = pending
		default: // two a page
			at := 0
			for i := range ended {
				if ended[i].ID == q.Get("after") {
					at = i + 1
				}
			}
			answer = ended[at:min(at+2, len(ended))]
		}
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func asked(number uint64, id string, ago time.Duration) (r Request) {
	r.Number, r.ID = number, id+strings.Repeat("0", wholeID-len(id))
	r.CreatedAt = time.Now().Add(-ago)
	r.SettledAt = r.CreatedAt.Add(time.Second)
	return r
}

func TestFind(t *testing.T) {
	waits, same, over, old := asked(417, "c0", 0), asked(518, "c1", 0), asked(317, "b", time.Minute), asked(1017, "a", 3*time.Hour)
	c := having(t, []Request{waits, same}, []Request{over, old})
	for _, c1 := range []struct {
		name, id, any string // the id that Find and FindID return
		short         bool
		see           string // of Find's error, and of FindID's where that finds none either
		text          string // in both errors
	}{
		{name: waits.ID, id: waits.ID, any: waits.ID},
		{name: "417", id: waits.ID, any: waits.ID},
		{name: "#518", id: same.ID, any: same.ID},
		{name: "18", id: same.ID, any: same.ID},
		{name: "c1", id: same.ID, any: same.ID},
		{name: "17", text: "2 requests of the last hour have numbers that end in 17; type one of them whole: 317, 417"},
		{name: "1017", id: old.ID, any: old.ID},
		{name: "9", see: "pending", text: "no request has the number 9, and none of the last hour ends in it"},
		{name: "c", short: true, text: "more than one pending request begins with"},
		{name: "b", any: over.ID, see: "pending", text: "no pending request has the number b, or an id that begins with it"},
		{name: "99999999", see: "pending", text: "an id that begins with it"}, // it could be an id's beginning
		{name: strings.Repeat("f", wholeID), any: strings.Repeat("f", wholeID), see: "pending", text: "no request has the id fff"},
	} {
		t.Run(c1.name, func(t *testing.T) {
			r, err := c.Find(t.Context(), c1.name)
			var name *NameError
			switch {
			case c1.id != "":
				if err != nil || r.ID != c1.id {
					t.Errorf("found %v, %v", r, err)
				}
			case !errors.As(err, &name) || !strings.Contains(name.Error(), c1.text) || name.Short != c1.short || name.See != c1.see:
				t.Errorf("error %#v", err)
			}
			id, err := c.FindID(t.Context(), c1.name)
			if id != c1.any || c1.any == "" && (!errors.As(err, &name) || name.See != c1.see) || c1.any != "" && err != nil {
				t.Errorf("the id %q, %v, want %q", id, err, c1.any)
			}
		})
	}
}

// Page after page is read, and no further than what ended before.
func TestEnded(t *testing.T) {
	list := []Request{asked(5, "e", time.Minute), asked(4, "d", 2*time.Minute), asked(3, "c", 3*time.Minute), asked(2, "b", time.Hour), asked(1, "a", 2*time.Hour)}
	long := &list[1]
	long.CreatedAt = long.CreatedAt.Add(-time.Hour) // asked before, ended since
	c := having(t, nil, list)
	var got []uint64
	visit := func(r *Request) error {
		got = append(got, r.Number)
		return nil
	}
	if err := c.Ended(t.Context(), time.Now().Add(-10*time.Minute), visit); err != nil || len(got) != 2 || got[0] != 5 || got[1] != 3 {
		t.Errorf("visited %v, %v", got, err)
	}
	got = nil
	if err := c.Ended(t.Context(), time.Now().Add(-24*time.Hour), visit); err != nil || len(got) != 5 {
		t.Errorf("visited %v, %v, want all", got, err)
	}
	if err := c.Ended(t.Context(), time.Time{}, func(*Request) error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the visitor's", err)
	}
}

func TestFindSession(t *testing.T) {
	session := func(id, title string) (s Session) {
		s.SessionID, s.Title = id, title
		return s
	}
	c := having(t, nil, nil, session("25e5a0e9-aaaa-b606", "Fix the login"), session("25f0-bbbb-b607", "fix the logout"), session("x", "Fix the login page"))
	for _, c1 := range []struct {
		name   string
		titles bool
		want   string // an id, or what the error says
		short  bool
	}{
		{"x", false, "x", false},
		{"25e5", false, "25e5a0e9-aaaa-b606", false},
		{"25", false, "2 sessions are meant by", true},
		{"b607", false, "25f0-bbbb-b607", false},
		{"607", false, "no session matches", false}, // too short an end
		{"25e5…b606", false, "25e5a0e9-aaaa-b606", false},
		{"25e5...b606", false, "25e5a0e9-aaaa-b606", false},
		{"25e5…b607", false, "no session matches", false},
		{"fix the login", false, "no session matches", false},
		{"fix the login", true, "25e5a0e9-aaaa-b606", false}, // all of a title goes before a part
		{"logout", true, "25f0-bbbb-b607", false},
		{"fix", true, "3 sessions are meant by", true},
	} {
		t.Run(c1.name, func(t *testing.T) {
			s, err := c.FindSession(t.Context(), c1.name, c1.titles)
			if err == nil {
				if s.SessionID != c1.want {
					t.Errorf("found %s, want %s", s.SessionID, c1.want)
				}
				return
			}
			if name := (*NameError)(nil); !errors.As(err, &name) || !strings.Contains(err.Error(), c1.want) || name.Short != c1.short {
				t.Errorf("error %v, want %s", err, c1.want)
			}
		})
	}
}
