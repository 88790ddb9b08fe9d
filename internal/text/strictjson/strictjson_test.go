package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func TestObject(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // keys and values, or the error
	}{
		{`{}`, ``},
		{" {\t} \r\n", ``},
		{`{"a":1,"a":[ 2 ],"A":{"x":"}"}}`, `a=1 a=[ 2 ] A={"x":"}"} `},
		{` { "a" : "b" , "c":-1.5e3 } `, `a="b" c=-1.5e3 `},
		{`{"\u0061\n":"\ud800"}`, "a\n=\"\\ud800\" "},
		{`{"\ud800":1,"` + "\xff" + `":"` + "\xff" + `"}`, "\ufffd=1 \ufffd=\"\xff\" "},
		{``, `not a JSON object`},
		{`[]`, `not a JSON object`},
		{`null`, `not a JSON object`},
		{"\ufeff{}", `not a JSON object`},
		{`{`, `not JSON: `},
		{`{"a":1,}`, `a=1 not JSON: `},
		{`{"a":1,"b":}`, `a=1 at member "b": not JSON: `},
		{`{"a":1 "b":2}`, `a=1 not JSON: `},
		{`{"a" 1}`, `at member "a": not JSON: `},
		{`{1:2}`, `not JSON: `},
		{`{"a":01}`, `a=0 not JSON: `},
		{"{\"a\":\"\x01\"}", `at member "a": not JSON: `},
		{`{"a":1}{}`, `a=1 not JSON: text after the first value`},
		{`{"a":1}]`, `a=1 not JSON: text after the first value`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			text := []byte(tt.text)
			members, err := Object(text)
			var got strings.Builder
			for _, m := range members {
				got.WriteString(m.Key + "=" + string(m.Value) + " ")
				if string(text[m.At:m.At+len(m.Value)]) != string(m.Value) || unsafe.SliceData(m.Value) != &text[m.At] {
					t.Errorf("%s is no part of the text at %d", m.Value, m.At)
				}
			}
			if err != nil {
				got.WriteString(err.Error())
			}
			if got.String() != tt.want && (err == nil || !strings.HasSuffix(tt.want, ": ") || !strings.HasPrefix(got.String(), tt.want)) {
				t.Errorf("got  %q\nwant %q", got.String(), tt.want)
			}
		})
	}
}

func TestArray(t *testing.T) {
	got, err := Array([]byte(` [ 1 , "]" ,{"a":[]}]`))
	if err != nil || string(bytes.Join(got, []byte("|"))) != `1|"]"|{"a":[]}` {
		t.Errorf("%q %v", got, err)
	}
	for _, text := range []string{``, `{}`, `[`, `[1`, `[1,]`, `[1 2]`, `[1]]`, `[}`, `"["`} {
		if got, err := Array([]byte(text)); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	if _, err := Object(nested(MaxDepth)); err != nil {
		t.Errorf("%d deep: %v", MaxDepth, err)
	}
	if _, err := Object(nested(MaxDepth + 1)); err == nil {
		t.Error("deeper: no error")
	}
	if a := Ambiguous(nested(200), 200); a != nil {
		t.Errorf("200 deep: %+v", a)
	}
	if a := Ambiguous(nested(201), 200); a == nil || !a.TooDeep {
		t.Errorf("201 deep: %+v", a)
	}
}

func TestAmbiguous(t *testing.T) {
	wide := `{"k0":1`
	for i := range 40 {
		wide += `,"k` + strings.Repeat("x", i+1) + `":{"a":1}`
	}
	for _, tt := range []struct{ text, key string }{
		{`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`, ""},
		{`{"a":"a","b":["a","a"]}`, ""},
		{`{"a":{"b":{}},"c":{"b":{}}}`, ""},
		{`{"a":1,"\u0061":2}`, "a"},
		{`{"x":[{"b":{"a":1,"A":2}}]}`, "A"},
		{`{"k":1,"` + "\u212a" + `":2}`, "\u212a"},
		{`{"i":1,"` + "\u0131" + `":2}`, "\u0131"},
		{`{"i":1,"` + "\u0130" + `":2}`, "\u0130"},
		{`{"\ud800":1,"\udfff":2}`, "\ufffd"},
		{`{"\ud800":1,"\udbff\udbff":2}`, "\ufffd\ufffd"},
		{wide + "}", ""},
		{wide + `,"K0":1}`, "K0"},
		{wide + `,"k":{"a":1,"a":1}}`, "a"},
		{`}`, ""}, {`[}`, ""}, {`{"a"`, ""}, {`{"a":1]`, ""}, // no JSON: somebody else's matter
	} {
		t.Run(tt.text, func(t *testing.T) {
			got := ""
			if a := Ambiguous([]byte(tt.text), 200); a != nil {
				got = a.Key
			}
			if got != tt.key {
				t.Errorf("got %q, want %q", got, tt.key)
			}
		})
	}
}

func TestVariantAndRepeated(t *testing.T) {
	members, err := Object([]byte(`{"tool_name":1,"Tool_Input":2,"x":3,"X":4}`))
	if err != nil {
		t.Fatal(err)
	}
	if name, found := Variant(members, "tool_name", "tool_input"); !found || name != "tool_input" {
		t.Errorf("variant %q %v", name, found)
	}
	if name, found := Variant(members, "tool_name", "Tool_Input", "y"); found {
		t.Errorf("%q is exact", name)
	}
	if key, found := Repeated(members); !found || key != "X" {
		t.Errorf("repeated %q %v", key, found)
	}
	if key, found := Repeated(members[:3]); found {
		t.Errorf("repeated %q", key)
	}
}

// FuzzObject compares with encoding/json.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"A":[{"b":"\ud800"}]}`, "{\"\xff\":1e999,\"\\n\":null}", `[1,{"a":{}}]`, `{"a":1}x`, `{"a":{"a":[[]]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		compare(t, text)
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
	})
}

