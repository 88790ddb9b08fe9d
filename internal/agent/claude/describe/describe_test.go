package describe

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assent/internal/text/show"
)

func TestCall(t *testing.T) {
	for _, c := range []struct {
		tool, in, verb string
		fields         [][3]string
	}{
		{"Bash", `{"description":"Commit","command":"git commit","timeout":120000}`, "Run a command", [][3]string{
			{"command", "git commit", "code"}, {"description", "Commit", "words"}, {"timeout", "120000", "json"}}},
		{"Bash", `{"command":"npm run dev","run_in_background":true}`, "Run a command in the background", [][3]string{
			{"command", "npm run dev", "code"}, {"run_in_background", "true", "json"}}},
		{"Bash", `{"command":["ls"]}`, "Run a command", [][3]string{{"command", "[\n  \"ls\"\n]", "json"}}},
		{"Edit", `{"file_path":"/a/server.go","old_string":"a","new_string":"b","replace_all":false}`, "Edit server.go", [][3]string{
			{"file_path", "/a/server.go", "path"}, {"old_string", "a", "diff-old"}, {"new_string", "b", "diff-new"}, {"replace_all", "false", "json"}}},
		{"Edit", `{"file_path":"/a/b.go","replace_all":true}`, "Edit every match in b.go", [][3]string{
			{"file_path", "/a/b.go", "path"}, {"replace_all", "true", "json"}}},
		{"MultiEdit", `{"edits":[{"new_string":"y","old_string":"x"},{"old_string":"1","new_string":"2","odd key":3}],"file_path":"/m.go"}`, "Edit m.go in 2 places", [][3]string{
			{"file_path", "/m.go", "path"},
			{"edits[0].old_string", "x", "diff-old"}, {"edits[0].new_string", "y", "diff-new"},
			{"edits[1].old_string", "1", "diff-old"}, {"edits[1].new_string", "2", "diff-new"}, {`edits[1]."odd key"`, "3", "json"}}},
		{"MultiEdit", `{"edits":[{"old_string":"x","OLD_STRING":"y"}],"file_path":"/m.go"}`, "Edit m.go in one place", [][3]string{
			{"file_path", "/m.go", "path"},
			{"edits", "[\n  {\n    \"old_string\": \"x\",\n    \"OLD_STRING\": \"y\"\n  }\n]", "json"}}},
		{"MultiEdit", `{"edits":[],"file_path":"/m.go"}`, "Edit m.go", [][3]string{{"file_path", "/m.go", "path"}, {"edits", "[]", "json"}}},
		{"Write", `{"file_path":"/a/\u202egpj.sh","content":"x\n"}`, "Write ⟦U+202E⟧gpj.sh", [][3]string{
			{"file_path", "/a/⟦U+202E⟧gpj.sh", "path"}, {"content", "x\n", "code"}}},
		{"Write", `{"content":"x"}`, "Write a file", [][3]string{{"content", "x", "code"}}},
		{"Read", `{"file_path":"/etc/passwd"}`, "Read passwd", [][3]string{{"file_path", "/etc/passwd", "path"}}},
		{"WebFetch", `{"url":"https://example.org/b","prompt":"sum"}`, "Fetch a web page", [][3]string{
			{"url", "https://example.org/b", "url"}, {"prompt", "sum", "text"}}},
		{"WebSearch", `{"query":"go"}`, "Search the web", [][3]string{{"query", "go", "text"}}},
		{"Glob", `{"pattern":"**"}`, "Find files by name", [][3]string{{"pattern", "**", "code"}}},
		{"Grep", `{"pattern":"x","-i":true}`, "Search in files", [][3]string{{"pattern", "x", "code"}, {"-i", "true", "json"}}},
		{"NotebookEdit", `{"notebook_path":"/n.ipynb","new_source":"1","edit_mode":"delete"}`, "Edit the notebook n.ipynb", [][3]string{
			{"notebook_path", "/n.ipynb", "path"}, {"new_source", "1", "code"}, {"edit_mode", "delete", "text"}}},
		{"AskUserQuestion", `{"questions":[{"question":"Which?","header":"H","options":[{"label":"Red","description":"Warm"}],"multiSelect":false}]}`, "Answer a question", [][3]string{
			{"questions[0].question", "Which?", "text"}, {"questions[0].header", "H", "text"}, {"questions[0].multiSelect", "false", "json"},
			{"questions[0].options[0].label", "Red", "text"}, {"questions[0].options[0].description", "Warm", "words"}}},
		{"AskUserQuestion", `{"questions":[{"question":"Which?","options":["a"]},{"question":"?"}]}`, "Answer 2 questions", [][3]string{
			{"questions[0].question", "Which?", "text"}, {"questions[0].options", "[\n  \"a\"\n]", "json"}, {"questions[1].question", "?", "text"}}},
		{"ExitPlanMode", `{"plan":"# Plan\n","planFilePath":"/p.md"}`, "Approve a plan", [][3]string{{"plan", "# Plan\n", "text"}, {"planFilePath", "/p.md", "path"}}},
		{"Agent", `{"description":"d","prompt":"p","subagent_type":"s"}`, "Start a subagent", [][3]string{
			{"subagent_type", "s", "text"}, {"prompt", "p", "text"}, {"description", "d", "words"}}},
		{"Task", `{"prompt":"p"}`, "Start a subagent", [][3]string{{"prompt", "p", "text"}}},
		{"mcp__lab__echo", `{"text":"hi","nested":{"a":1}}`, "Use echo of the MCP server lab", [][3]string{
			{"text", "hi", "text"}, {"nested", "{\n  \"a\": 1\n}", "json"}}},
		{"mcp__", `{}`, "Use mcp__", [][3]string{}},
		{"New\nTool", `{"":null,"a.b":"x","say \"hi\"":1}`, "Use New⟦U+000A⟧Tool", [][3]string{
			{`""`, "null", "json"}, {`"a.b"`, "x", "text"}, {`"say \"hi\""`, "1", "json"}}},
		{"", ` {"a" : "\ud83d\ude00 \ud800 \/" } `, "Use a tool without a name", [][3]string{{"a", "😀 ⟦U+D800⟧ /", "text"}}},

		// What cannot be taken apart is shown as it came.
		{"Bash", `{"command":"rm -rf ~","COMMAND":"ls"}`, "Use Bash with an input that cannot be taken apart", [][3]string{
			{wholeInput, `{"command":"rm -rf ~","COMMAND":"ls"}`, "json"}}},
		{"Bash", `{"command":"rm","comm\u0061nd":"ls"}`, "Use Bash with an input that cannot be taken apart", [][3]string{
			{wholeInput, `{"command":"rm","comm\u0061nd":"ls"}`, "json"}}},
		{"X", `{"key":1,"` + "\u212a" + `ey":2}`, "Use X with an input that cannot be taken apart", [][3]string{
			{wholeInput, `{"key":1,"` + "\u212a" + `ey":2}`, "json"}}},
		{"Bash", `["ls"]`, "Use Bash with an input that cannot be taken apart", [][3]string{{wholeInput, `["ls"]`, "json"}}},
		{"Bash", "{\"command\":\"\xff\"}", "Use Bash with an input that cannot be taken apart", [][3]string{{wholeInput, `{"command":"⟦xFF⟧"}`, "json"}}},
		{"Bash", `{"command":"ls"} {}`, "Use Bash with an input that cannot be taken apart", [][3]string{{wholeInput, `{"command":"ls"} {}`, "json"}}},
		{"Bash", ``, "Use Bash with an input that cannot be taken apart", [][3]string{{wholeInput, ``, "json"}}},
	} {
		verb, fields := Call(c.tool, []byte(c.in))
		got := [][3]string{}
		for _, f := range fields {
			got = append(got, [3]string{f.Name, f.Text, f.Kind})
		}
		if verb != c.verb || fields == nil || !reflect.DeepEqual(got, c.fields) {
			t.Errorf("Call(%q, %s)\n got %q %q\nwant %q %q", c.tool, c.in, verb, got, c.verb, c.fields)
		}
	}
}

