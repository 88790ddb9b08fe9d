// Package agent is what assent wants of a coding agent: that its payloads are read, that answers
// are written in its words, that its tool calls are known for what they do and told to people, and
// that what it cannot do is known. A folder below it stands for each agent; package agents has the
// list.
//
// What an agent's settings look like, and what somebody is asked before they are changed, differs
// too much to be a method: the command install talks to claude/install itself.
package agent

import (
	"errors"

	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Agent is one coding agent. Its methods keep no state and may be called from any goroutine.
type Agent interface {
	// Name is the agent's name in headers, flags and records, such as "claude".
	Name() string

	// Decode reads the members of a payload that assent acts on. event, when not empty, is the type
	// that the hook was registered for and wins over the payload's own.
	//
	// An error wraps ErrUnreadable. The Payload then holds what could be read, for the stream takes
	// every event; a request with an error must not be asked.
	Decode(event string, raw []byte) (hook.Payload, error)
	// Detail reads what an event says beyond Decode's Payload, for the feed. What cannot be read is
	// left out, and Detail.Problem says why.
	Detail(event string, raw []byte) hook.Detail
	// Said reads the end of a transcript, in whole lines, for what the agent said last since the newest
	// prompt. subagent says that it is a subagent's. Where there is nothing, why is one of the values of
	// hook.Context.SaidWhy.
	Said(tail []byte, subagent bool) (said, why string)
	// Form reads an event of type hook.EventElicitation as the input of a request. An error wraps
	// ErrNoForm: the form cannot be answered here, and is left to the agent.
	Form(raw []byte) (hook.JSON, error)

	// Check says whether the agent can be given d as the answer to r: nil or a *hook.FieldError.
	Check(d hook.Decision, r *hook.Request) error
	// Encode returns the exact bytes that the hook prints for d, or an error where Check has one.
	Encode(d hook.Decision, r *hook.Request) ([]byte, error)

	// Rewrites says that the agent runs the input that an allow of its hook brings in the place of its own.
	Rewrites() bool

	// Tool returns what is known of a tool, by its exact name.
	Tool(name string) tool.Tool
	// Describe tells a person what a call of a tool does: a sentence, and fields in which every value of
	// the input stands. Every text in them went through package show.
	Describe(name string, input []byte) (verb string, fields []show.Field)

	// Facts is what else is known of it, as data.
	Facts() Facts
}

var (
	// ErrUnknown is wrapped by errors about an agent that assent does not know.
	ErrUnknown = errors.New("unknown agent")
	// ErrUnreadable is wrapped by Decode's errors.
	ErrUnreadable = errors.New("unreadable payload")
	// ErrNoForm is wrapped by Form's errors.
	ErrNoForm = errors.New("no form that can be answered here")
)
