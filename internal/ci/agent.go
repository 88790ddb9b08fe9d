package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"assent/internal/agent/claude/install"
)

// Agent is the command line of an agent. Make it with ParseAgent.
type Agent struct {
	words    []string
	at       int    // of the word that names the client
	settings string // what it was given with --settings, "" if nothing
	decider  string // the tool of --permission-prompt-tool, "" if none
	sources  string // what --setting-sources says, "" if nothing
}

// clientPackage is how a package runner (npx, pnpm dlx, …) calls the client.
const clientPackage = "@anthropic-ai/claude-code"

// ParseAgent finds the client in a command line of at least one word, and refuses a command line
// under which no hook would be asked. Where no word names the client, the first one is a program
// that stands for it.
func ParseAgent(words []string) (Agent, error) {
	a := Agent{words: words}
	a.at = max(0, slices.IndexFunc(words, func(w string) bool {
		name := filepath.Base(w)
		return name == "claude" || name == "claude.exe" || w == clientPackage || strings.HasPrefix(w, clientPackage+"@")
	}))
	if slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "make"}, filepath.Base(words[a.at])) {
		return a, fmt.Errorf("%s takes no settings for claude: call assent ci run inside of it, where claude is called: assent ci run -- claude -p \"...\"", words[a.at])
	}
	var rest []string
	for i := a.at + 1; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		if words[i] == "--" {
			rest = append(rest, words[i:]...)
			break
		}
		switch name {
		case "--settings", "--permission-mode", "--permission-prompt-tool", "--setting-sources":
			if !given {
				if i++; i == len(words) {
					return a, fmt.Errorf("%s needs a value", name)
				}
				value = words[i]
			}
			if name == "--settings" {
				a.settings = value // taken out: claude reads one, and gets it with our hooks in it
				continue
			}
			if name == "--permission-prompt-tool" {
				a.decider = value
			} else if name == "--setting-sources" {
				a.sources = value
			} else if !slices.Contains(install.Modes, value) {
				return a, fmt.Errorf("--permission-mode %s: then Claude Code decides without asking any hook, and no rule would count; want one of %s", value, strings.Join(install.Modes, ", "))
			}
			rest = append(rest, name+"="+value)
			continue
		case "--dangerously-skip-permissions", "--bare":
			return a, fmt.Errorf("%s: then Claude Code asks no hook, and no rule would count; leave it out and allow with rules what may run", name)
		}
		rest = append(rest, words[i])
	}
	a.words = append(slices.Clone(words[:a.at+1]), rest...)
	return a, nil
}

// leavesOut reports whether the client was told not to read the settings of a scope.
func (a *Agent) leavesOut(scope install.Scope) bool {
	return a.sources != "" && !slices.ContainsFunc(strings.Split(a.sources, ","), func(s string) bool {
		return strings.TrimSpace(s) == string(scope)
	})
}

// base is the settings that the client was given, nil if none.
func (a *Agent) base() (name string, text []byte, err error) {
	switch s := strings.TrimSpace(a.settings); {
	case s == "":
		return "--settings", nil, nil
	case strings.HasPrefix(s, "{"):
		return "--settings", []byte(s), nil
	}
	text, err = os.ReadFile(a.settings)
	if err != nil {
		return "", nil, fmt.Errorf("settings for claude: %w", err)
	}
	return a.settings, text, nil
}

// versionTime bounds the wait for the client's version: a package runner may fetch it first.
const versionTime = 2 * time.Minute

var clientVersion = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.\d{1,9}`)

// version asks the client for its own.
func (a *Agent) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.words[0], append(slices.Clone(a.words[1:a.at+1]), "--version")...)
	cmd.Env = agentEnv()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", a.words[a.at], err)
	}
	v := clientVersion.FindString(strings.TrimSpace(string(out)))
	if v == "" {
		return "", fmt.Errorf("%s --version says no version", a.words[a.at])
	}
	return v, nil
}

// agentEnv is our environment without what the agent has no need of: the token above all.
func agentEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "ASSENT_")
	})
}

// run runs the agent with these settings until it ends, hands on signals, and returns its exit code
// as a shell would: 128 and the signal's number if a signal killed it.
func (a *Agent) run(o *Options, settings, socket string, signals <-chan os.Signal) (code int, err error) {
	args := append(slices.Clone(a.words[1:a.at+1]), "--settings", settings)
	cmd := exec.Command(a.words[0], append(args, a.words[a.at+1:]...)...)
	// What else speaks to a broker in there, such as an MCP server, asks the same one.
	cmd.Env = append(agentEnv(), "ASSENT_SOCKET="+socket, "ASSENT_ON_TIMEOUT=deny", "ASSENT_ON_FAILURE=deny")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.In, o.Out, o.Err
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// A terminal sends its signals to the agent too, which is in our process group.
			if s == syscall.SIGPIPE || o.Terminal && (s == os.Interrupt || s == syscall.SIGQUIT) {
				continue
			}
			_ = cmd.Process.Signal(s) // it may have ended just now
		case err := <-ended:
			return exitCode(cmd.ProcessState, err)
		}
	}
}

// exitCode is the code of a process that ended; 128 and the signal's number if one killed it.
func exitCode(state *os.ProcessState, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for the agent: %w", err)
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil
}
