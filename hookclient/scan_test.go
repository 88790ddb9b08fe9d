package hookclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScanPayload(t *testing.T) {
	nested := func(n int) string {
		return `{"hook_event_name":"A","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	cases := []struct{ name, in, event, session string }{
		{"plain", `{"session_id":"s","hook_event_name":"PreToolUse"}`, "PreToolUse", "s"},
		{"blanks", " \n{ \"hook_event_name\" :\t\"A\" , \"session_id\":\r\"s\" } \n", "A", "s"},
		{"every kind of value", `{"a":[1,-2.5e+3,{"b":[]},{}],"c":true,"d":false,"e":null,"f":"\u00e9\n","hook_event_name":"A"}`, "A", ""},
		{"deeper ones do not count", `{"x":{"hook_event_name":"B","session_id":"t"},"y":[{"hook_event_name":"C"}],"hook_event_name":"A"}`, "A", ""},
		{"other case does not count", `{"Hook_Event_Name":"B","hook_event_name":"A"}`, "A", ""},
		{"value with quotes inside", `{"x":"\"hook_event_name\":\"B\"","hook_event_name":"A"}`, "A", ""},
		{"twice", `{"hook_event_name":"A","hook_event_name":"A"}`, "", ""},
		{"session twice", `{"hook_event_name":"A","session_id":"s","session_id":"s"}`, "A", ""},
		{"escaped value", `{"hook_event_name":"\u0041","session_id":"s"}`, "", "s"},
		{"escaped key", `{"hook_event_n\u0061me":"B","hook_event_name":"A"}`, "", ""},
		{"escaped key deeper", `{"hook_event_name":"A","x":{"\u0061":1}}`, "A", ""},
		{"not a string", `{"hook_event_name":["A"]}`, "", ""},
		{"number, then string", `{"hook_event_name":1,"hook_event_name":"A"}`, "", ""},
		{"object, then string", `{"hook_event_name":{},"hook_event_name":"A"}`, "", ""},
		{"too long", `{"hook_event_name":"` + strings.Repeat("A", maxName+1) + `"}`, "", ""},
		{"dots and slashes", `{"hook_event_name":"../a.b","session_id":"../../x"}`, "../a.b", "../../x"},
		{"invalid UTF-8", "{\"hook_event_name\":\"A\",\"x\":\"\xff\xfe\"}", "A", ""},
		{"as deep as it may be", nested(maxDepth - 1), "A", ""},
		{"too deep", nested(maxDepth), "", ""},
		{"bottomless", strings.Repeat(`{"a":`, 1<<20), "", ""},
		{"empty", "", "", ""},
		{"array", `[{"hook_event_name":"A"}]`, "", ""},
		{"string", `"hook_event_name"`, "", ""},
		{"cut short", `{"hook_event_name":"A","x":"`, "", ""},
		{"something after it", `{"hook_event_name":"A"}{}`, "", ""},
		{"text before it", `log {"hook_event_name":"A"}`, "", ""},
		{"comma at the end", `{"hook_event_name":"A",}`, "", ""},
		{"missing colon", `{"hook_event_name" "A"}`, "", ""},
		{"wrong bracket", `{"hook_event_name":"A","x":[}}`, "", ""},
		{"raw line end in a string", "{\"hook_event_name\":\"A\",\"x\":\"\n\"}", "", ""},
		{"leading zero", `{"hook_event_name":"A","x":01}`, "", ""},
		{"byte order mark", "\ufeff{\"hook_event_name\":\"A\"}", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := scanPayload([]byte(c.in)); got.event != c.event || got.session != c.session {
				t.Errorf("got %q, %q; want %q, %q", got.event, got.session, c.event, c.session)
			}
		})
	}
}

// FuzzScanPayload compares with encoding/json: what we take for JSON is JSON, and the other
// way round; and what we read is what it reads.
func FuzzScanPayload(f *testing.F) {
	for _, s := range []string{`{"hook_event_name":"A","session_id":"s"}`, `{"a":[1,2.5e-3,{"b":null}],"hook_event_name":"x"}`,
		`{"hook_event_name":"A","hook_event_name":"B"}`, `{"hook_event_n\u0061me":"B"}`, `{"":{},"a":[[],{}]}`, `[]`, `{"a":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := scanner{in: in}
		ok := s.document()
		var m map[string]json.RawMessage
		valid := json.Unmarshal(in, &m) == nil && m != nil
		if ok && !valid {
			t.Fatalf("taken for an object: %q", in)
		}
		if valid && !ok && !strings.Contains(string(in), `\`) {
			t.Fatalf("not taken for an object: %q", in)
		}
		if !ok {
			return
		}
		check := func(name, got string) {
			var want string
			if got != "" && (json.Unmarshal(m[name], &want) != nil || want != strings.ToValidUTF8(got, "\ufffd") && !strings.ContainsRune(want, '\ufffd')) {
				t.Errorf("%s: got %q, encoding/json %q", name, got, want)
			}
		}
		p := scanPayload(in)
		check("hook_event_name", p.event)
		check("session_id", p.session)
		for i := range in { // the beginning says what the whole says, or nothing yet, or something that comes again
			if e := eventOf(in[:i]); e != "" && p.event != "" && e != p.event {
				t.Errorf("the first %d bytes: %q, all: %q", i, e, p.event)
			}
		}
	})
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := receiveFrom(in)
		if err == nil && r.status == 200 && len(r.body) > len(in) {
			t.Errorf("%d bytes of body out of %d", len(r.body), len(in))
		}
	})
}

func FuzzFrames(f *testing.F) {
	one := (&SpoolRecord{Target: "/s", Event: event("1", "A", "{}")}).encode()
	f.Add(one)
	f.Add(append(append([]byte{}, one...), one[:len(one)-1]...))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		name := filepath.Join(dir, "s")
		if err := os.WriteFile(name, in, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(name)
		size := 0
		n, err := Drain(dir, "/s", func(r SpoolRecord) error {
			size += len(r.Event.Raw)
			return nil
		})
		if err != nil || size > len(in) {
			t.Errorf("%d records, %d bytes of %d, %v", n, size, len(in), err)
		}
	})
}
