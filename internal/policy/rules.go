// Package policy answers permission requests that need no person, from YAML files that people
// wrote. It never answers more than it can prove: an allow needs every part of a request to be
// covered by a rule, and whatever cannot be read with certainty is left to a person.
//
// Load reads, checks and compiles the files into a Set; Set.Eval asks it. Deny beats ask beats
// allow, over all files; the order of rules does not matter. The format is described in
// docs/rules.md and schemas/RulesFile.json.
//
// # What an allow needs
//
// A shell command is read into units by package shell: commands, files written, files read,
// assignments. A deny or an ask rule matches when any unit matches, also where that can only be
// feared (an argument that is known at run time only keeps every allow away when a deny or an
// ask could be meant). An allow needs every unit to be covered, no doubt about the reading, and
// nothing in the command that touches assent itself or the agent's settings.
//
// # Concurrency
//
// A Set does not change after Load and may be used from any goroutine. Eval keeps nothing. It
// reads symbolic links of paths that a rule constrains; it opens no file.
package policy

import (
	"encoding/json"
	"time"

	"assent/internal/hook"
)

// Layer says on whose behalf a file speaks.
type Layer string

const (
	Managed    Layer = "managed"    // the machine's administrator
	User       Layer = "user"       // the person
	Assent     Layer = "assent"     // what an approver saved with "always"; written by assent only
	Repository Layer = "repository" // came with the code: may only tighten, its allows are ignored
	Builtin    Layer = "builtin"    // a pack that a file uses
)

// Source is one rules file.
type Source struct {
	// Name is shown to people: the path of the file.
	Name  string
	Layer Layer
	Data  []byte // not changed afterwards
	// Dir is what ./ and / at the start of a path in a rule string stand for: the directory of
	// the settings file the strings came from, without its .claude. Empty: the project.
	Dir string
	// Signed is who signed Data, nil for nobody. Load does not look at it.
	Signed *hook.RulesSignature
}

// Call is one tool call of an agent, as its PermissionRequest describes it.
type Call struct {
	Agent string // "claude"
	Tool  string // "Bash", "mcp__github__get_issue"
	Input json.RawMessage

	Cwd string // absolute; without it no relative path is ever inside anything
	// Elsewhere: the files of the call are not those that Eval can see, for the agent runs on
	// another machine or in a container. Links cannot be followed there, so no rule allows a path.
	Elsewhere bool
	// Project is the root of the repository or the directory that the agent was started in;
	// empty: Cwd. Home is the home directory of the agent's user; empty: unknown.
	Project, Home string

	Repo   string // the repository's remote as host/path, "github.com/acme/app"
	Branch string
	// Shell is what runs the agent's commands: "bash" when that is certain. Anything else is
	// taken for unknown, and what zsh would read differently is not allowed.
	Shell      string
	Mode       string // the agent's permission mode: "default", "acceptEdits", "plan"
	SessionID  string
	AgentLabel string // what the user named this agent

	// Time is when the request came; zero: time selectors match nothing and keep allows away.
	Time time.Time
	// Contain: who asks can have a command run contained. Without it no rule allows one that way.
	Contain bool
	// Uninspectable: two readers could take the payload for two things. Never allowed.
	Uninspectable bool
}

// Explanation is a verdict and why it is that one.
type Explanation struct {
	// Verdict is what Eval answers. Rule is the id of the rule that decided, or its text where it is
	// a rule string; where several allow rules were needed for one command, it is the first, and
	// Units has all. Reason may quote the command: send it through package show. OnTimeout is empty
	// where nobody said.
	hook.Verdict
	// Layer says on whose behalf File speaks; empty when no rule decided and the default holds.
	Layer Layer
	// Command is the shell command that Units and Refused give offsets of.
	Command string
	// Units explains a shell command part by part; one unit for other tools.
	Units []UnitVerdict
	// Refused says why no allow rule may match, one plain sentence each; empty when nothing
	// stands against it.
	Refused []Refusal
}

// Refusal is one reason why no allow rule may match the call.
type Refusal struct {
	// Code is a stable word: "control-character", "eval", "self", "uninspectable", ...
	Code string
	// Start and End delimit the text in question, bytes of the command; both zero: all of it.
	Start, End int
	Why        string
}

// UnitVerdict explains one unit of a command.
type UnitVerdict struct {
	Kind       string // "command", "write", "read", "assign", "opaque", "tool"
	Text       string // as the rules read it: words separated by spaces, or the path
	Start, End int    // bytes of the command
	Via        []string
	// Action is what the rules say about this unit alone; empty when none matches it.
	Action hook.Action
	// Rule and File name the rule that gave Action.
	Rule, File string
	// Misses tell, for the rules that came closest, the first selector that failed.
	Misses []Miss
	// Refused says why no allow rule may cover this unit.
	Refused []Refusal
}

// Miss is a rule that did not match and the first selector that failed.
type Miss struct {
	Rule, File string
	Action     hook.Action
	Selector   string // "program", "args", "flags", "paths", "cwd", ...
	Why        string
}

// Info describes one rule that is in force, for lists.
type Info struct {
	ID     string
	File   string
	Line   int
	Layer  Layer
	Action hook.Action
	Shadow bool

	rule *rule
}

// Text is the rule as it is written in its file.
func (i Info) Text() string { return i.rule.text() }
