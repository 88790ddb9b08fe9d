// Package installer knows the agents whose settings assent writes: which of them are on this machine, and
// what an install is for each. Claude Code's has more to say and to ask; it is package claude/install's.
package installer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude/install"
	codexinstall "assent/internal/agent/codex/install"
	copilotinstall "assent/internal/agent/copilot/install"
	droidinstall "assent/internal/agent/droid/install"
	opencodeinstall "assent/internal/agent/opencode/install"
	qweninstall "assent/internal/agent/qwen/install"
	"assent/internal/hook"
)

// Claude is the agent that Options has nothing for.
const Claude = "claude"

// Names are the agents whose settings assent writes, by the names of their programs.
var Names = []string{Claude, "codex", "opencode", "kilo", "copilot", "qwen", "droid"} // read-only

// Found is an agent of this machine.
type Found struct {
	Name, Title string
	Program     string // the path of what would be started
}

// OnMachine finds the agents that are on the search path of env, in the order of Names; Claude Code also
// where it installs itself.
func OnMachine(env func(string) string) []Found {
	var found []Found
	for _, name := range Names {
		if p := Program(name, env); p != "" {
			found = append(found, Found{name, Title(name), p})
		}
	}
	return found
}

// Program finds the program of the named agent, "" if it is not on this machine.
func Program(name string, env func(string) string) string {
	dirs := filepath.SplitList(env("PATH"))
	if home := env("HOME"); name == Claude && home != "" {
		dirs = append(dirs, filepath.Join(home, ".local", "bin"), filepath.Join(home, ".claude", "local"))
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) { // another one would depend on where we stand
			continue
		}
		p := filepath.Join(dir, name)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// Title is what people call the named agent.
func Title(name string) string { return agents.Reader(name).Facts().Title }

// Choices are what somebody may choose of an install.
type Choices struct {
	// Ask has OpenCode ask about commands, edits and web pages where its settings say nothing.
	Ask bool
	// Unanswered is what a request gets that could not be asked, or that nobody answered in time, for an
	// agent that may then run it; empty: what is right for how the agent was started.
	Unanswered hook.Fallback
}

// Options are those of an install of hooks that run this command for another agent than Claude Code. For
// an uninstall command may be nil.
func Options(name string, env func(string) string, stateDir string, command []string, c Choices) (install.Options, error) {
	switch name {
	case "codex":
		home, err := codexinstall.Home(env)
		return codexinstall.Options(home, stateDir, command), err
	case "copilot":
		return copilotinstall.Options(env, stateDir, command, c.Unanswered)
	case "droid":
		return droidinstall.Options(env, stateDir, command, c.Unanswered)
	case "qwen":
		return qweninstall.Options(env, stateDir, command)
	case "opencode", "kilo":
		return opencodeinstall.Options(name, Title(name), env, stateDir, command, c.Ask && TakesAsk(name))
	}
	return install.Options{}, fmt.Errorf("%s: want one of %s", name, strings.Join(Names[1:], ", "))
}

// TakesUnanswered says whether an install for the named agent has a choice of what becomes of a request
// without an answer: the agent may run it.
func TakesUnanswered(name string) bool {
	return name != Claude && agents.Reader(name).Facts().Failed.Runs
}

// TakesAsk says whether an install for the named agent can have it ask about risky calls.
func TakesAsk(name string) bool { return name == Claude || name == "opencode" }
