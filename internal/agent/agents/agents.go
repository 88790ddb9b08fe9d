// Package agents is the list of the coding agents that assent knows. To add one is to add its
// folder beside agent/claude, and a line here.
package agents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/agent"
	"assent/internal/agent/acp"
	"assent/internal/agent/claude"
	"assent/internal/agent/codex"
	"assent/internal/agent/copilot"
	"assent/internal/agent/droid"
	"assent/internal/agent/opencode"
	"assent/internal/agent/qwen"
	"assent/internal/hook"
	"assent/internal/text/show"
)

var all = []agent.Agent{claude.Agent{}, codex.New(), opencode.OpenCode(), opencode.Kilo(), copilot.New(), qwen.New(), droid.New()} // read-only

// Named returns the agent of that name; "" is the first, for hooks that do not say. A name that begins with
// acp.Prefix is that of any agent that asks over ACP. An error wraps agent.ErrUnknown.
func Named(name string) (agent.Agent, error) {
	if name == "" {
		return all[0], nil
	}
	for _, a := range all {
		if a.Name() == name {
			return a, nil
		}
	}
	if a, ok := acp.Named(name); ok {
		return a, nil
	}
	return nil, fmt.Errorf("%w %q; known: %s", agent.ErrUnknown, name, strings.Join(Names(), ", "))
}

// Reader returns what reads the payloads of the named agent. Those of an unknown agent are read as
// the first agent's: an event is kept whatever is in it, and a session's name is often there.
func Reader(name string) agent.Agent {
	if a, err := Named(name); err == nil {
		return a
	}
	return all[0]
}

// Check says whether r's agent can be given d as the answer: nil, a *hook.FieldError, or an error
// that wraps agent.ErrUnknown. What passes here, Encode writes.
func Check(d hook.Decision, r *hook.Request) error {
	a, err := Named(r.Agent)
	if err != nil {
		return err
	}
	return a.Check(d, r)
}

// Encode returns the exact bytes that the hook prints for d, or an error where Check has one.
func Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	a, err := Named(r.Agent)
	if err != nil {
		return nil, err
	}
	return a.Encode(d, r)
}

// Names are the names of the agents, the one of hooks that do not say first.
func Names() []string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name()
	}
	return names
}

// Events are the types of the events of all agents' hooks, sorted.
func Events() []string {
	var types []string
	for _, a := range all {
		types = append(types, a.Facts().Events...)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// Races says whether the named agent asks at its own prompt too, meanwhile; see agent.Facts. What is
// known of an unknown agent is nothing, so its events say nothing about its requests.
func Races(name string) bool {
	a, err := Named(name)
	return err == nil && a.Facts().Race
}

// EventsTell says whether the named agent's events show how its own prompt was answered. What asks over ACP
// tells none; the agent's hooks may, but the connection of its request tells more.
func EventsTell(name string) bool {
	_, over := acp.Named(name)
	return Races(name) && !over
}

// Title is what people call the named agent, also one that is not known: in one word, and an agent that asks over
// ACP by the name that it brings.
func Title(name string) string {
	name = strings.TrimPrefix(name, acp.Prefix)
	switch name {
	case "":
		return ""
	case "opencode":
		return "OpenCode"
	}
	return show.Line(strings.ToUpper(name[:1]) + name[1:])
}

// Gates says whether a hook of the named agent waits for a denial in an event of this type; see agent.Facts.
func Gates(name, event string) bool {
	a, err := Named(name)
	return err == nil && event != "" && a.Facts().Gates == event
}

// MaxHold is how long the named agent waits for its hook at most, 0 where no limit is known.
func MaxHold(name string) time.Duration {
	a, err := Named(name)
	if err != nil {
		return 0
	}
	return a.Facts().MaxHold
}

// Can is what an answer to the named agent may hold; nil for an unknown one, which takes no answer.
func Can(name string) *hook.Can {
	a, err := Named(name)
	if err != nil {
		return nil
	}
	can := a.Facts().Can
	return &can
}

// Describe tells a person what a call of one of the named agent's tools does.
func Describe(name, tool string, input []byte) (verb string, fields []show.Field) {
	return Reader(name).Describe(tool, input)
}

// Contract says what of an event is not as the named agent is known to send it; nil where all is, or the
// agent is not known.
func Contract(name, event string, raw []byte) error {
	a, err := Named(name)
	if err != nil {
		return nil
	}
	if !slices.Contains(a.Facts().Events, event) {
		return fmt.Errorf("%s is not known to have this event", a.Facts().Title)
	}
	_, err = a.Decode(event, raw)
	return err
}

// Rewrites says whether the named agent, "" is the first, runs the input that an allow brings.
func Rewrites(name string) bool {
	a, err := Named(name)
	return err == nil && a.Rewrites()
}

// Shown returns an answer as the API shows it: in Claude Code's shape, whatever the agent's own is.
func Shown(d hook.Decision, r *hook.Request) ([]byte, error) {
	out, err := Encode(d, r)
	if err == nil && !Races(r.Agent) {
		out, err = claude.Agent{}.Encode(d, &hook.Request{ToolInput: r.ToolInput, Suggestions: r.Suggestions})
	}
	return out, err
}

// Deny returns the bytes of a denial that nobody decided: the answer to a deadline where the hook
// was told to deny.
func Deny(name, message string) ([]byte, error) {
	return Encode(hook.Decision{Behavior: hook.BehaviorDeny, Message: message}, &hook.Request{Agent: name})
}
