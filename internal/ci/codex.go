package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
	"assent/internal/agent/codex/hooklist"
	codexinstall "assent/internal/agent/codex/install"
	"assent/internal/text/strictjson"
)

// codexExec is codex exec, which takes settings on its command line, and with them hooks and the trust that
// they need.
type codexExec struct{}

func (codexExec) names() (title, pkg string, programs []string) {
	f := codex.New().Facts()
	return f.Title, f.Package, []string{"codex"}
}

// parse wants codex exec --approve-for-me: without that flag Codex asks no hook.
func (codexExec) parse(a *Agent) error {
	exec := slices.IndexFunc(a.words[a.at+1:], func(w string) bool { return w == "exec" || w == "e" })
	if exec < 0 {
		return errors.New("codex without exec is for a terminal: assent ci run -- codex exec --approve-for-me \"...\"")
	}
	a.put = a.at + 1 + exec + 1
	asks := false
	err := a.flags([]string{"-c", "--config", "-s", "--sandbox", "-a", "--ask-for-approval", "--disable"}, func(name, value string) error {
		key, _, _ := strings.Cut(value, "=")
		switch {
		case name == "--approve-for-me":
			asks = true
		case name == "--yolo", name == "--dangerously-bypass-approvals-and-sandbox", name == "-a", name == "--ask-for-approval",
			(name == "-s" || name == "--sandbox") && value == "danger-full-access",
			(name == "-c" || name == "--config") && (strings.HasPrefix(key, "approval") || strings.HasPrefix(key, "sandbox_mode") || strings.HasPrefix(key, "features") || strings.HasPrefix(key, "hooks")),
			name == "--disable" && strings.Contains(value, "hook"):
			return fmt.Errorf("%s: then Codex may ask no hook, and no rule would count; leave it out and allow with rules what may run", strings.TrimSpace(name+" "+value))
		case name == "--dangerously-bypass-hook-trust":
			return fmt.Errorf("%s: then hooks of the checkout run, too; leave it out, assent's own are trusted without it", name)
		}
		return nil
	})
	if err == nil && !asks {
		err = errors.New("codex exec asks no hook without --approve-for-me: assent ci run -- codex exec --approve-for-me \"...\"")
	}
	return err
}

func (codexExec) judge(r *run, v string) string {
	return measured(r, codex.New().Facts(), v)
}

// hooks hands Codex its hooks as settings of this run, asks it what they are called, and has it trust these
// and no others.
func (codexExec) hooks(ctx context.Context, r *run, socket string) ([]string, error) {
	command, err := r.Hook(socket)
	if err != nil {
		return nil, err
	}
	asks, timeout := install.CIWords(r.Timeout)
	var words []string
	ours := map[string]bool{}
	for _, event := range codex.Events {
		h := codexinstall.HookOf(command, event, asks, timeout)
		ours[h.Command] = true
		words = append(words, "-c", fmt.Sprintf("hooks.%s=[{hooks=[{type=%s,command=%s,timeout=%d}]}]", event, toml(h.Type), toml(h.Command), h.Timeout))
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	a := &r.Agent
	all, err := hooklist.Of(ctx, slices.Concat(a.words[:a.at+1], []string{"app-server"}, words), agentEnv(), dir)
	if err != nil {
		return nil, fmt.Errorf("ask Codex about the hooks of this run: %w", err)
	}
	var trust []string
	for _, h := range all {
		switch {
		case ours[h.Command] && h.CurrentHash != "":
			trust = append(trust, toml(h.Key)+"={trusted_hash="+toml(h.CurrentHash)+"}")
		case h.Runs() && strings.EqualFold(h.EventName, "permissionRequest"):
			r.problem("second-decider", "a hook of "+h.Key+" answers permission requests too: both are asked, and this report may not see the other answer", false)
		}
	}
	if len(trust) != len(codex.Events) {
		return nil, fmt.Errorf("codex knows %d of the %d hooks of this run; with what it is told it would run without asking", len(trust), len(codex.Events))
	}
	return append(words, "-c", "hooks.state={"+strings.Join(trust, ",")+"}"), nil
}

func (codexExec) others(*run) {}

// toml is a text as TOML takes it: a basic string, whose escapes are those of JSON.
func toml(s string) string {
	b, _ := strictjson.Encode(s) // of a text there is no error
	return string(b)
}