func TestLongNamesAreShownWhole(t *testing.T) {
	name := strings.Repeat("a", 100) + "tail"
	verb, fields := Call(name, []byte(`{}`))
	if want := "Use " + strings.Repeat("a", 40) + "…" + strings.Repeat("a", 16) + "tail"; verb != want {
		t.Errorf("verb %q, want %q", verb, want)
	}
	if len(fields) != 1 || fields[0].Text != name {
		t.Errorf("fields %q do not have the whole name", fields)
	}
}

// TestHostileSizes: what is shown stays in proportion to what came.
func TestHostileSizes(t *testing.T) {
	for name, in := range map[string]string{
		"deep":             `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
		"deep after words": `{"a":["` + strings.Repeat("]", 8000) + `",` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `]}`,
		"too deep":         `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"many members":     `{"a":[` + strings.Repeat("1,", 400000) + `1]}`,
	} {
		total := 0
		_, fields := Call("Bash", []byte(in))
		for _, f := range fields {
			total += len(f.Text)
		}
		if total > 12*len(in) || total < len(in)/2 {
			t.Errorf("%s: %d bytes are shown as %d", name, len(in), total)
		}
	}
}

// ordered is JSON with everything that a difference of inputs can lie in, and nothing else:
// order of members counts, spelling of strings does not.
type ordered struct {
	kind  byte
	text  string // number or word as written; a string decoded
	keys  []string
	items []ordered
}

