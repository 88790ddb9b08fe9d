package eventlines

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"assent/internal/hook"
	"assent/internal/store/reader"
	"assent/schemas"
)

// Whatever an agent sends, it is one line of JSON, and only what assent itself says looks like
// a marker.
func FuzzOneLine(f *testing.F) {
	for _, s := range []string{`{"a" : 1}`, "", "not JSON", `{"assent_marker":"gap"}`, `{"assent_marke\u0072":"gap"}`, `["assent_marker"]`, "{\"a\":\"\xff\u202e\"}", `{"x":{"assent_marker":1}}`, "{}\n{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		line := oneLine(raw)
		if bytes.ContainsAny(line, "\n\r") || !json.Valid(line) {
			t.Fatalf("%q is no line of JSON", line)
		}
		for _, r := range string(line) {
			if unicode.IsControl(r) {
				t.Fatalf("%q has a control character", line)
			}
		}
		var members map[string]json.RawMessage
		_ = json.Unmarshal(line, &members)
		kind, marker := members[markerMember]
		switch {
		case marker && string(kind) != `"payload"`:
			t.Fatalf("%q passes for a marker: %s", raw, line)
		case marker:
			if err := schemas.Validate("EventsMarker", line); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
		case !json.Valid(raw):
			t.Fatalf("%q passes for a payload: %s", raw, line)
		}
	})
}

func TestEventLines(t *testing.T) {
	at := time.Date(2026, 11, 20, 14, 3, 5, 0, time.Local)
	var out bytes.Buffer
	p := Printer{Out: &out, Width: func() int { return 0 }}
	for _, e := range []hook.Event{
		{Type: "PreToolUse", Time: at, Raw: []byte(`{"session_id":"25e5a0e9-9758-4dff-954c-fc44b3a814da","cwd":"/home/dev/api","tool_name":"Bash","tool_input":{"description":"Tests","command":"npm test\n"}}`)},
		{Type: "PostToolUseFailure", Time: at, Raw: []byte(`{"session_id":"s1","cwd":"/","agent_id":"a","agent_type":"Explore","tool_name":"Bash","tool_input":{"command":"false"},"error":"Exit code 1\nmore"}`)},
		{Type: "UserPromptSubmit", Time: at.Add(24 * time.Hour), Spooled: true, Raw: []byte(`{"session_id":"s1","prompt":"a \u001b[31mred\u202e one"}`)},
		{Type: "", Time: at.Add(24 * time.Hour), Raw: []byte("\x1b]0;x")},
	} {
		if err := p.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Marker(reader.Marker{Message: "3 events missing here"}); err != nil {
		t.Fatal(err)
	}
	want := `— Friday, 20 November 2026
14:03:05  PreToolUse           api 25e5a0e9          Bash: npm test⟦U+000A⟧
14:03:05  PostToolUseFailure   / s1 › Explore        Bash: false  — Exit code 1 …
— Saturday, 21 November 2026
14:03:05  UserPromptSubmit     s1                    a ⟦U+001B⟧[31mred⟦U+202E⟧ one  (came late)
14:03:05  -                    -                     (unreadable) ⟦U+001B⟧]0;x
*** 3 events missing here
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func FuzzEventLine(f *testing.F) {
	f.Add("Stop", []byte(`{"session_id":"s","prompt":"p"}`))
	f.Add("a\nb", []byte("{\"cwd\":\"/\\n/\u2028\",\"tool_name\":\"T\\n\",\"tool_input\":{\"x\":\"\\n\"}}"))
	f.Fuzz(func(t *testing.T, typ string, raw []byte) {
		line := eventLine(hook.Event{Type: typ, Raw: raw, Time: time.Unix(0, 0)})
		for _, r := range line {
			if r != ' ' && !unicode.IsGraphic(r) || unicode.IsControl(r) {
				t.Fatalf("%q in %q", r, line)
			}
		}
		if strings.Count(line, "") > 400 {
			t.Fatalf("%d characters", strings.Count(line, ""))
		}
	})
}

// JSON may hold controls that a terminal obeys; what is printed may not.
func TestOneLineIsFitForATerminal(t *testing.T) {
	var out bytes.Buffer
	out.Write(oneLine([]byte("{\"command\":\"echo \u009b2J\u009d0;title\u009c \u202efr- mr\x7f\"}")))
	out.Write(oneLine([]byte("{\"command\":\"\x9b2J\"}"))) // what an 8-bit terminal obeys
	out.Write(oneLine([]byte("no JSON \u009b2J \x9b")))
	for _, r := range out.String() {
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar {
			t.Errorf("%U in %q", r, out.String())
		}
	}
}
