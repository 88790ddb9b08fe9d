package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// events are the 33 hook events of the client's own list.
var events = strings.Fields(`PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification
	UserPromptSubmit UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart
	SubagentStop PreCompact PostCompact PreModelSwitch PostModelSwitch PermissionRequest
	PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult
	ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged
	DirectoryAdded MessageDisplay`)

func TestNames(t *testing.T) {
	names := Names()
	want := []string{"AgentEvent", "Agent", "PermissionRequest", "SessionInfo", "PermissionResponse", "AgentMessage",
		"Decision", "Record", "ws/Message", "Problem", "Token", "Device", "Pairing", "Runtime", "NATSInfo", "EventsMarker", "HookOutput", "PermissionUpdate", "RepoContext", "ToolMutationEvent", "Envelope", "LedgerRow", "LedgerSummary"}
	for _, e := range events {
		want = append(want, "hooks/"+e)
	}
	for _, tool := range strings.Fields("Bash Write Edit Read Glob Grep WebFetch WebSearch Task AskUserQuestion ExitPlanMode") {
		want = append(want, "tools/"+tool)
	}
	for _, n := range want {
		if !slices.Contains(names, n) {
			t.Errorf("no schema %s", n)
		}
	}
	if len(events) != 33 {
		t.Errorf("%d events in the table, want 33", len(events))
	}
	var hooks int
	for _, n := range names {
		if strings.HasPrefix(n, "hooks/") && n != "hooks/Base" {
			hooks++
		}
	}
	if hooks != len(events) {
		t.Errorf("%d hook schemas for %d events", hooks, len(events))
	}
}