func parseOrdered(raw string) ordered {
	raw = strings.TrimSpace(raw)
	switch raw[0] {
	case '{':
		var o = ordered{kind: '{'}
		i := space(raw, 1)
		for raw[i] != '}' {
			end := valueEnd(raw, i)
			o.keys = append(o.keys, unquote(raw[i:end]))
			i = space(raw, space(raw, end)+1)
			end = valueEnd(raw, i)
			o.items = append(o.items, parseOrdered(raw[i:end]))
			if i = space(raw, end); raw[i] == ',' {
				i = space(raw, i+1)
			}
		}
		return o
	case '[':
		o := ordered{kind: '['}
		elems, _ := elements(raw)
		for _, e := range elems {
			o.items = append(o.items, parseOrdered(e))
		}
		return o
	case '"':
		return ordered{kind: '"', text: unquote(raw)}
	}
	return ordered{kind: 'w', text: raw}
}

func space(in string, i int) int {
	for i < len(in) && (in[i] == ' ' || in[i] == '\t' || in[i] == '\n' || in[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns where the value that starts at i ends. It keeps no stack: in valid JSON
// counting brackets is enough.
func valueEnd(in string, i int) int {
	depth := 0
	for ; i < len(in); i++ {
		switch in[i] {
		case '"':
			for i++; in[i] != '"'; i++ {
				if in[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of what a number or word stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// genJSON draws small JSON texts whose keys and strings are those that could be confused.
func genJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		word := rapid.SampledFrom([]string{"command", "description", "edits", "questions", "options", "old_string", "label",
			"edits[0].old_string", "questions[0].options", "whole input", "tool name", "", `"`, `""`, "\\", "a b", "⟦U+0041⟧", "A", "a", "⟦", "[]", "1", "null"})
		n := 4
		if depth == 0 {
			n = 1
		}
		switch rapid.IntRange(0, n).Draw(t, "kind") {
		case 0:
			return quote(word.Draw(t, "string"))
		case 1:
			return rapid.SampledFrom([]string{"1", "1.0", "-0", "true", "null", `"\ud800"`, `"\ufffd"`, `"\u202e"`, "[]", "{}"}).Draw(t, "word")
		case 2:
			return "[" + strings.Join(rapid.SliceOfN(genJSON(depth-1), 0, 3).Draw(t, "items"), ",") + "]"
		}
		var members []string
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members = append(members, quote(word.Draw(t, "key"))+":"+genJSON(depth-1).Draw(t, "value"))
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

// TestCallIsInjective: inputs that look the same are the same, up to the order of members.
func TestCallIsInjective(t *testing.T) {
	type look struct {
		Verb   string
		Fields []show.Field
	}
	for _, tool := range []string{"Bash", "MultiEdit", "AskUserQuestion", "mcp__a__b"} {
		seen := map[string]string{} // what was shown → the input
		rapid.Check(t, func(t *rapid.T) {
			in := genJSON(3).Draw(t, "input")
			verb, fields := Call(tool, []byte(in))
			key, err := json.Marshal(look{verb, fields})
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[string(key)]; ok && !reflect.DeepEqual(sorted(parseOrdered(other)), sorted(parseOrdered(in))) {
				t.Fatalf("%s and %s are both shown as %s", other, in, key)
			}
			seen[string(key)] = in
		})
	}
}

// sorted forgets the order of members, which has no meaning to a tool.
func sorted(o ordered) any {
	switch o.kind {
	case '{':
		m := map[string]any{}
		for i, k := range o.keys {
			for m[k] != nil { // repeated keys stay apart
				k += "\x00"
			}
			m[k] = sorted(o.items[i])
		}
		return m
	case '[':
		var a []any
		for _, i := range o.items {
			a = append(a, sorted(i))
		}
		return append(a, "array")
	}
	return string(o.kind) + o.text
}

// TestEveryByteCounts changes each byte of each value of real inputs.
func TestEveryByteCounts(t *testing.T) {
	for tool, in := range map[string]string{
		"Bash":            `{"command":"git push && ls","description":"Push","timeout":12,"run_in_background":true,"x":{"deep":["y",0]}}`,
		"Edit":            `{"file_path":"/a/server.go","old_string":"a b","new_string":"c","replace_all":false}`,
		"MultiEdit":       `{"file_path":"/m.go","edits":[{"old_string":"x","new_string":"y","z":7}]}`,
		"AskUserQuestion": `{"questions":[{"question":"Which?","header":"H","options":[{"label":"Red","description":"Warm"}],"multiSelect":false}]}`,
		"Other":           `{"a":"x","b":[1,{"c":"d"}]}`,
	} {
		verb, fields := Call(tool, []byte(in))
		for i := range in {
			for _, c := range []byte{'0', 'q', 'Z', '"', ' ', 0x01, 0xff} {
				if in[i] == c {
					continue
				}
				other := []byte(in)
				other[i] = c
				v, f := Call(tool, other)
				if v == verb && reflect.DeepEqual(f, fields) {
					t.Errorf("%s and %s look the same", in, other)
				}
			}
		}
	}
}

func FuzzCall(f *testing.F) {
	f.Add("Bash", `{"command":"ls","description":"\ud800"}`)
	f.Add("MultiEdit", `{"edits":[{"old_string":"x"}]}`)
	f.Add("AskUserQuestion", `{"questions":[{"options":[{"label":1}]}]}`)
	f.Add("mcp__a__b", `{"a":1,"A":2}`)
	f.Fuzz(func(t *testing.T, tool, in string) {
		verb, fields := Call(tool, []byte(in))
		all := []string{verb}
		for _, f := range fields {
			all = append(all, f.Name, f.Text)
		}
		for _, s := range all {
			if !utf8.ValidString(s) {
				t.Errorf("%+q is not UTF-8", s)
			}
			for _, r := range s {
				if r != '\n' && r != '\t' && r != '⟦' && r != '…' && show.Line("a"+string(r)) != "a"+string(r) { // it is not safe
					t.Errorf("%+q has %U", s, r)
				}
			}
		}
		members, ok := object([]byte(in))
		if !ok {
			if want := show.Text(in); len(fields) == 0 || fields[len(fields)-1].Text != want {
				t.Errorf("%q is not shown whole: %q", in, fields)
			}
			return
		}
		// The same values come back from encoding/json, where that can see them.
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(in), &m); err != nil {
			t.Fatalf("%q was taken apart, but %v", in, err)
		}
		for _, mem := range members {
			var s string
			if mem.raw[0] != '"' || !utf8.ValidString(unquote(mem.raw)) {
				continue
			}
			if err := json.Unmarshal([]byte(mem.raw), &s); err != nil || s != unquote(mem.raw) {
				t.Errorf("unquote(%s) = %q, encoding/json says %q %v", mem.raw, unquote(mem.raw), s, err)
			}
		}
		if len(fields) < len(members) {
			t.Errorf("%d members give %d fields", len(members), len(fields))
		}
	})
}