// compare fails where this package and encoding/json do not read text as the same members.
func compare(t testing.TB, text []byte) {
	t.Helper()
	members, err := Object(text)
	want, wantErr := standard(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, encoding/json says %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if len(members) != len(want) {
		t.Fatalf("%q: %d members, want %d", text, len(members), len(want))
	}
	for i, m := range members {
		if m.Key != want[i].Key || !bytes.Equal(m.Value, want[i].Value) {
			t.Fatalf("%q: member %q %s, want %q %s", text, m.Key, m.Value, want[i].Key, want[i].Value)
		}
		if m.Value[0] == '[' {
			compareArray(t, m.Value)
		}
		if m.Value[0] == '"' {
			var s string
			if err := json.Unmarshal(m.Value, &s); err != nil || s != Text(m.Value) {
				t.Fatalf("%s is %q, want %q %v", m.Value, Text(m.Value), s, err)
			}
		}
	}
	const depth = 20
	if got, want := Ambiguous(text, depth), standardAmbiguous(text, depth); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: ambiguous %+v, want %+v", text, got, want)
	}
}

func compareArray(t testing.TB, text []byte) {
	t.Helper()
	got, err := Array(text)
	var want []json.RawMessage
	if wantErr := json.Unmarshal(text, &want); err != nil || wantErr != nil || len(got) != len(want) {
		t.Fatalf("%s: %d elements %v, want %d %v", text, len(got), err, len(want), wantErr)
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: %s, want %s", text, got[i], want[i])
		}
	}
}

// standard reads the members of an object with encoding/json.
func standard(text []byte) ([]Member, error) {
	if !json.Valid(text) {
		return nil, errors.New("not valid")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, ErrNotObject
	}
	var all []Member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		all = append(all, Member{Key: key.(string), Value: value})
	}
	return all, nil
}

// standardAmbiguous is Ambiguous by way of encoding/json, for text that is JSON.
func standardAmbiguous(text []byte, depth int) *Ambiguity {
	if depth == 0 && (text[0] == '{' || text[0] == '[') {
		return &Ambiguity{TooDeep: true}
	}
	text = bytes.TrimSpace(text)
	switch text[0] {
	case '{':
		members, _ := standard(text)
		seen := map[string]bool{}
		for _, m := range members {
			if seen[Fold(m.Key)] {
				return &Ambiguity{Key: m.Key}
			}
			seen[Fold(m.Key)] = true
			if found := standardAmbiguous(m.Value, depth-1); found != nil {
				return found
			}
		}
	case '[':
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			panic(err)
		}
		for _, v := range all {
			if found := standardAmbiguous(v, depth-1); found != nil {
				return found
			}
		}
	}
	return nil
}

func TestErrorsAreTold(t *testing.T) {
	for text, want := range map[string]error{`[`: ErrNotObject, `{} {}`: ErrMore} {
		if _, err := Object([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	if members, err := Object([]byte(`{"a":1,"b":tru}`)); err == nil || !reflect.DeepEqual(members, []Member{{"a", []byte(`"a"`), []byte("1"), 5}}) {
		t.Errorf("before the fault: %v, %v", members, err)
	}
}

func BenchmarkObject(b *testing.B) {
	text := []byte(`{"session_id":"7a4c","cwd":"/home/dev/project","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status","description":"see"}}`)
	b.Run("strictjson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Object(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := standard(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ambiguous", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if Ambiguous(text, 200) != nil {
				b.Fatal("ambiguous")
			}
		}
	})
}
