package acp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// replay feeds a recorded session to a conversation, up to its request for permission, which it returns.
// Lines of the editor's begin with "> ", those of the agent with "< ".
func replay(t *testing.T, c *Conversation, file string) *Question {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		from, line := line[:2], []byte(line[2:])
		if from == "> " {
			if !c.FromEditor(line, true) {
				t.Fatalf("held back: %s", line)
			}
		} else if q := c.FromAgent(line, true); q != nil {
			return q
		}
	}
	return nil
}

// TestRecorded: what real agents asked is asked in assent's words, where it is certain what would run.
func TestRecorded(t *testing.T) {
	const made = "touch /home/user/project/made"
	for _, x := range []struct{ file, agent, tool, native, command, allow, reject string }{
		{"claude.txt", "acp:claude-agent-acp", "Bash", "", made + " && curl http://127.0.0.1:8765/x; true", `"allow-once"`, `"reject"`},
		{"codex.txt", "acp:codex-acp", "Bash", "", made, `"allow_once"`, `"cancel"`},
		{"copilot.txt", "acp:copilot", "Bash", "", made, `"allow_once"`, `"reject_once"`},
		{"gemini.txt", "acp:gemini-cli", "acp:execute", "", made, `"proceed_once"`, `"cancel"`},
		{"goose.txt", "acp:goose", "Bash", "shell", made, `"allow_once"`, `"reject_once"`},
		{"kilo.txt", "acp:kilo", "Bash", "bash", made, `"once"`, `"reject"`},
		{"kimi.txt", "acp:kimi-code-cli", "acp:execute", "Bash", made, `"approve_once"`, `"reject"`},
		{"opencode.txt", "acp:opencode", "Bash", "bash", made, `"once"`, `"reject"`},
		{"qwen.txt", "acp:qwen-code", "Bash", "run_shell_command", made, `"proceed_once"`, `"cancel"`},
	} {
		t.Run(x.file, func(t *testing.T) {
			for _, d := range []Decision{Allowed, Denied} {
				c := NewConversation("/usr/bin/" + strings.TrimSuffix(x.file, ".txt"))
				q := replay(t, c, x.file)
				if q == nil || q.Agent != x.agent || q.CWD != "/home/user/project" {
					t.Fatalf("%+v", q)
				}
				a, ok := Named(q.Agent)
				if !ok {
					t.Fatal("the broker does not know this agent")
				}
				p, err := a.Decode("", q.Payload)
				command := readObject(p.ToolInput).text("command")
				if err != nil || p.Uninspectable != "" || p.Type != hook.EventPermissionRequest || p.SessionID != q.Session || p.ToolName != x.tool || p.NativeTool != x.native || command != x.command || p.CWD != q.CWD {
					t.Errorf("%+v, %v\n%s", p, err, q.Payload)
				}
				option := x.allow
				if d == Denied {
					option = x.reject
				}
				toAgent, toEditor, ok := c.Answer(q, d)
				if want := `{"jsonrpc":"2.0","id":` + string(q.id) + `,"result":{"outcome":{"outcome":"selected","optionId":` + option + "}}}\n"; !ok || string(toAgent) != want {
					t.Errorf("the agent is told %s, want %s", toAgent, want)
				}
				if want := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + string(q.id) + "}}\n"; string(toEditor) != want {
					t.Errorf("the editor is told %s", toEditor)
				}
				select {
				case <-q.Withdrawn():
				default:
					t.Error("it still waits")
				}
			}
		})
	}
}

// TestUncertain: only what a rule can rely on has the name of a tool that rules are about.
func TestUncertain(t *testing.T) {
	for name, x := range map[string]struct{ file, old, new, tool, cwd string }{
		"an agent that nobody measured": {"codex.txt", "codex-acp", "other-acp", "acp:execute", "/home/user/project"},
		"no update said the rest":       {"opencode.txt", `"rawInput":{"command":"touch /home/user/project/made","description":"make a file","cwd":"/home/user/project"}`, `"rawInput":{}`, "acp:execute", "/home/user/project"},
		"an update said something else": {"opencode.txt", `"rawInput":{"command":"touch /home/user/project/made","description"`, `"rawInput":{"command":"touch","description"`, "acp:execute", "/home/user/project"},
		"it asks for another reason":    {"opencode.txt", `"title":"touch /home/user/project/made","kind":"execute","status":"pending"`, `"title":"x","kind":"other","status":"pending"`, "acp:other", "/home/user/project"},
		"in another directory":          {"opencode.txt", `"description":"make a file","cwd":"/home/user/project"`, `"description":"make a file","workdir":"/tmp"`, "Bash", "/tmp"},
		"in another directory (Codex)":  {"codex.txt", `"cwd":"/home/user/project"},"kind"`, `"cwd":"/etc"},"kind"`, "acp:execute", "/home/user/project"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", x.file))
			if err != nil || !bytes.Contains(text, []byte(x.old)) {
				t.Fatal(err)
			}
			c := NewConversation("agent")
			q := feed(c, strings.ReplaceAll(string(text), x.old, x.new))
			if q == nil {
				t.Fatal("not asked")
			}
			a, _ := Named(q.Agent)
			if p, err := a.Decode("", q.Payload); err != nil || p.ToolName != x.tool || p.CWD != x.cwd {
				t.Errorf("%+v, %v\n%s", p, err, q.Payload)
			}
		})
	}
}

// feed is replay of a text.
func feed(c *Conversation, text string) *Question {
	for line := range strings.Lines(text) {
		if line[:2] == "> " {
			c.FromEditor([]byte(line[2:]), true)
		} else if q := c.FromAgent([]byte(line[2:]), true); q != nil {
			return q
		}
	}
	return nil
}

// TestRecordedWhole: in every recorded session each line passes, and what was asked waits no more once the
// editor answered, or the agent said that it needs no answer.
func TestRecordedWhole(t *testing.T) {
	asks := map[string]int{"codex-hook-first.txt": 0} // the agent's hook answered before it asked
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != 13 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := NewConversation("/usr/bin/" + strings.TrimSuffix(name, ".txt"))
			var asked []*Question
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "< ") {
					if q := c.FromAgent([]byte(line[2:]), true); q != nil {
						asked = append(asked, q)
					}
				} else if !c.FromEditor([]byte(line[2:]), true) {
					t.Errorf("held back: %s", line)
				}
			}
			want, known := asks[name]
			if !known {
				want = 1
			}
			if len(asked) != want {
				t.Errorf("asked %d times, want %d", len(asked), want)
			}
			for _, q := range asked {
				select {
				case <-q.Withdrawn():
				default:
					t.Errorf("it still waits: %s", q.Payload)
				}
			}
		})
	}
}
