package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	_ "time/tzdata" // quiet hours, also where the machine has no time zones

	"assent/internal/hook"
)

// Settings say when a device or notice is notified (schema PushSettings).
type Settings struct {
	// AfterSeconds notifies only of requests that are still undecided so long after they were asked.
	AfterSeconds int `json:"afterSeconds"`
	// Quiet are hours of the day, in TimeZone, without notifications. What still waits when they
	// end is notified of then.
	Quiet    []Hours `json:"quiet,omitempty"`
	TimeZone string  `json:"timeZone,omitempty"` // "Europe/Berlin"; empty: UTC
	// Sessions leaves some sessions out, or all others.
	Sessions Choice `json:"sessions"`
	// ShowSession lets the session's short name, such as its directory's, into messages.
	ShowSession bool `json:"showSession"`
	// ShowContent lets the project, the kinds of effect and the risk of a request into messages, and
	// ShowSentence, with it, what the request would do in one sentence.
	ShowContent  bool `json:"showContent"`
	ShowSentence bool `json:"showSentence"`
	// Finished and Failed notify when an agent's turn ends, StillWaits of each request that waits for
	// ten minutes.
	Finished   bool `json:"finished"`
	Failed     bool `json:"failed"`
	StillWaits bool `json:"stillWaits"`
}

// Hours are a part of the day, "22:00" to "07:00". The end does not belong to it.
type Hours struct {
	From string `json:"from" yaml:"from"`
	To   string `json:"to" yaml:"to"`
}

// Choice is about sessions: all, all but IDs ("mute"), or IDs alone ("only").
type Choice struct {
	Mode string   `json:"mode"` // all, mute, only
	IDs  []string `json:"ids,omitempty"`
}

// Bounds of settings.
const (
	maxAfter   = 24 * 60 * 60
	maxHours   = 8
	maxChosen  = 100
	maxIDBytes = 256
)

// DefaultSettings are those of a device that has not said anything: a request that is answered at
// once, by somebody who sits there, does not ring.
func DefaultSettings() Settings {
	return Settings{AfterSeconds: 5, Sessions: Choice{Mode: "all"}}
}

// ParseSettings reads settings; members that are not there have their default.
func ParseSettings(doc []byte) (*Settings, error) {
	s := DefaultSettings()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, hook.BadField("settings", plain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, hook.BadField("settings", "want one object")
	}
	return &s, s.check()
}

// plain are the words of encoding/json without its name, or simpler ones.
func plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s: not a %s", wrong.Field, wrong.Value)
	}
	return "not understood; see the schema PushSettings"
}

func (s *Settings) check() error {
	if s.Sessions.Mode == "" {
		s.Sessions.Mode = "all"
	}
	switch {
	case s.AfterSeconds < 0 || s.AfterSeconds > maxAfter:
		return hook.BadField("settings.afterSeconds", fmt.Sprintf("want 0 to %d", maxAfter))
	case len(s.Quiet) > maxHours:
		return hook.BadField("settings.quiet", fmt.Sprintf("want at most %d", maxHours))
	case !slices.Contains([]string{"all", "mute", "only"}, s.Sessions.Mode):
		return hook.BadField("settings.sessions.mode", "want all, mute or only")
	case len(s.Sessions.IDs) > maxChosen:
		return hook.BadField("settings.sessions.ids", fmt.Sprintf("want at most %d", maxChosen))
	}
	for _, id := range s.Sessions.IDs {
		if id == "" || len(id) > maxIDBytes {
			return hook.BadField("settings.sessions.ids", fmt.Sprintf("want ids of 1 to %d bytes", maxIDBytes))
		}
	}
	for _, h := range s.Quiet {
		from, ok1 := minute(h.From)
		to, ok2 := minute(h.To)
		if !ok1 || !ok2 || from == to {
			return hook.BadField("settings.quiet", `want two different times of the day, such as "22:00" and "07:00"`)
		}
	}
	if _, err := s.location(); err != nil {
		return hook.BadField("settings.timeZone", `want the name of a time zone, such as "Europe/Berlin"`)
	}
	return nil
}

func (s *Settings) location() (*time.Location, error) {
	if len(s.TimeZone) > 64 || s.TimeZone == "Local" {
		return nil, errors.New("no time zone")
	}
	return time.LoadLocation(s.TimeZone)
}

// minute reads "07:30" as the minute of the day.
func minute(text string) (int, bool) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil && len(text) == 5
}

// rings reports whether a session is one to notify of.
func (s *Settings) rings(session string) bool {
	switch s.Sessions.Mode {
	case "mute":
		return !slices.Contains(s.Sessions.IDs, session)
	case "only":
		return slices.Contains(s.Sessions.IDs, session)
	}
	return true
}

func (s *Settings) after() time.Duration { return time.Duration(s.AfterSeconds) * time.Second }

// quietUntil is when the quiet hours end that now is in; ok is false outside of them.
func (s *Settings) quietUntil(now time.Time) (end time.Time, ok bool) {
	loc, err := s.location()
	if err != nil || len(s.Quiet) == 0 {
		return time.Time{}, false
	}
	end = now.In(loc)
	for range 2 * maxHours { // hours that follow on one another are one quiet time
		next, quiet := s.hoursEnd(end)
		if !quiet {
			break
		}
		end, ok = next, true
	}
	return end, ok
}

// hoursEnd is when the hours end that t, which has the right location, is in.
func (s *Settings) hoursEnd(t time.Time) (time.Time, bool) {
	y, mo, d := t.Date()
	now := t.Hour()*60 + t.Minute()
	for _, h := range s.Quiet {
		from, _ := minute(h.From)
		to, _ := minute(h.To)
		day := d
		switch {
		case from < to && (now < from || now >= to), from > to && now < from && now >= to:
			continue
		case from > to && now >= from:
			day++
		}
		if end := time.Date(y, mo, day, to/60, to%60, 0, 0, t.Location()); end.After(t) {
			return end, true
		}
	}
	return time.Time{}, false
}
