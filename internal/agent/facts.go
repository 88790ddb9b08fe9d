package agent

import (
	"time"

	"assent/internal/hook"
)

// Facts is what is known of an agent, as data: what differs from one to the next and needs no code.
// Docs, page and API are made of it. The versions, and what happens on a failure, were measured with
// the agent's own program.
type Facts struct {
	Title string // what people call it
	// Version is the one that tests drive, the oldest that was tried; Newest is the newest, "" where that is the
	// same. Package is what npm calls its program.
	Version, Newest, Package string
	// Events are the types of its hooks' events, in assent's words: those that a hook is written for, and
	// others that it may have.
	Events []string
	// Can is what an answer to it may hold.
	Can hook.Can
	// Flat says that its answers are the decision itself, and not Claude Code's hookSpecificOutput.
	Flat bool
	// Race says that its own prompt is up while a hook waits, and that its events show how that was
	// answered. Without, nobody at its terminal is asked until the hook ends, and its requests end with
	// their hooks alone.
	Race bool
	// MaxHold is how long its hook may be held before the agent goes on without it, whatever its settings
	// say; 0: as long as they say.
	MaxHold time.Duration
	// Gates is the type of the events, in assent's words, whose hook waits for a denial and nothing else: of
	// calls about which nobody is asked, unless a rule denies them. Empty: of none.
	Gates string
	// Failed is what becomes of a call whose hook fails, is killed or runs out of time, at a terminal and
	// without one, in words for people.
	Failed Failed
}

// Failed is what becomes of a call that its hook does not answer.
type Failed struct {
	Terminal, Headless string
	// Runs says that there is a way of starting the agent in which the call then runs.
	Runs bool
}
