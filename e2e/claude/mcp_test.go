package claude

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// Hook and tool ask about each call; each is one request, with one answer for both.
func TestClaudeAsksHookAndToolOnce(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.PromptTool()
	run := a.Headless([]modelserver.Use{a.Touch("one.txt")}, []modelserver.Use{a.Touch("two.txt")})
	r := a.WaitPending(1)[0]
	a.Allow(r)
	r2 := a.WaitPending(1)[0]
	a.Deny(r2, "one is enough")
	res := a.Result(run)
	if results := a.Model.Results(); len(results) != 2 || results[1].Content != "one is enough" {
		t.Errorf("the model read %+v", results)
	}
	if res.Exit != 0 || !a.Exists("one.txt") || a.Exists("two.txt") {
		t.Errorf("result %+v, one %v, two %v", res, a.Exists("one.txt"), a.Exists("two.txt"))
	}
	rs := a.Settled()
	if len(rs) != 2 || rs[0].ID != r2.ID || rs[1].ID != r.ID {
		t.Errorf("requests %+v, want the two that were answered", rs)
	}
	a.Until(r.ID, "confirmed", func(r rig.Request) bool { return r.Delivery == "confirmed" })
	if s := rig.Steps(a.Trace(r.ID)); s != "asked decided delivered confirmed" {
		t.Errorf("steps: %s", s)
	}
}

// Two calls at once are two requests, each with its own answer for both ways of asking.
func TestClaudeAsksHookAndToolOfParallelCalls(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.PromptTool()
	fetch := func(url string) modelserver.Use {
		return modelserver.Use{Name: "WebFetch", Input: map[string]any{"url": url, "prompt": "Summarise"}}
	}
	run := a.Headless([]modelserver.Use{fetch("https://example.com/a"), fetch("https://example.org/b")})
	for _, r := range a.WaitPending(2) {
		if strings.Contains(string(r.ToolInput), "example.org") {
			a.Deny(r, "not this one")
		} else {
			a.Allow(r)
		}
	}
	a.Result(run)
	if out := strings.Join(a.Model.Refused(), " "); !strings.Contains(out, "example.com") || strings.Contains(out, "example.org") {
		t.Errorf("the client wanted to reach %q", out)
	}
	if rs := a.Settled(); len(rs) != 2 {
		t.Errorf("requests %+v", rs)
	}
}

func TestClaudeAsksTheToolAlone(t *testing.T) {
	for _, client := range []string{"claude", "claude-oldest"} { // in the oldest -p asks no hook
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			path := rig.Need(t, client)
			a := rig.NewAgent(t)
			a.Config.Program = path
			a.NoHooks()
			a.PromptTool()
			run := a.Headless([]modelserver.Use{a.Touch("one.txt")}, []modelserver.Use{a.Touch("two.txt")})
			r := a.WaitPending(1)[0]
			if r.ToolName != "Bash" || r.SessionID == "" || !strings.Contains(r.Raw+string(r.ToolInput), "one.txt") {
				t.Errorf("request %+v", r)
			}
			a.Allow(r)
			a.Deny(a.WaitPending(1)[0], "not <two>")
			a.Result(run)
			if res := a.Model.Results(); len(res) != 2 || res[1].Content != "not <two>" {
				t.Errorf("the model read %+v", res)
			}
			if !a.Exists("one.txt") || a.Exists("two.txt") {
				t.Errorf("one %v, two %v", a.Exists("one.txt"), a.Exists("two.txt"))
			}
		})
	}
}

// With a prompt tool claude -p may ask questions, and a plain yes answers none.
func TestClaudeQuestionIsAnsweredThroughTheTool(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.NoHooks()
	a.PromptTool()
	run := a.Headless([]modelserver.Use{{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{
			map[string]any{"label": "Red", "description": "d"}, map[string]any{"label": "Blue", "description": "d"}}},
	}}}})
	r := a.WaitPending(1)[0]
	var input map[string]any
	if err := json.Unmarshal(r.ToolInput, &input); err != nil {
		t.Fatal(err)
	}
	input["answers"] = map[string]string{"Which colour?": "Blue"}
	a.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: rig.Object(t, input)})
	a.Result(run)
	if res := a.Model.Results(); len(res) != 1 || res[0].IsError || !strings.Contains(res[0].Content, "Blue") {
		t.Errorf("the model read %+v", res)
	}
}

// Nobody answers: the deadline denies, in words that are not a person's.
func TestClaudeToolDeniesWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.PromptTool("--timeout", "5s")
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	res := a.Result(run)
	if results := a.Model.Results(); len(results) != 1 || !strings.Contains(results[0].Content, "No person has seen") {
		t.Errorf("the model read %+v", results)
	}
	if a.Exists("out.txt") || res.Exit != 0 {
		t.Errorf("result %+v", res)
	}
	if rs := a.Settled(); len(rs) != 1 || rs[0].Outcome != "expired" {
		t.Errorf("requests %+v", rs)
	}
}

