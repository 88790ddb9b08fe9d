// Package hook is the language of the system: what an agent's hook tells us, what is
// asked, what was answered and how it ended.
//
// It is the ground floor. It imports only the standard library, and of that nothing that
// would slow down the hook client's start (no encoding/json, fmt, net/http, flag); how each
// agent spells these things in JSON is the business of its package, such as agent/claude.
package hook

import (
	"errors"
	"strings"
	"time"
)

// Event is one hook invocation of an agent, as received.
type Event struct {
	// ID is the UUID the hook client chose for this invocation. It is also the NATS message
	// id and, for a PermissionRequest, the id of the request.
	ID string
	// Type is the hook_event_name ("PreToolUse", …), empty when it could not be read.
	Type string
	// NativeType is the agent's own name of the event, where Type is assent's; empty where they are one. The
	// stream's subject has it.
	NativeType string
	// Agent is the coding agent that spoke: "claude".
	Agent string
	// Time is when the hook ran, by the clock of its own host; the time of receipt when the
	// hook did not say.
	Time time.Time
	// Seq is the event's sequence in the EVENTS stream, 0 until it was published.
	Seq uint64
	// Stored is when the stream took it, by the stream's clock; zero until it was read from there.
	Stored time.Time
	// Spooled says that the event waited in a spool file and came late. It is no proof of what
	// became of a request.
	Spooled bool
	// Emitted says that the event came in an envelope of hookd-emit, beside the agent's own hook,
	// which may report the same call. It is no proof either.
	Emitted bool
	// Tool is the tool's name as hookd-emit was given it. The payload's tool_name wins.
	Tool string
	// Attempt counts from 1; a retry with the same ID is a reattach.
	Attempt int
	// Contain is the Landlock ABI of the hook's machine; 0 where nothing can run contained there, or
	// the hook was not told. What that means is for the broker to say, and whose program contains.
	Contain int
	// Signed says that the hook prints an allow only if a key that it trusts signed that. It wants decisions as they
	// were signed, and prints nothing else.
	Signed bool
	// RulesKeys are, of such a hook, the thumbprints of the keys whose signed rules it evaluates by itself, with spaces
	// between them. Only what those allow by rule is worth sending.
	RulesKeys string
	// Source is how a PermissionRequest came, see Request.Source. It does not travel on the stream.
	Source string
	// Origin is where the hook ran.
	Origin Origin
	// Submitter is whom the broker took the event from: "token:ID" of a credential, or "user:UID@HOST"
	// of a process on the broker's machine. It is the broker's own finding, never the hook's word.
	// Empty where an earlier version did not say.
	Submitter string
	// Raw is the payload, byte for byte.
	Raw []byte
	// Missed is how many events were evicted or removed from the stream before the reader got to
	// them, between the last event it read and this one. Another reader may have another number.
	Missed uint64
}

// Origin is what the hook client knows about its own surroundings and the broker, which may
// run elsewhere, cannot find out later. Every field may be empty.
type Origin struct {
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Process names the process of PID: when it began, in which pid namespace its number counts, and
	// the boot of its machine, see package process. Attended is AttendedYes or AttendedNo.
	Process  string `json:"process,omitempty"`
	Attended string `json:"attended,omitempty"`
	// Hosted is "SESSION AGENT" where a host of agents started the process that the hook ran below: the session that this is
	// for, and the agent's name. See HostedSession.
	Hosted     string `json:"-"`
	AgentLabel string `json:"agentLabel,omitempty"` // CLAUDE_AGENT_ID: a label the user may set
	ProjectDir string `json:"projectDir,omitempty"` // CLAUDE_PROJECT_DIR
	Repo       Repo   `json:"repo,omitzero"`
}

// What a host of agents puts into the environment of an agent's program, and so of all that this starts and that keeps it: the
// session that it works on, and the agent's name.
const (
	EnvHostedSession = "ASSENT_AGENT_SESSION"
	EnvHostedAgent   = "ASSENT_AGENT_NAME"
)

