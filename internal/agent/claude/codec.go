// Package claude reads and writes the JSON that agents speak: payloads in, decisions out.
//
// Keys are matched exactly. encoding/json would match them without regard to case and let the
// last of several win, so that {"command":"rm -rf ~","COMMAND":"ls"} could be shown as ls.
//
// There is one file per agent; an agent's output holds what that agent accepts and nothing
// else, for an unknown member can void a decision.
package claude

import (
	"errors"
	"fmt"

	"assent/internal/hook"
)

// ErrUnknownAgent is wrapped by errors about an agent that has no codec here.
var ErrUnknownAgent = errors.New("unknown agent")

// ErrUnreadable is wrapped by Decode's errors.
var ErrUnreadable = errors.New("unreadable payload")

// agent is one coding agent's dialect.
type agent struct {
	check  func(hook.Decision, *hook.Request) error
	encode func(hook.Decision, *hook.Request) ([]byte, error)
}

func dialect(name string) (agent, error) {
	switch name {
	case "claude", "":
		return agent{check: checkClaude, encode: encodeClaude}, nil
	}
	return agent{}, fmt.Errorf("%w %q; known: claude", ErrUnknownAgent, name)
}

// Known reports whether name is an agent with a codec.
func Known(name string) bool {
	_, err := dialect(name)
	return err == nil
}

// CheckDecision says whether the agent of r can be given d: nil, a *hook.FieldError, or
// ErrUnknownAgent. What passes here, Encode writes.
func CheckDecision(agentName string, d hook.Decision, r *hook.Request) error {
	a, err := dialect(agentName)
	if err != nil {
		return err
	}
	switch d.Behavior {
	case hook.BehaviorAllow, hook.BehaviorDeny:
	default:
		return hook.BadField("behavior", `want "allow" or "deny"`)
	}
	return a.check(d, r)
}

// Encode returns the exact bytes the hook prints for d, or an error where CheckDecision has
// one.
func Encode(agentName string, d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := CheckDecision(agentName, d, r); err != nil {
		return nil, err
	}
	a, err := dialect(agentName)
	if err != nil {
		return nil, err
	}
	return a.encode(d, r)
}

// EncodeDeny returns the bytes of a denial that nobody decided: the answer to a deadline where
// the hook was told to deny.
func EncodeDeny(agentName, message string) ([]byte, error) {
	return Encode(agentName, hook.Decision{Behavior: hook.BehaviorDeny, Message: message}, &hook.Request{})
}