// Without a broker there is no prompt to fall back to, so the call is denied, and the words say why.
func TestClaudeToolDeniesWithoutABroker(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.NoHooks()
	a.PromptTool()
	a.Stop()
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	a.Result(run)
	if res := a.Model.Results(); len(res) != 1 || !strings.Contains(res[0].Content, "no broker at "+a.Socket) || !strings.Contains(res[0].Content, "No person has seen") {
		t.Errorf("the model read %+v", res)
	}
	if a.Exists("out.txt") {
		t.Error("the command ran though nobody allowed it")
	}
}

// The broker is killed while both wait. They come back to the next one, and are still one request.
func TestClaudeToolComesBackToTheNextBroker(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.PromptTool()
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	r := a.WaitPending(1)[0]
	a.Kill()
	a.Start()
	a.Until(r.ID, "attached", func(r rig.Request) bool { return !r.Detached })
	a.Allow(a.Request(r.ID))
	a.Result(run)
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	for _, s := range a.Settled() {
		if s.ID != r.ID && s.Outcome == "allowed" {
			t.Errorf("another request: %+v", s)
		}
	}
}

// A client that is killed or ended takes its questions with it.
func TestClaudeToolGoesWithTheClient(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			a := rig.NewAgent(t)
			a.NoHooks()
			a.PromptTool()
			run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
			r := a.WaitPending(1)[0]
			if err := run.Signal(sig); err != nil {
				t.Fatal(err)
			}
			a.Until(r.ID, "withdrawn", func(r rig.Request) bool { return r.Outcome == "withdrawn" })
			if a.Exists("out.txt") {
				t.Error("the command ran")
			}
		})
	}
}

// The same over HTTP, with a token that can only ask, in the file where hooks have it too.
func TestClaudeToolAsksABrokerElsewhere(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.NoHooks()
	url, _ := a.Owner()
	conf := filepath.Join(a.Config.Home(), ".config", "assent")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "hook.conf"), []byte("token = "+a.CreateToken("submit", "ci")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(a.Config.Dir, "mcp.json")
	b := rig.Object(t, map[string]any{"mcpServers": map[string]any{"assent": map[string]any{"command": rig.Program("assent"), "args": []string{"mcp", "--url", url}}}})
	if err := os.WriteFile(config, b, 0o600); err != nil {
		t.Fatal(err)
	}
	a.Config.Args = []string{"--mcp-config", config, "--permission-prompt-tool", "mcp__assent__approve"}
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")})
	a.Allow(a.WaitPending(1)[0])
	a.Result(run)
	if !a.Exists("out.txt") {
		t.Error("the allowed command did not run")
	}
	// A token that is no longer good is a denial that says so.
	if err := os.WriteFile(filepath.Join(conf, "hook.conf"), []byte("token = nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Result(a.Headless([]modelserver.Use{a.Touch("two.txt")}))
	res := a.Model.Results()
	if last := res[len(res)-1]; !strings.Contains(last.Content, "does not accept the token") || a.Exists("two.txt") {
		t.Errorf("the model read %+v", res)
	}
}

// A repository cannot name a broker of its own by a variable, which Claude Code hands to the server.
func TestMCPTakesNoPathFromTheEnvironment(t *testing.T) {
	dir := rig.TempDir(t)
	for _, env := range []string{"ASSENT_SOCKET=" + dir + "/evil.sock", "ASSENT_URL=http://127.0.0.1:9", "ASSENT_STATE_DIR=" + dir} {
		cmd := exec.Command(rig.Program("assent"), "mcp")
		cmd.Env = []string{"HOME=" + dir, env, "ASSENT_TOKEN=t"}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "--socket, --url or --state-dir") {
			t.Errorf("%s: %v %s", env, err, out)
		}
	}
}

// A state directory that is named by a flag leads to its broker.
func TestMCPFindsTheBrokerOfAStateDirectory(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	cmd := exec.CommandContext(t.Context(), rig.Program("assent"), "mcp", "--state-dir", d.State)
	cmd.Env = []string{"HOME=" + rig.TempDir(t)}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out := make(chan string, 1)
	go func() {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve", Arguments: map[string]any{
			"tool_name": "Bash", "input": map[string]any{"command": "touch x"}, "tool_use_id": "toolu_1",
		}})
		if err != nil {
			out <- err.Error()
			return
		}
		b, _ := json.Marshal(res.Content)
		out <- string(b)
	}()
	d.Allow(d.WaitPending(1)[0])
	if got := <-out; !strings.Contains(got, `\"behavior\":\"allow\"`) {
		t.Errorf("the tool answered %s", got)
	}
}
