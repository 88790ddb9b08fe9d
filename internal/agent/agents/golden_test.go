package agents

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assent/internal/agent/codex/patch"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

// golden is what was measured of an agent: what its payloads say, by file, and what is to be printed for
// a decision.
type golden struct {
	Decode map[string]struct {
		Agent, Event, NativeEvent, SessionID, AgentID, AgentType, CWD, Mode, Tool, NativeTool, CallID string
		Input                                                                                         json.RawMessage
		Suggestions                                                                                   json.RawMessage
		Paths                                                                                         []struct{ Op, Path string }
		Prompt, NotificationType, Message, LastMessage                                                string
		Asks                                                                                          bool
	}
	Encode []struct {
		Decision *struct {
			Behavior, Message string
			Interrupt         bool
			UpdatedInput      json.RawMessage
		}
		Stdout  string
		Exit    int
		Refused string
	}
}

// TestGolden holds every agent against payloads of its real program, and the bytes that it takes.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/golden.json")
	if err != nil || len(dirs) != len(all)-1 { // Claude Code's are in its package
		t.Fatalf("%d agents with golden rows, %v", len(dirs), err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			a, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			b, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(b, &g)
			}
			if err != nil || len(g.Decode) == 0 || len(g.Encode) == 0 {
				t.Fatal(len(g.Decode), len(g.Encode), err)
			}
			var asked *hook.Request
			for file, want := range g.Decode {
				t.Run(file, func(t *testing.T) {
					raw, err := os.ReadFile(filepath.Join(dir, file))
					if err != nil {
						t.Fatal(err)
					}
					event := "" // where the payload does not say it, the hook's command line does
					if !strings.Contains(string(raw), "hook_event_name") {
						event = want.NativeEvent
					}
					if want.Asks { // Droid asks in an event of another name
						want.Event = hook.EventPermissionRequest
					}
					p, err := a.Decode(event, raw)
					if err != nil || p.Uninspectable != "" {
						t.Fatalf("%v, %s", err, p.Uninspectable)
					}
					got := [...]string{p.Type, p.SessionID, p.AgentID, p.AgentType, p.CWD, p.PermissionMode, p.ToolName, p.ToolUseID, p.CallKey}
					if w := [...]string{want.Event, want.SessionID, want.AgentID, want.AgentType, want.CWD, want.Mode, want.Tool, want.CallID, ""}; got != w {
						t.Errorf("got  %q\nwant %q", got, w)
					}
					if native := want.NativeEvent; event != "" && p.NativeType != native && (p.NativeType != "" || p.Type != native) {
						t.Errorf("its own name of the event: %q, want %q", p.NativeType, native)
					}
					if native := want.NativeTool; p.NativeTool != native && (p.NativeTool != "" || p.ToolName != native) {
						t.Errorf("its own name of the tool: %q, want %q", p.NativeTool, native)
					}
					same(t, "input", p.ToolInput, want.Input)
					same(t, "suggestions", p.Suggestions, want.Suggestions)
					if in := nativeInput(raw); p.ToolInput != nil && p.InputSHA256 != digest.Of(in) {
						t.Errorf("a decision is bound to another input than %s", in)
					}
					if asks := p.Type == hook.EventPermissionRequest && p.ToolName != "" && p.SessionID != ""; asks != want.Asks {
						t.Errorf("asks: %v", asks)
					}
					d := a.Detail(event, raw)
					if d.Problem != "" || d.NotJSON {
						t.Errorf("detail: %s", d.Problem)
					}
					prompt := p.Type == hook.EventUserPromptSubmit
					if !want.Asks && (d.Message != want.Message || d.NotificationType != want.NotificationType || prompt && d.Prompt != want.Prompt) {
						t.Errorf("detail: %+v", d)
					}
					if len(want.Paths) > 0 {
						text, _ := codexPatch(p.ToolInput)
						var paths []struct{ Op, Path string }
						for _, f := range text.Files {
							paths = append(paths, struct{ Op, Path string }{string(f.Op), f.Path})
						}
						if !text.Whole || !reflect.DeepEqual(paths, want.Paths) {
							t.Errorf("paths: %+v", text)
						}
					}
					if want.Asks {
						asked = &hook.Request{Agent: name, ToolName: p.ToolName, ToolInput: p.ToolInput, Suggestions: p.Suggestions}
						if verb, fields := a.Describe(p.ToolName, p.ToolInput); verb == "" || len(fields) == 0 {
							t.Errorf("described as %q %v", verb, fields)
						}
					}
				})
			}
			asked.ToolName = "Bash"
			for _, row := range g.Encode {
				if row.Decision == nil { // nothing is printed, whoever the agent is
					if row.Stdout != "" || row.Exit != 0 {
						t.Errorf("it wants something for nothing: %+v", row)
					}
					continue
				}
				asked.ToolInput = hook.JSON(`{"command":"touch a"}`)
				d := hook.Decision{Behavior: hook.Behavior(row.Decision.Behavior), Message: row.Decision.Message, Interrupt: row.Decision.Interrupt, UpdatedInput: hook.JSON(row.Decision.UpdatedInput)}
				out, err := Encode(d, asked)
				var field *hook.FieldError
				switch {
				case row.Refused != "":
					if !errors.As(err, &field) || !strings.Contains(row.Refused, field.Field) || Check(d, asked) == nil {
						t.Errorf("%+v: %s, %v; want it refused", d, out, err)
					}
				case err != nil || string(out) != row.Stdout || row.Exit != 0:
					t.Errorf("%+v:\ngot  %s %v\nwant %s", d, out, err, row.Stdout)
				}
			}
		})
	}
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if (got != nil && json.Unmarshal(got, &g) != nil) || (want != nil && json.Unmarshal(want, &w) != nil) || !reflect.DeepEqual(g, w) {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// nativeInput is the input as it stands in a payload.
func nativeInput(raw []byte) []byte {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	for _, k := range []string{"tool_input", "toolInput", "toolArgs"} {
		if members[k] != nil {
			return members[k]
		}
	}
	return nil
}

func codexPatch(input []byte) (patch.Patch, error) {
	var in struct{ Command string }
	err := json.Unmarshal(input, &in)
	return patch.Read(in.Command), err
}

// Copilot runs the hooks that a repository registered for Claude Code: its request is known by its members, and
// its other events come in Claude Code's own words.
func TestCopilotViaClaude(t *testing.T) {
	const session, command = "72daf4a9-3894-44a8-873a-10e1be4cace6", "touch /home/user/project/made"
	for file, x := range map[string]struct{ agent, event, want string }{
		"PermissionRequest.json": {"copilot", "", hook.EventPermissionRequest},
		"PreToolUse.json":        {"claude", "", hook.EventPreToolUse},
		"Stop.json":              {"claude", "", hook.EventStop},
	} {
		raw, err := os.ReadFile(filepath.Join("testdata/copilot-via-claude", file))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Reader(x.agent).Decode(x.event, raw)
		var in struct{ Command string }
		if p.ToolInput != nil {
			err = errors.Join(err, json.Unmarshal(p.ToolInput, &in))
		}
		if tool := p.Type != hook.EventStop; err != nil || p.Uninspectable != "" || p.Type != x.want || p.SessionID != session || tool && (p.ToolName != "Bash" || in.Command != command) {
			t.Errorf("%s: %+v, %v", file, p, err)
		}
	}
}
