package main

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

// ciAgent is the command line of an agent.
type ciAgent struct {
	words    []string
	at       int    // of the word that names the client
	settings string // what it was given with --settings, "" if nothing
	decider  string // the tool of --permission-prompt-tool, "" if none
	sources  string // what --setting-sources says, "" if nothing
}

// clientPackage is how a package runner (npx, pnpm dlx, …) calls the client.
const clientPackage = "@anthropic-ai/claude-code"

// newCIAgent finds the client in a command line, and refuses one under which no hook would be
// asked. Where no word names the client, the first one is a program that stands for it.
func newCIAgent(words []string) (ciAgent, error) {
	a := ciAgent{words: words}
	a.at = max(0, slices.IndexFunc(words, func(w string) bool {
		name := filepath.Base(w)
		return name == "claude" || name == "claude.exe" || w == clientPackage || strings.HasPrefix(w, clientPackage+"@")
	}))
	if slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "make"}, filepath.Base(words[a.at])) {
		return a, usagef("%s takes no settings for claude: call assent ci run inside of it, where claude is called: assent ci run -- claude -p \"...\"", words[a.at])
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
					return a, usagef("%s needs a value", name)
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
				return a, usagef("--permission-mode %s: then Claude Code decides without asking any hook, and no rule would count; want one of %s", value, strings.Join(install.Modes, ", "))
			}
			rest = append(rest, name+"="+value)
			continue
		case "--dangerously-skip-permissions", "--bare":
			return a, usagef("%s: then Claude Code asks no hook, and no rule would count; leave it out and allow with rules what may run", name)
		}
		rest = append(rest, words[i])
	}
	a.words = append(slices.Clone(words[:a.at+1]), rest...)
	return a, nil
}

// leavesOut reports whether the client was told not to read the settings of a scope.
func (a *ciAgent) leavesOut(scope install.Scope) bool {
	return a.sources != "" && !slices.ContainsFunc(strings.Split(a.sources, ","), func(s string) bool {
		return strings.TrimSpace(s) == string(scope)
	})
}

// base is the settings that the client was given, nil if none.
func (a *ciAgent) base() (name string, text []byte, err error) {
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
func (a *ciAgent) version(ctx context.Context) (string, error) {
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

// ciSignals are those that are handed on to the agent, and SIGPIPE: whoever reads our output no more
// does not end the run.
var ciSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE}

// untilSignal returns a context that ends with the first signal, for as long as there is no agent to
// hand it on to. interrupted ends that, and says which signal it was, if one came.
func (r *ciRun) untilSignal(ctx context.Context) (early context.Context, interrupted func() error) {
	early, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var came os.Signal
	go func() {
		defer close(done)
		for {
			select {
			case s := <-r.signals:
				if s == syscall.SIGPIPE {
					continue
				}
				came = s
				cancel()
				return
			case <-early.Done():
				return
			}
		}
	}()
	return early, func() error {
		cancel()
		<-done
		if s, ok := came.(syscall.Signal); ok {
			return &exitError{128 + int(s), fmt.Errorf("ended by a signal (%v) before the agent was started", s)}
		}
		return nil
	}
}

// run runs the agent with these settings until it ends, hands on signals, and returns its exit code
// as a shell says it.
func (a *ciAgent) run(app *app, settings, socket string, signals <-chan os.Signal) (code int, err error) {
	args := append(slices.Clone(a.words[1:a.at+1]), "--settings", settings)
	cmd := exec.Command(a.words[0], append(args, a.words[a.at+1:]...)...)
	// What else speaks to a broker in there, such as an MCP server, asks the same.
	cmd.Env = append(agentEnv(), "ASSENT_SOCKET="+socket, "ASSENT_ON_TIMEOUT=deny", "ASSENT_ON_FAILURE=deny")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = app.in, app.out, app.err
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// A terminal sends its signals to the agent too: it is in our process group.
	terminal := isTerminal(app.in)
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGPIPE || terminal && (s == os.Interrupt || s == syscall.SIGQUIT) {
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
