package install

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// Whatever stands in the settings: a refusal that changes nothing, or hooks that go again without
// a trace.
func FuzzInstall(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{ }\n", "\xef\xbb\xbf{}", `{"a":1}`, "{\r\n\t\"a\" : [1 , {}]\r\n}", "// c\n{}", `{"a":[1,],}`, `{"hooks":{}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
		`{"hooks":{"Stop":[{"matcher":"x","hooks":[{"command":"/o/assent-hook","args":[]},{"command":"y"}]}],"Setup":[]},"b":2}`,
		`{"hooks" : {"PermissionRequest" : [ {"hooks" : [{"command":"assent hook --url u"}]} ] } , "permissions":{"ask":["Bash(rm:*)"],"defaultMode":"plan"}}`,
		`{"permissions":{"ask":[]}, "hooks":{"WorktreeCreate":[{"hooks":[{"command":"'/x y/assent-hook' --socket s"}]}]}}`,
		`{"\u0068ooks":{"FileChanged":[{"matcher":"go.mod","hooks":[{"command":"assent-hook"}]}]},"x":"\ud800"}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, asked bool) {
		o := Options{Versions: []string{Newest}, Command: []string{"/opt/assent-hook", "--socket", "/s"}}
		if asked {
			ways["asked"](&o)
		}
		events, err := Events(o.Versions)
		must(t, err)
		had := bytes.Contains(text, []byte("assent")) || bytes.Contains(text, []byte(`\u`))
		p := Plan{Path: "x", Before: text}
		if o.edit(&p, memory{}, events) != nil {
			if got, _, err := (memory{Ask: []string{"x"}}).cleaned("Claude Code", "x", text); err == nil && !had {
				wantSame(t, "nothing of ours", got, text)
			}
			return
		}
		if !json.Valid(bytes.TrimPrefix(p.After, bom)) {
			t.Fatalf("no JSON:\n%s", p.After)
		}
		counted(t, p, events)
		if !had {
			wantForeign(t, text, p.After)
		}
		again := Plan{Path: "x", Before: p.After}
		if err := o.edit(&again, *p.memory, events); err != nil || again.Changed() {
			t.Fatalf("a second install changes %s %v", again.Diff(), err)
		}
		for _, m := range []memory{{}, *p.memory, *again.memory} {
			got, ok, err := m.cleaned("Claude Code", "x", p.After)
			if err != nil || !ok {
				t.Fatalf("uninstall: %v", err)
			}
			if d, err := parse("x", got); err != nil || d.hooks() != nil && len(ours(d.hooks())) > 0 {
				t.Fatalf("hooks are left: %v\n%s", err, got)
			}
			if m.After != "" && !had {
				wantSame(t, "install, uninstall", got, text)
			}
		}
	})
}

// counted wants one hook of assent for each of these events, and none that must not be.
func counted(t *testing.T, p Plan, events []string) {
	t.Helper()
	d, err := parse("x", p.After)
	must(t, err)
	count := map[string]int{}
	for _, h := range d.all() {
		if h.Ours {
			count[h.Event]++
		}
	}
	for _, n := range events {
		if count[n] != 1 {
			t.Fatalf("%s has %d hooks", n, count[n])
		}
	}
	if err := d.strict(nil); err != nil || count["WorktreeCreate"] > 0 || len(p.Events) != len(count) {
		t.Fatalf("%v, %d events, %v", err, len(count), p.Events)
	}
}

// wantForeign wants everything in before to be in after, where it was.
func wantForeign(t *testing.T, before, after []byte) {
	t.Helper()
	if before = bytes.TrimPrefix(before, bom); len(bytes.TrimSpace(before)) == 0 {
		return
	}
	var x, y map[string]json.RawMessage
	if json.Unmarshal(before, &x) != nil || json.Unmarshal(bytes.TrimPrefix(after, bom), &y) != nil {
		t.Fatalf("no JSON object:\n%s", after)
	}
	for name, v := range x {
		switch name {
		case "hooks", "permissions":
			var a, b map[string]any
			_, _ = json.Unmarshal(v, &a), json.Unmarshal(y[name], &b) // objects, or Install had refused
			for k, old := range a {
				list, ok := old.([]any)
				if !ok {
					if k != "defaultMode" && !reflect.DeepEqual(old, b[k]) {
						t.Fatalf("%s.%s is %v, was %v", name, k, b[k], old)
					}
					continue
				}
				if now, _ := b[k].([]any); len(now) < len(list) || !reflect.DeepEqual(slices.Clone(now[:len(list)]), slices.Clone(list)) && len(list) > 0 {
					t.Fatalf("%s.%s is %v, was %v", name, k, b[k], old)
				}
			}
		default:
			if !bytes.Equal(v, y[name]) {
				t.Fatalf("%q is %s, was %s", name, y[name], v)
			}
		}
	}
}
