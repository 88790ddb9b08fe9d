package optin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// plainScalar is a text that YAML takes for itself.
var plainScalar = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+@-]*$`)

// Device is a paired device that may give orders.
type Device struct {
	Name, Thumbprint string
}

// Example is an agents.yaml with one agent, to begin with: what it can leave out stands there with what holds then. Of
// devices there may be none, which is said in it.
func Example(a Agent, devices []Device) string {
	var b strings.Builder
	b.WriteString("# Which agents may be started on this machine, and by whom. Lines with the default may be left out.\n")
	if len(devices) == 0 {
		b.WriteString("accept: []   # nobody yet: put the last column of assent device list here, of a device of role operate\n")
	} else {
		b.WriteString("accept:\n")
		for _, d := range devices {
			name := strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return '?'
				}
				return r
			}, d.Name)
			fmt.Fprintf(&b, "  - device:%s   # %s\n", d.Thumbprint, name)
		}
	}
	fmt.Fprintf(&b, "agents:\n  %s:\n    project: %s\n    executor: {kind: claude, cli: %s}\n", a.Name, scalar(a.Project), scalar(a.CLI))
	fmt.Fprintf(&b, "    mode: default           # default, acceptEdits, plan\n")
	if a.Worktree {
		b.WriteString("    worktree: true          # each session in a git work tree of its own; default: false\n")
	}
	fmt.Fprintf(&b, "    budgetUsd: %v            # ceilings: who starts it may ask for less\n    timeoutSeconds: %.0f\n    sessions: 1\n", float64(defaultBudget), defaultTimeout.Seconds())
	return b.String()
}

func scalar(text string) string {
	if plainScalar.MatchString(text) {
		return text
	}
	return strconv.QuoteToASCII(text)
}