// HostedSession says whether a host of agents started the process that works on this session, and for which of its agents; agent
// is empty where that was not said. A program that an agent starts has its word in its environment, too, and another session.
func (o *Origin) HostedSession(session string) (agent string, ok bool) {
	of, agent, _ := strings.Cut(o.Hosted, " ")
	if o.Hosted == "" || of != session {
		return "", false
	}
	return agent, true
}

// Whether a person may be at the agent's terminal. A run without a terminal (claude -p, CI) has no
// prompt of its own that a person could answer.
const (
	AttendedYes = "yes"
	AttendedNo  = "no"
)

// Repo is the git work tree the agent stands in. The zero value means none was found.
type Repo struct {
	Root   string `json:"root,omitempty"`
	Branch string `json:"branch,omitempty"` // empty when HEAD is detached
	Head   string `json:"head,omitempty"`   // hex object name, empty before the first commit
	Remote string `json:"remote,omitempty"` // URL of origin, without credentials
}

// Payload is the part of an event's JSON that assent itself reads. Keys are matched exactly.
type Payload struct {
	Type           string // hook_event_name
	NativeType     string // the agent's own name of it, where Type is assent's; empty where they are one
	SessionID      string
	AgentID        string // of the subagent, empty in the main thread
	AgentType      string
	CWD            string
	PermissionMode string
	ToolName       string
	// NativeTool is the agent's own name of the tool, where ToolName is assent's; empty where they are one.
	NativeTool  string
	ToolInput   JSON // raw bytes of the last tool_input member; nil if absent
	Suggestions JSON // raw bytes of permission_suggestions; nil if absent
	// ToolUseID is the agent's name of the tool call; Claude Code's hook sends none with a
	// PermissionRequest.
	ToolUseID string

	// Failure is why the tool failed, of a PostToolUseFailure; at most MaxFailure bytes.
	Failure string

	// Continues says of a UserPromptSubmit that nobody wrote it: the agent goes on with its turn.
	Continues bool

	// InputSHA256 is what a decision is bound to: lower-case hex SHA-256 over ToolInput as
	// received, or over the whole payload where tool_input is absent, repeated or
	// case-varied.
	InputSHA256 string
	// CallKey is equal for two payloads that speak of the same tool call: tool name and tool
	// input as JSON values (member order ignored, numbers as text). Empty without a tool.
	CallKey string
	// Uninspectable says why the payload cannot be shown faithfully by its fields (repeated
	// or case-varied keys, invalid UTF-8); empty when it can. A rule never allows such a
	// request.
	Uninspectable string
}

// MaxFailure is how much is kept of what a failed tool said, in bytes.
const MaxFailure = 2 << 10

// JSON is a JSON text kept as received. It marshals as itself (nil as null).
type JSON []byte

// MarshalJSON returns j, or null when j is empty.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps a copy of b.
func (j *JSON) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*j = nil
		return nil
	}
	*j = append((*j)[:0], b...)
	return nil
}

// Fallback is what a hook answers when nobody did: it abstains or, where told, denies. There
// is no third value: nothing turns a failure into allow.
type Fallback string

// The two fallbacks.
const (
	Abstain Fallback = "abstain" // print nothing, exit 0: the agent's own prompt decides
	Deny    Fallback = "deny"
)

// ParseFallback reads a flag or header value; the empty string is Abstain.
func ParseFallback(s string) (Fallback, error) {
	switch Fallback(s) {
	case "", Abstain:
		return Abstain, nil
	case Deny:
		return Deny, nil
	}
	return Abstain, errors.New(`want "abstain" or "deny"`)
}

// Channel is how a hook reached the broker, which decides what a closed connection means.
type Channel string

// The channels.
const (
	// ChannelSocket is the unix socket: a close while the broker lives is a withdrawal.
	ChannelSocket Channel = "socket"
	// ChannelRemote is HTTP with a client-chosen id: a close detaches the request, which is
	// withdrawn unless the id comes back in time.
	ChannelRemote Channel = "remote"
	// ChannelPlain is an agent's own type:"http" hook, which has no id and cannot come back:
	// a close is a withdrawal.
	ChannelPlain Channel = "plain"
)
