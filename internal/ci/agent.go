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
)

// Agent is the command line of an agent. Make it with ParseAgent.
type Agent struct {
	client client
	words  []string
	at     int // of the word that names the client
	put    int // where words of ours go

	// Of Claude Code.
	settings string // what it was given with --settings, "" if nothing
	decider  string // the tool of --permission-prompt-tool, "" if none
	sources  string // what --setting-sources says, "" if nothing
}

// client is a coding agent to which a run can hand hooks for its own time, so that nobody's settings change.
type client interface {
	// names are the agent's name, what a package runner (npx, pnpm dlx, …) calls it, and its programs.
	names() (title, pkg string, programs []string)
	// parse reads the words behind a.at, and refuses those under which no hook would be asked.
	parse(a *Agent) error
	// judge says what is to be said of its version, and why nothing may be allowed under it; empty if it may.
	judge(r *run, version string) (refuse string)
	// hooks returns the words by which the agent gets hooks that ask the broker on socket.
	hooks(ctx context.Context, r *run, socket string) (words []string, err error)
	// others says what of this machine and project comes between the agent and assent.
	others(r *run)
}

var clients = []client{claude{}, codexExec{}, copilotCLI{}} // read-only

// ParseAgent finds the client in a command line of at least one word, and refuses a command line
// under which no hook would be asked, and the agents that no hook can hold. Where no word names a client, the first one is a program
// that stands for Claude Code.
func ParseAgent(words []string) (Agent, error) {
	a := Agent{client: claude{}, words: words}
	for i, w := range words {
		if err := cannotBeHeld(w); err != nil {
			return a, err
		}
		if c := clientOf(w); c != nil {
			a.client, a.at = c, i
			break
		}
	}
	if shell := filepath.Base(words[a.at]); slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "make"}, shell) {
		return a, fmt.Errorf("%s hands no hooks on to an agent: call assent ci run inside of it, where the agent is called: assent ci run -- claude -p \"...\"", words[a.at])
	}
	err := a.client.parse(&a)
	if a.put == 0 {
		a.put = a.at + 1
	}
	return a, err
}

func clientOf(word string) client {
	for _, c := range clients {
		if _, pkg, programs := c.names(); names(word, pkg, programs...) {
			return c
		}
	}
	return nil
}

// names says whether a word calls one of the programs, or the package by what a package runner calls it.
func names(word, pkg string, programs ...string) bool {
	return slices.Contains(programs, strings.TrimSuffix(filepath.Base(word), ".exe")) || word == pkg || strings.HasPrefix(word, pkg+"@")
}

// Title is the agent's name.
func (a *Agent) Title() string {
	title, _, _ := a.client.names()
	return title
}

// flags calls each with the flags behind the word at, with the value after = or in the next word for those
// that valued names; it stops at --.
func (a *Agent) flags(valued []string, each func(name, value string) error) error {
	for i := a.at + 1; i < len(a.words) && a.words[i] != "--"; i++ {
		name, value, given := strings.Cut(a.words[i], "=")
		if slices.Contains(valued, name) && !given {
			if i++; i == len(a.words) {
				return fmt.Errorf("%s needs a value", name)
			}
			value = a.words[i]
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
	return nil
}

// versionTime bounds the wait for the client's version: a package runner may fetch it first.
const versionTime = 2 * time.Minute

var clientVersion = regexp.MustCompile(`\b\d{1,9}\.\d{1,9}\.\d{1,9}`)

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

// run runs the agent with these words of ours until it ends, hands on signals, and returns its exit code
// as a shell would: 128 and the signal's number if a signal killed it.
func (a *Agent) run(o *Options, ours []string, socket string, signals <-chan os.Signal) (code int, err error) {
	cmd := exec.Command(a.words[0], slices.Concat(a.words[1:a.put], ours, a.words[a.put:])...)
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

// checkVersion finds the version of the client, and returns why nothing may be allowed under it;
// empty if it may.
func (r *run) checkVersion(ctx context.Context) (refuse string) {
	title := r.Agent.Title()
	v, err := r.ClientVersion, error(nil)
	if v == "" {
		v, err = r.Agent.version(ctx)
	}
	switch {
	case err != nil:
		refuse = "the version of " + title + " is not known: " + err.Error()
	case clientVersion.FindString(v) == "" || !strings.HasPrefix(v, clientVersion.FindString(v)):
		refuse = fmt.Sprintf("the version of %s is not known: %q is none", title, v)
	default:
		refuse = r.Agent.client.judge(r, v)
	}
	if refuse != "" {
		return refuse + "; until then every permission request is denied"
	}
	r.rep.Agent, r.rep.ClientVersion = title, v
	return ""
}
