package hook

import "time"

// Context is what a person should know about a request beside the request itself: what was asked of
// the agent, what the agent said before it, what is in the file that it would change (schema Context).
// It informs people and decides nothing. It stays in the memory of one broker while the request waits,
// and is never part of the record.
//
// All texts went through package show. Nobody vouches for any of them: what the agent says is its
// claim, and whoever runs as the agent's user can hand in a prompt.
type Context struct {
	// Prompt is the session's current prompt, cut at its end where PromptCut says so; empty where the
	// broker knows none.
	Prompt    string    `json:"prompt,omitempty"`
	PromptCut bool      `json:"promptCut,omitempty"`
	PromptAt  time.Time `json:"promptAt,omitzero"`
	// PromptFrom is who wrote it: PromptYou, PromptSession or PromptProgram. PromptSender is what
	// another session calls itself.
	PromptFrom   string `json:"promptFrom,omitempty"`
	PromptSender string `json:"promptSender,omitempty"`

	// Said is what the agent said last since that prompt, its beginning left out where SaidCut says so.
	// SaidBy is SaidByAgent or SaidBySubagent. Where there is none, SaidWhy is one of the words below.
	Said    string `json:"said,omitempty"`
	SaidCut bool   `json:"saidCut,omitempty"`
	SaidBy  string `json:"saidBy,omitempty"`
	SaidWhy string `json:"saidWhy,omitempty"`

	// Before is what a file holds that the tool would write as a whole; nil for another tool, and
	// where there is no such file.
	Before *Before `json:"before,omitempty"`
	// At is where an edit would change its file; nil where that is not one certain place.
	At *Place `json:"at,omitempty"`
}

// The values of Context.PromptFrom.
const (
	PromptYou     = "you"     // somebody at the agent's own prompt
	PromptSession = "session" // another session or program sent it, see Notice
	PromptProgram = "program" // the session has no terminal: a person or a program wrote it
)

// The values of Context.SaidBy.
const (
	SaidByAgent    = "agent"
	SaidBySubagent = "subagent"
)

// The values of Context.SaidWhy.
const (
	SaidNothing   = "nothing"   // the agent said nothing since the prompt
	SaidBeyond    = "beyond"    // not in the end of the transcript, which is all that is read
	SaidOff       = "off"       // the hook is not to read the transcript
	SaidRefused   = "refused"   // the hook may not read that file
	SaidLate      = "late"      // the hook could not read it in time
	SaidUnknown   = "unknown"   // nothing came with the request: an older hook, or no hook of the agent's
	SaidLost      = "lost"      // this broker started after the request came
	SaidElsewhere = "elsewhere" // another broker has it
	SaidFull      = "full"      // there was no memory left for it
)

// Before is the text of a file before a tool writes it.
type Before struct {
	// Text is the whole text; nil where Why says why it is not here.
	Text *string `json:"text,omitempty"`
	Why  string  `json:"why,omitempty"`
}

// The values of Before.Why.
const (
	BeforeSecret  = "secret"  // the file is one of those that hold secrets
	BeforeLarge   = "large"   // it is too large
	BeforeBinary  = "binary"  // it is no text
	BeforeUnseen  = "unseen"  // the broker may not read it, or could not in time
	BeforeRemote  = "remote"  // the hook ran on another host
	BeforeFull    = "full"    // there was no memory left for it
	BeforeLost    = "lost"    // this broker started after the request came, or another one has it
	BeforePartial = "partial" // too large for a list: the request by its id has it
)

// Place is where an edit changes a file.
type Place struct {
	Line  int      `json:"line"`            // the first line that it changes, from 1
	Above []string `json:"above,omitempty"` // the lines before, at most 3
	Below []string `json:"below,omitempty"` // the lines behind the last one that it changes, at most 3
}
