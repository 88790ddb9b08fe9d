package rig

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig/claude"
)

// Assent runs a command as the agent's user would, with this claude on PATH.
func (a *Agent) Assent(args ...string) string {
	a.T.Helper()
	bin := filepath.Join(a.Config.Dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		a.T.Fatal(err)
	}
	if err := os.Symlink(a.Config.Program, filepath.Join(bin, "claude")); err != nil && !os.IsExist(err) {
		a.T.Fatal(err)
	}
	for _, dir := range []string{a.Config.Home(), a.Config.Work()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			a.T.Fatal(err)
		}
	}
	cmd := exec.Command(Program("assent"), append(args, "--state-dir", a.State)...)
	cmd.Dir = a.Config.Work()
	cmd.Env = []string{"HOME=" + a.Config.Home(), "PATH=" + bin + ":/usr/bin:/bin"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.T.Fatalf("assent %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// SettingsPath is the client's settings file of the user.
func (a *Agent) SettingsPath() string {
	return filepath.Join(a.Config.Home(), ".claude", "settings.json")
}

// SettingsDialog is what the client says of settings that it does not like.
var SettingsDialog = regexp.MustCompile(`Settings (Warning|Error)`)

// Open opens the client in a terminal; it must have no complaint about its settings, and then
// show this.
func (a *Agent) Open(shows string) *claude.Terminal {
	a.T.Helper()
	Need(a.T, "tmux")
	term, err := claude.Open(a.Ctx, a.Config)
	if err != nil {
		a.T.Fatal(err)
	}
	a.T.Cleanup(func() {
		if err := term.Close(); err != nil {
			a.T.Error(err)
		}
	})
	screen, err := term.Wait(a.Ctx, regexp.MustCompile(SettingsDialog.String()+"|"+shows))
	if err != nil || SettingsDialog.MatchString(screen) {
		a.T.Fatalf("the client starts with: %v\n%s", err, screen)
	}
	return term
}

// ModeOf is the mode that the agent was in when it asked.
func (a *Agent) ModeOf(r Request) string {
	a.T.Helper()
	var doc struct {
		Mode string `json:"permissionMode"`
	}
	a.Get("/v1/requests/"+r.ID, &doc)
	return doc.Mode
}

// Uninstalled takes the hooks out again, of whatever the client has made of the file.
func (a *Agent) Uninstalled() {
	a.T.Helper()
	a.Assent("uninstall", "--yes")
	b, err := os.ReadFile(a.SettingsPath())
	if err != nil && !os.IsNotExist(err) {
		a.T.Fatal(err)
	}
	var rest map[string]json.RawMessage
	if len(b) > 0 && json.Unmarshal(b, &rest) != nil || rest["hooks"] != nil || rest["permissions"] != nil {
		a.T.Errorf("uninstall leaves:\n%s", b)
	}
}

// PendingAfter waits for a request after r.
func (a *Agent) PendingAfter(r Request) Request {
	a.T.Helper()
	var next Request
	Eventually(a.T, 2*Soon, "the next request", func() bool {
		for _, p := range a.Pending() {
			if p.ID != r.ID {
				next = p
				return true
			}
		}
		return false
	})
	return next
}

// The real client asks assent mcp, with and without the hooks beside it.

// PromptTool makes the agent ask assent's permission prompt tool too; args are those of assent mcp.
func (a *Agent) PromptTool(args ...string) {
	a.T.Helper()
	config := filepath.Join(a.Config.Dir, "mcp.json")
	out := a.Assent(append([]string{"mcp", "--print"}, args...)...)
	if err := os.WriteFile(config, []byte(out), 0o600); err != nil {
		a.T.Fatal(err)
	}
	a.Config.Args = append(a.Config.Args, "--mcp-config", config, "--permission-prompt-tool", "mcp__assent__approve")
}

// NoHooks leaves the agent without any.
func (a *Agent) NoHooks() { a.Config.Own = true }

// mcpServer is a server of the Model Context Protocol in Python's standard library: one tool that
// repeats a text, and one that asks the person what its argument says, and repeats the answer.
const mcpServer = `import json, sys
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
asked, ready = None, False
for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        say({"id": asked, "result": {"content": [{"type": "text", "text": "answer: " + json.dumps(m.get("result"), sort_keys=True)}]}})
        continue
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "lab", "version": "1"}}
    elif m["method"] == "tools/list":
        ready = True
        r = {"tools": [{"name": "echo", "description": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
            {"name": "ask", "description": "ask", "inputSchema": {"type": "object", "properties": {"params": {"type": "object"}}}}]}
    elif m["method"] == "tools/call" and m["params"]["name"] == "ask":
        asked = m["id"]
        say({"id": "form-" + str(asked), "method": "elicitation/create", "params": m["params"]["arguments"]["params"]})
        continue
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": "echo: " + m["params"]["arguments"]["text"]}]}
    say({"id": m["id"], "result": r})
    if ready:
        open(sys.argv[1], "w").close()
`

// Mode opens one of a card's other answers, likewise.
func (b *Browser) Mode(name string) {
	b.t.Helper()
	entry := Open + ` [data-ui=menu] [data-mode="` + name + `"]`
	Eventually(b.t, Soon, "the other answer "+name, func() bool {
		switch {
		case b.Has(Open + " " + Part("others") + State(name)):
			return true
		case b.Has(entry):
			b.Tap(entry)
		case b.Has(Open + " " + Action("back")):
			b.Tap(Open + " " + Action("back"))
		default:
			b.Tap(Open + " " + Action("other"))
		}
		return false
	})
}

// Choose taps an option until it is chosen, or is not: under a hasty finger it may have moved.
func (b *Browser) Choose(option string, yes bool) {
	b.t.Helper()
	b.Do(chromedp.WaitVisible(chromedp.CSS(option)))
	Eventually(b.t, Soon, option+" is as wanted", func() bool {
		if b.Has(option+" input:checked") == yes {
			return true
		}
		b.Tap(option)
		return false
	})
}

// Decide taps a button of the first card that waits until the page says what became of it: a tap
// on a card that has just moved, or of which something was not on the screen yet, does nothing, and
// then a person looks and taps again.
func (b *Browser) Decide(button, outcome string) {
	b.t.Helper()
	b.Rest()
	var id string
	Eventually(b.t, Soon, "a card waits", func() bool {
		id = Value(b, chromedp.Evaluate[string](`document.querySelector(`+JSString(Open)+`)?.dataset.request ?? ""`))
		return id != ""
	})
	card := Part("card") + `[data-request="` + id + `"]`
	Eventually(b.t, Soon, outcome+" of the request", func() bool {
		if strings.Contains(b.Text(Over+`[data-request="`+id+`"] `+Part("outcome")), outcome) {
			return true
		}
		if !Value(b, chromedp.Evaluate[bool](lookThere(card), chromedp.EvalAwaitPromise)) {
			b.touch(card + " " + button)
		}
		return false
	})
}

// mcpListed is a file that is there once the client has asked the server of WithMCP for its tools: a client whose
// model asks for them before says that there are none.
func (a *Agent) mcpListed() string { return filepath.Join(a.Config.Dir, "mcp.listed") }

// WithMCP gives the client a server of its own.
func (a *Agent) WithMCP() {
	a.T.Helper()
	script := filepath.Join(a.Config.Dir, "mcp.py")
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lab": map[string]any{"command": "python3", "args": []string{script, a.mcpListed()}}}})
	if err != nil {
		a.T.Fatal(err)
	}
	path := filepath.Join(a.Config.Dir, "mcp.json")
	if err := os.WriteFile(script, []byte(mcpServer), 0o600); err != nil {
		a.T.Fatal(err)
	}
	if err := os.WriteFile(path, servers, 0o600); err != nil {
		a.T.Fatal(err)
	}
	a.Config.Args, a.mcp = append(a.Config.Args, "--mcp-config", path), true
}

// The plugin brings the hooks: the real client installs it from this repository as from any other
// marketplace, starts without a complaint, and asks assent.

// Plugin runs claude plugin as the agent's user would.
func (a *Agent) Plugin(args ...string) string {
	a.T.Helper()
	cmd := exec.CommandContext(a.Ctx, a.Config.Program, append([]string{"plugin"}, args...)...)
	cmd.Dir = a.Config.Work()
	cmd.Env = []string{"HOME=" + a.Config.Home(), "PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=" + a.Model.URL(), "HTTP_PROXY=" + a.Model.URL(),
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.T.Fatalf("claude plugin %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// WithProgram puts assent-hook where the plugin looks first.
func (a *Agent) WithProgram() {
	a.T.Helper()
	bin := filepath.Join(a.Config.Home(), ".local", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		a.T.Fatal(err)
	}
	if err := os.Symlink(Program("assent-hook"), filepath.Join(bin, "assent-hook")); err != nil {
		a.T.Fatal(err)
	}
}

// The real client, answered by rules.

// ClaudeRules are the rules of these tests; the agent's work is the project.
const ClaudeRules = `version: 1
allow: ["Bash(git status)"]
rules:
  - id: touch-here
    action: allow
    match: {command: {program: touch, flags: {only: []}, paths: ["${project}/**"]}}
  - id: no-curl
    action: deny
    message: "Do not fetch: use the copy in vendor/, please. \"It\" is <complete>."
    match: {command: {program: curl}}
`
