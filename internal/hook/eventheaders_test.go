package hook

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// travel writes an event's headers and reads them again.
func travel(t testing.TB, e Event) Event {
	t.Helper()
	headers := map[string]string{}
	e.Headers(func(name, value string) {
		if _, twice := headers[name]; twice || value == "" {
			t.Errorf("header %s is written twice, or empty", name)
		}
		headers[name] = EscapeHeader(value)
	})
	return EventFromHeaders(func(name string) string { return headers[name] })
}

// TestEveryFieldHasAHeader sets one field after the other. A new one that is not in the list of
// headers does not come back.
func TestEveryFieldHasAHeader(t *testing.T) {
	without := map[string]bool{"NativeType": true, "Seq": true, "Stored": true, "Missed": true, "Raw": true}
	allowed := map[string]string{"Source": SourceMCP, "Origin.Attended": AttendedYes}
	full := Event{}
	var walk func(path string, v reflect.Type, field func(*Event) reflect.Value)
	walk = func(path string, v reflect.Type, field func(*Event) reflect.Value) {
		if v.Kind() == reflect.Struct && v != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				name := v.Field(i).Name
				if path != "" {
					name = path + "." + name
				}
				if without[name] {
					delete(without, name)
					continue
				}
				walk(name, v.Field(i).Type, func(e *Event) reflect.Value { return field(e).Field(i) })
			}
			return
		}
		t.Run(path, func(t *testing.T) {
			set := func(e *Event) {
				switch f := field(e); f.Interface().(type) {
				case string:
					f.SetString("ä " + path)
					if s := allowed[path]; s != "" {
						f.SetString(s)
					}
				case int:
					f.SetInt(int64(len(path)))
				case bool:
					f.SetBool(true)
				case time.Time:
					f.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)).UTC()))
				default:
					t.Fatalf("a %s: how does it travel?", f.Type())
				}
			}
			e := Event{}
			set(&e)
			set(&full)
			if got := travel(t, e); !reflect.DeepEqual(got, e) {
				t.Errorf("came back as %+v", got)
			}
		})
	}
	walk("", reflect.TypeFor[Event](), func(e *Event) reflect.Value { return reflect.ValueOf(e).Elem() })
	if len(without) > 0 {
		t.Errorf("no such fields: %v", without)
	}
	if got := travel(t, full); !reflect.DeepEqual(got, full) {
		t.Errorf("all at once came back as %+v", got)
	}
	if got := travel(t, Event{}); !reflect.DeepEqual(got, Event{}) {
		t.Errorf("none came back as %+v", got)
	}
}

func TestUnreadableHeadersAreNoValue(t *testing.T) {
	for _, tt := range []struct{ name, value string }{
		{HeaderEventTime, "yesterday"}, {HeaderEventTime, "0000-01-01T00:00:00Z"}, {HeaderEventTime, "9999-12-31T23:59:59-14:00"},
		{HeaderPID, "-5"}, {HeaderPID, "0"}, {HeaderPID, "2147483648"}, {HeaderPID, "12x"}, {HeaderAttempt, "1.5"}, {HeaderAttempt, "-1"},
		{HeaderSource, "psychic"}, {HeaderAttended, "perhaps"}, {HeaderRequestID, ""}, {HeaderSpooled, ""}, {"Assent-Unknown", "x"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			got := EventFromHeaders(func(name string) string {
				if name == tt.name {
					return tt.value
				}
				return ""
			})
			if !reflect.DeepEqual(got, Event{}) {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

func FuzzEventHeaders(f *testing.F) {
	f.Add("id", "Stop", "claude", int64(1), int32(0), true, false, "write it", "mcp", "token:x", "h", int32(7), "p", "yes", "a\r\nX: y", "/p q", "/r\xff", "main", "00", "%41")
	f.Add("", "", "", int64(0), int32(-1), false, true, "", "x", "", "", int32(-7), "", "maybe", "", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, id, kind, agent string, nanos int64, attempt int32, spooled, emitted bool, tool, via, submitter,
		host string, pid int32, process, attended, label, project, root, branch, head, remote string) {
		e := Event{ID: id, Type: kind, Agent: agent, Time: time.Unix(0, nanos).UTC(), Attempt: int(attempt), Spooled: spooled, Emitted: emitted,
			Tool: tool, Source: via, Submitter: submitter, Origin: Origin{Host: host, PID: int(pid), Process: process, Attended: attended,
				AgentLabel: label, ProjectDir: project, Repo: Repo{Root: root, Branch: branch, Head: head, Remote: remote}}}
		got := travel(t, e)
		e.Attempt, e.Origin.PID = max(0, e.Attempt), max(0, e.Origin.PID)
		if via != SourceMCP && via != SourceACP {
			e.Source = ""
		}
		if attended != AttendedYes && attended != AttendedNo {
			e.Origin.Attended = ""
		}
		if !got.Time.Equal(e.Time) {
			t.Errorf("time %v came back as %v", e.Time, got.Time)
		}
		got.Time = e.Time
		if !reflect.DeepEqual(got, e) {
			t.Errorf("got\n%+v\nwant\n%+v", got, e)
		}
	})
}

// FuzzEventFromHeaders reads what anybody may send. What was read once is stable from then on.
func FuzzEventFromHeaders(f *testing.F) {
	f.Add("%", "2026-01-02T03:04:05.6%2B02:00", "1")
	f.Add("a%4", "0001-01-01T00:00:00Z", "x")
	f.Fuzz(func(t *testing.T, text, moment, number string) {
		e := EventFromHeaders(func(name string) string {
			switch name {
			case HeaderEventTime:
				return moment
			case HeaderPID, HeaderAttempt:
				return number
			}
			return text
		})
		again := travel(t, e)
		if !again.Time.Equal(e.Time) {
			t.Errorf("time %v came back as %v", e.Time, again.Time)
		}
		again.Time = e.Time
		if !reflect.DeepEqual(again, e) {
			t.Errorf("got\n%+v\nwant\n%+v", again, e)
		}
	})
}

func BenchmarkEventHeaders(b *testing.B) {
	e := Event{ID: "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1", Type: EventElicitation, Agent: "claude", Time: time.Now(), Attempt: 1,
		Origin: Origin{Host: "box", PID: 17, ProjectDir: "/home/dev/a project", Repo: Repo{Root: "/home/dev/p", Branch: "main"}}}
	headers := map[string]string{}
	b.ReportAllocs()
	for b.Loop() {
		e.Headers(func(name, value string) { headers[name] = EscapeHeader(value) })
		if got := EventFromHeaders(func(name string) string { return headers[name] }); got.ID != e.ID {
			b.Fatal(fmt.Sprint(got))
		}
	}
}