// TestSchemas compiles every schema, holds its $id to its name and validates its example.
func TestSchemas(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			raw, err := Raw(name)
			if err != nil {
				t.Fatal(err)
			}
			var head struct {
				Schema      string `json:"$schema"`
				ID          string `json:"$id"`
				Title       string
				Description string
			}
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			if head.Schema != "https://json-schema.org/draft/2020-12/schema" {
				t.Errorf("$schema is %q", head.Schema)
			}
			rest, ok := strings.CutPrefix(head.ID, idPrefix+name+"/")
			if !ok || strings.Count(rest, ".") != 2 {
				t.Errorf("$id is %q, want %s%s/<version>", head.ID, idPrefix, name)
			}
			if head.Title == "" || head.Description == "" {
				t.Error("title and description are missing")
			}
			ex, err := Example(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(name, ex); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEveryExampleHasASchema finds examples that were left behind.
func TestEveryExampleHasASchema(t *testing.T) {
	err := filepath.WalkDir("examples", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(p), "examples/"), ".json")
		if !slices.Contains(Names(), name) {
			t.Errorf("%s is an example of nothing", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTitlesAreUnique keeps the types generated from the schemas apart.
func TestTitlesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, name := range Names() {
		raw, _ := Raw(name)
		var s struct{ Title string }
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if other := seen[s.Title]; other != "" {
			t.Errorf("%s and %s are both titled %s", other, name, s.Title)
		}
		seen[s.Title] = name
	}
}

// TestRecordedPayloads validates what a real client sent, event and tool input both.
func TestRecordedPayloads(t *testing.T) {
	recorded, err := filepath.Glob("testdata/payloads/*.json")
	if err != nil || len(recorded) < 50 {
		t.Fatalf("%d recordings, %v", len(recorded), err)
	}
	for _, p := range recorded {
		t.Run(filepath.Base(p), func(t *testing.T) {
			doc, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			var h struct {
				Event string          `json:"hook_event_name"`
				Tool  string          `json:"tool_name"`
				Input json.RawMessage `json:"tool_input"`
			}
			if err := json.Unmarshal(doc, &h); err != nil {
				t.Fatal(err)
			}
			if err := Validate("hooks/"+h.Event, doc); err != nil {
				t.Error(err)
			}
			if err := Validate("hooks/Base", doc); err != nil {
				t.Error(err)
			}
			if err := Validate("tools/"+h.Tool, h.Input); err != nil && !errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
		})
	}
}

// TestOriginalExamples: the definitions this project was commissioned from give an example
// each; ours extend them, so theirs stay valid.
func TestOriginalExamples(t *testing.T) {
	for _, name := range []string{"PermissionRequest", "PermissionResponse", "SessionInfo"} {
		doc, err := os.ReadFile("testdata/original/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(name, doc); err != nil {
			t.Error(err)
		}
	}
	if err := Validate("PermissionRequest", []byte(`{}`)); err != nil {
		t.Errorf("nothing is required of a PermissionRequest: %v", err)
	}
}

func TestValidateErrors(t *testing.T) {
	for _, c := range []struct{ name, doc, pointer, problem string }{
		{"PermissionRequest", `{"toolName":7}`, "/toolName", "expected string"},
		{"PermissionRequest", `{`, "", "not JSON"},
		{"PermissionRequest", `{} {}`, "", "after the first value"},
		{"PermissionRequest", ``, "", "not JSON"},
		{"hooks/PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/","tool_name":"Bash","tool_use_id":"t"}`, "", "tool_input"},
		{"PermissionUpdate", `{"type":"addRules","rules":"Bash","behavior":"allow","destination":"session"}`, "/rules", "expected array"},
		{"PermissionUpdate", `{"type":"addRules","rules":[{"tool":"Bash"}],"behavior":"allow","destination":"session"}`, "/rules/0", "toolName"},
		{"ws/Message", `{"type":"snapshot","epoch":"e","seq":0,"requests":[{"toolName":1}],"sessions":[]}`, "/requests/0/toolName", "expected string"},
	} {
		err := Validate(c.name, []byte(c.doc))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s %s: got %v, want an *Error", c.name, c.doc, err)
			continue
		}
		if e.Name != c.name || e.Pointer != c.pointer || !strings.Contains(e.Problem, c.problem) {
			t.Errorf("%s %s: got %q at %q, want %q at %q", c.name, c.doc, e.Problem, e.Pointer, c.problem, c.pointer)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{"", ".", "hooks", "openapi", "hooks/Nope", "../schemas/Agent", "examples/Agent", "hooks/../Agent", "hooks//Stop", "Agent/", "/Agent", "a\x00b"} {
		if err := Validate(name, []byte(`{}`)); !errors.Is(err, ErrUnknown) {
			t.Errorf("Validate(%q) = %v, want ErrUnknown", name, err)
		}
		if _, err := Raw(name); !errors.Is(err, ErrUnknown) {
			t.Errorf("Raw(%q) = %v, want ErrUnknown", name, err)
		}
		if _, err := Example(name); !errors.Is(err, ErrUnknown) {
			t.Errorf("Example(%q) = %v, want ErrUnknown", name, err)
		}
	}
	held := 0
	cache.Range(func(k, _ any) bool {
		if !slices.Contains(Names(), k.(string)) {
			held++
		}
		return true
	})
	if held != 0 {
		t.Errorf("%d unknown names are kept", held)
	}
}

func TestNothingIsFetched(t *testing.T) {
	for _, name := range Names() {
		raw, _ := Raw(name)
		for _, ref := range refs(t, raw) {
			if strings.HasPrefix(ref, "#/$defs/") {
				continue
			}
			target, ok := strings.CutPrefix(ref, idPrefix)
			target, version, _ := cutLast(target, "/")
			if !ok || !known(target) {
				t.Errorf("%s refers to %s, which is not embedded", name, ref)
				continue
			}
			if b, _ := Raw(target); !strings.Contains(string(b), fmt.Sprintf("%q", idPrefix+target+"/"+version)) {
				t.Errorf("%s refers to %s, a version that is not here", name, ref)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, name := range Names() {
				ex, _ := Example(name)
				if err := Validate(name, ex); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzValidate(f *testing.F) {
	for _, name := range Names() {
		ex, err := Example(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, ex)
	}
	f.Add("PermissionRequest", []byte(`{"toolInput":[[[[`))
	f.Fuzz(func(t *testing.T, name string, doc []byte) {
		err := Validate(name, doc)
		var e *Error
		if err != nil && !errors.As(err, &e) && !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// refs returns every $ref in a JSON document.
func refs(t *testing.T, doc []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, m := range v {
				if s, ok := m.(string); ok && k == "$ref" {
					found = append(found, s)
				}
				walk(m)
			}
		case []any:
			for _, m := range v {
				walk(m)
			}
		}
	}
	walk(v)
	return found
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
