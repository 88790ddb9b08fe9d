package claude

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"assent/internal/agent"
	"assent/internal/hook"
)

func elicitation(schema string) []byte {
	return []byte(`{"session_id":"s","cwd":"/w","hook_event_name":"Elicitation","mcp_server_name":"lab","message":"m","mode":"form","requested_schema":` + schema + `}`)
}

func properties(p string) []byte { return elicitation(`{"type":"object","properties":{` + p + `}}`) }

func TestFormKeepsItsMembersAsTheyCame(t *testing.T) {
	raw := []byte(`{"session_id":"s", "effort":{"level":"low"},"mcp_server_name":"l\u0061b","message": "a  b","mode":"form","new":1e2,` +
		`"requested_schema": {"type":"object", "properties":{}}}`)
	got, err := codec.Form(raw)
	want := `{"mcp_server_name":"l\u0061b","message":"a  b","mode":"form","new":1e2,"requested_schema":{"type":"object", "properties":{}}}`
	if err != nil || string(got) != want {
		t.Errorf("Form = %s, %v; want %s", got, err, want)
	}
}

func TestFormKnowsAllKindsOfMCP(t *testing.T) {
	for _, p := range []string{
		`"a":{"type":"string","title":"t","description":"d","minLength":1,"maxLength":9,"default":"x"}`,
		`"a":{"type":"string","format":"email"},"b":{"type":"string","format":"uri"},"c":{"type":"string","format":"date","default":"2026-12-24"},"d":{"type":"string","format":"date-time"}`,
		`"a":{"type":"number","minimum":0.5,"maximum":1e3,"default":2},"b":{"type":"integer"},"c":{"type":"boolean","default":false}`,
		`"a":{"type":"string","enum":["x","y"],"enumNames":["X","Y"],"default":"y"},"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]}`,
		`"a":{"type":"array","minItems":0,"maxItems":2,"items":{"type":"string","enum":["x","y"]},"default":["x"]},"b":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}`,
	} {
		if _, err := codec.Form(properties(p)); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := codec.Form(elicitation(`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"t","description":"d","additionalProperties":false,"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)); err != nil {
		t.Error(err)
	}
}

// numbered is a list of so many texts.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Quote(strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}

func TestFormRefusesWhatItDoesNotKnow(t *testing.T) {
	many := `"x`
	for i := range maxFormFields + 1 {
		many += strings.Repeat("x", i) + `":{"type":"boolean"},"x`
	}
	choices := ""
	for i := range 10 {
		choices += `,"c` + strconv.Itoa(i) + `":{"type":"string","enum":[` + numbered(30) + `]}`
	}
	refused := map[string][]byte{
		"300 options in all": properties(choices[1:]),
		"a book":             properties(`"a":{"type":"string","description":"` + strings.Repeat("word ", 16<<10) + `"}`),
		"no JSON":            []byte(`{`),
		"an address":         []byte(`{"mcp_server_name":"l","message":"m","mode":"url","url":"https://x","requested_schema":{"type":"object","properties":{}}}`),
		"no schema":          []byte(`{"mcp_server_name":"l","message":"m","mode":"form"}`),
		"no server":          []byte(`{"message":"m","requested_schema":{"type":"object","properties":{}}}`),
		"no message":         []byte(`{"mcp_server_name":"l","requested_schema":{"type":"object","properties":{}}}`),
		"a message twice":    []byte(`{"mcp_server_name":"l","message":"m","Message":"n","requested_schema":{"type":"object","properties":{}}}`),
		"no UTF-8":           []byte("{\"mcp_server_name\":\"l\",\"message\":\"\xff\",\"requested_schema\":{\"type\":\"object\",\"properties\":{}}}"),
		"another type":       elicitation(`{"type":"array","properties":{}}`),
		"no properties":      elicitation(`{"type":"object"}`),
		"references":         elicitation(`{"type":"object","properties":{},"$defs":{}}`),
		"required, no field": elicitation(`{"type":"object","properties":{},"required":["a"]}`),
		"required null":      elicitation(`{"type":"object","properties":{"a":{"type":"string"}},"required":[null]}`),
		"too many":           properties(many + `":{"type":"boolean"}`),
	}
	for _, p := range []string{
		`{}`, `{"type":"object"}`, `{"type":"null"}`, `{"type":["string","null"]}`, `{"type":"string","pattern":"x"}`, `{"type":"string","format":"ipv4"}`,
		`{"type":"string","const":"x"}`, `{"type":"string","minimum":1}`, `{"type":"number","minLength":1}`, `{"type":"number","exclusiveMinimum":1}`,
		`{"type":"string","minLength":-1}`, `{"type":"string","minLength":"1"}`, `{"type":"string","maxLength":1.5}`, `{"type":"number","minimum":null}`, `{"type":"number","maximum":1e999}`,
		`{"type":"string","enum":[]}`, `{"type":"string","enum":["x","x"]}`, `{"type":"string","enum":[1]}`, `{"type":"string","enum":["x"],"enumNames":["X","Y"]}`,
		`{"type":"string","enumNames":["X"]}`, `{"type":"string","enum":["x"],"oneOf":[{"const":"x","title":"X"}]}`, `{"type":"string","enum":["x"],"minLength":1}`,
		`{"type":"string","oneOf":[{"const":"x"}]}`, `{"type":"string","oneOf":[{"const":"x","title":"X","pattern":"y"}]}`, `{"type":"number","enum":["1"]}`,
		`{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"number","enum":["1"]}}`, `{"type":"array","items":{"enum":["x"]},"uniqueItems":true}`,
		`{"type":"string","title":1}`, `{"type":"string","default":1}`, `{"type":"string","maxLength":1,"default":"xy"}`, `{"type":"boolean","default":"true"}`, `{"type":"integer","default":1.0}`,
	} {
		refused[p] = properties(`"a":` + p)
	}
	for name, raw := range refused {
		if in, err := codec.Form(raw); !errors.Is(err, agent.ErrNoForm) {
			t.Errorf("%s: Form = %s, %v; want ErrNoForm", name, in, err)
		}
	}
}

func formRequest(t *testing.T, p string) *hook.Request {
	t.Helper()
	in, err := codec.Form(elicitation(`{"type":"object","properties":{` + p + `},"required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	return &hook.Request{Event: hook.EventElicitation, ToolName: hook.EventElicitation, ToolInput: in}
}

func TestFormsAnswerIsHeldAgainstIt(t *testing.T) {
	for _, c := range []struct{ property, good, bad string }{
		{`{"type":"string"}`, `"" "x" "\u202e"`, `1 null [] {} true`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `"äö" "\ud83d\ude00x"`, `"ä" "abcd"`},
		{`{"type":"string","format":"email"}`, `"a@b.c"`, `"a" "A <a@b.c>" ""`},
		{`{"type":"string","format":"uri"}`, `"https://x/y"`, `"x" "/y"`},
		{`{"type":"string","format":"date"}`, `"2026-02-28"`, `"2026-02-30" "28.2.2026"`},
		{`{"type":"string","format":"date-time"}`, `"2026-02-28T10:00:00Z" "2026-02-28T10:00:00+02:00"`, `"2026-02-28" "2026-02-28T10:00:00"`},
		{`{"type":"string","enum":["x","y"]}`, `"x"`, `"X" "z" ""`},
		{`{"type":"array","minItems":1,"maxItems":2,"items":{"enum":["x","y","z"]}}`, `["x"] ["y","x"]`, `[] ["x","x"] ["w"] ["x","y","z"] [null] "x"`},
		{`{"type":"integer","minimum":-1,"maximum":9}`, `0 -1 9`, `1.5 1.0 1e0 10 "1" null 9007199254740993`},
		{`{"type":"number","maximum":1}`, `0.5 1 -1e3`, `1.1 "1" true`},
		{`{"type":"boolean"}`, `true false`, `"true" 1 null`},
	} {
		r := formRequest(t, `"a":`+c.property)
		for _, v := range strings.Fields(c.good) {
			if err := codec.Check(hook.Decision{Behavior: "allow", UpdatedInput: hook.JSON(`{"a":` + v + `}`)}, r); err != nil {
				t.Errorf("%s takes %s: %v", c.property, v, err)
			}
		}
		for _, v := range strings.Fields(c.bad) {
			var bad *hook.FieldError
			if err := codec.Check(hook.Decision{Behavior: "allow", UpdatedInput: hook.JSON(`{"a":` + v + `}`)}, r); !errors.As(err, &bad) || bad.Field != "updatedInput" {
				t.Errorf("%s takes %s: %v", c.property, v, err)
			}
		}
	}
}

func TestFormsDecisions(t *testing.T) {
	r := formRequest(t, `"a":{"type":"string"}`)
	for want, d := range map[string]hook.Decision{
		`"action":"accept","content":{"a":"<b> & c"}}}`: {Behavior: "allow", UpdatedInput: hook.JSON("{ \"a\" : \"<b> & c\" }")},
		`"action":"decline"}}`:                          {Behavior: "deny"},
		`"action":"cancel"}}`:                           {Behavior: "deny", Interrupt: true},
	} {
		got, err := codec.Encode(d, r)
		if want := `{"hookSpecificOutput":{"hookEventName":"Elicitation",` + want; err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v; want %s", d, got, err, want)
		}
	}
	for field, d := range map[string]hook.Decision{
		"message":            {Behavior: "deny", Message: "no"},
		"updatedPermissions": {Behavior: "deny", UpdatedPermissions: hook.JSON(`[]`)},
		"interrupt":          {Behavior: "allow", Interrupt: true, UpdatedInput: hook.JSON(`{"a":"x"}`)},
		"updatedInput":       {Behavior: "allow"},
	} {
		var bad *hook.FieldError
		if err := codec.Check(d, r); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want a problem of %s", d, err, field)
		}
	}
	for _, in := range []string{`{}`, `{"a":"x","b":1}`, `{"a":"x","a":"y"}`, `{"A":"x"}`, `[]`, `{"a":"x"} 1`, `{"updatedInput":{}}`} {
		if err := codec.Check(hook.Decision{Behavior: "allow", UpdatedInput: hook.JSON(in)}, r); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
	// What is a tool call to one reader is never answered as a form, nor the other way round.
	call := &hook.Request{ToolName: hook.EventElicitation, ToolInput: r.ToolInput}
	if out, err := codec.Encode(hook.Decision{Behavior: "allow"}, call); err != nil || !strings.Contains(string(out), `"PermissionRequest"`) {
		t.Errorf("a tool of that name: %s, %v", out, err)
	}
}

// FuzzForm: whatever a payload holds, what is held of it is JSON without doubt, and an answer that
// passes is one that can be written.
func FuzzForm(f *testing.F) {
	f.Add(properties(`"a":{"type":"string","default":"x"}`), []byte(`{"a":"y"}`))
	f.Add(properties(`"a":{"type":"array","items":{"enum":["x"]}},"b":{"type":"integer","minimum":1}`), []byte(`{"a":["x"],"b":2}`))
	f.Fuzz(func(t *testing.T, raw, answer []byte) {
		in, err := codec.Form(raw)
		if err != nil {
			return
		}
		if !json.Valid(in) || ambiguous(in) != "" {
			t.Fatalf("Form(%q) = %q", raw, in)
		}
		r := &hook.Request{Event: hook.EventElicitation, ToolInput: in}
		d := hook.Decision{Behavior: "allow", UpdatedInput: answer}
		if codec.Check(d, r) != nil {
			return
		}
		if out, err := codec.Encode(d, r); err != nil || !json.Valid(out) {
			t.Fatalf("%q passes and is written as %q, %v", answer, out, err)
		}
	})
}
