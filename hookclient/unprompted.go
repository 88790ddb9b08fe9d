package hookclient

import (
	"os"
	"path"
	"strings"

	"assent/internal/hook"
	"assent/internal/host/process"
)

// Where a hook says nothing, the agent asks at its own prompt, and so assent that is broken or away costs
// nobody anything. A Copilot that was started to do everything unasked has no such prompt: there the
// silence of a hook is a yes that nobody said.

// copilotAll are the flags with which Copilot does everything unasked.
var copilotAll = map[string]bool{"--allow-all-tools": true, "--allow-all": true, "--yolo": true} // read-only

// maxAncestors is how far up a hook looks for its agent: a shell or two stand between.
const maxAncestors = 6

// fallbacks says what is answered without an answer, where nobody chose.
func (c *Config) fallbacks() {
	if c.OnTimeout != "" && c.OnFailure != "" {
		return
	}
	fallback := hook.Abstain
	if c.Agent == "copilot" && unprompted(c.Env, commandLines(os.Getppid())) {
		fallback = hook.Deny
	}
	if c.OnTimeout == "" {
		c.OnTimeout = fallback
	}
	if c.OnFailure == "" {
		c.OnFailure = fallback
		if fallback == hook.Deny {
			c.because = "and this Copilot was started to do everything unasked"
		}
	}
}

// commandLines are those of a process and the ones that it is a child of, the nearest first. Where they
// cannot be read there are none.
func commandLines(pid int) [][]string {
	var lines [][]string
	for range maxAncestors {
		argv := process.Args(pid)
		if len(argv) == 0 {
			break
		}
		lines = append(lines, argv)
		if pid = process.Parent(pid); pid <= 1 {
			break
		}
	}
	return lines
}

// unprompted reports whether a Copilot with these above its hook is known to do everything unasked: by its
// environment, or the nearest command line of a Copilot. What it was told since, in its session or by its
// settings, is not known here.
func unprompted(env func(string) string, lines [][]string) bool {
	switch strings.ToLower(strings.TrimSpace(env("COPILOT_ALLOW_ALL"))) {
	case "true", "1", "yes", "on", "y":
		return true
	}
	for _, argv := range lines {
		if !isCopilot(argv) {
			continue
		}
		for _, a := range argv[1:] {
			if copilotAll[a] {
				return true
			}
		}
		return false
	}
	return false
}

// isCopilot tells Copilot's program, or node with its script, by its name.
func isCopilot(argv []string) bool {
	for i, a := range argv {
		if path.Base(a) == "copilot" {
			return i == 0 || path.Base(argv[0]) == "node"
		}
		if i == 1 {
			break
		}
	}
	return false
}
