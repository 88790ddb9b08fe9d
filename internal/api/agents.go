package api

import (
	"regexp"
	"time"
	"unicode/utf8"

	"assent/internal/hook"
)

// Agent is a place to work that a host offers: a project, and the program that works in it (schema Agent).
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Hostname    string `json:"hostname,omitempty"`
	// HostID is its host as the host calls itself: its name, # and 16 letters and digits that it made once. A message to
	// the agent is signed for it. Empty: the host is of before, and messages to it name none.
	HostID   string         `json:"hostId,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Executor *AgentExecutor `json:"executor,omitempty"`
	Project  *AgentProject  `json:"project,omitempty"`
	// Status is AgentIdle, AgentBusy or AgentOffline. A host says the first two; only a broker says the last.
	Status string `json:"status,omitempty"`
	// ActiveSessionID is the session that became busy last, of those that are.
	ActiveSessionID string `json:"activeSessionId,omitempty"`

	// Sessions are those that have a process now, and the last ones that have none, the oldest first.
	Sessions []AgentSession `json:"sessions,omitempty"`
	// Limits are the agent's ceilings, as its host's owner set them. No message goes above them.
	Limits *AgentLimits `json:"limits,omitempty"`
	// Worktree says that each session that is started works in a work tree of its own.
	Worktree bool `json:"worktree,omitempty"`
}

// hostID is what Agent.HostID is. Its name has no control characters: it is a line of what is signed.
var hostID = regexp.MustCompile(`^[^\x00-\x1f\x7f-\x{9f}]{1,200}#[0-9a-z]{16}$`)

// IsHostID says whether text can be an Agent.HostID.
func IsHostID(text string) bool {
	return len(text) <= MaxHostID && utf8.ValidString(text) && hostID.MatchString(text)
}

// MaxHostID bounds an Agent.HostID, in bytes.
const MaxHostID = 217

// The values of Agent.Status and AgentSession.Status.
const (
	AgentIdle    = "idle"
	AgentBusy    = "busy"
	AgentOffline = "offline"
)

// Further values of AgentSession.Status. A session that is blocked has spent its budget, or worked for its
// time: it goes on when a message of kind resume allows it more. One that is ended has no process, and can
// be resumed.
const (
	SessionBlocked = "blocked"
	SessionEnded   = "ended"
)

// AgentExecutor is the program of an agent.
type AgentExecutor struct {
	Kind    string `json:"kind,omitempty"` // claude, codex, gemini or custom
	Version string `json:"version,omitempty"`
	CLI     string `json:"cli,omitempty"`
}

// AgentProject is where an agent works.
type AgentProject struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
	Repo string `json:"repo,omitempty"`
}

// AgentSession is a session of an agent. Costs are estimates of the client, over all of its processes.
type AgentSession struct {
	SessionID string    `json:"sessionId"`
	Status    string    `json:"status"` // AgentIdle; AgentBusy while a turn runs; SessionBlocked; SessionEnded
	StartedAt time.Time `json:"startedAt,omitzero"`
	CostUSD   float64   `json:"costUsd,omitempty"`
	// BudgetUSD and TimeoutSeconds are what it may spend and how long it may work in all, as its last message
	// that said so allowed, else the agent's ceilings. ActiveSeconds is how long it has worked.
	BudgetUSD      float64 `json:"budgetUsd,omitempty"`
	TimeoutSeconds int64   `json:"timeoutSeconds,omitempty"`
	ActiveSeconds  int64   `json:"activeSeconds,omitempty"`
	// Worktree says that it works in a work tree of its own.
	Worktree bool     `json:"worktree,omitempty"`
	PR       *AgentPR `json:"pr,omitempty"` // that it made last
	// Turn is how its last turn ended; nil while its first one runs.
	Turn *AgentTurn `json:"turn,omitempty"`
}

// AgentTurn is how a turn of a session ended. What the agent said is in the session's events.
type AgentTurn struct {
	Message string    `json:"message"` // id of the message that began it
	Outcome string    `json:"outcome"` // hook.OutcomeCompleted and its like
	Code    string    `json:"code,omitempty"`
	Why     string    `json:"why,omitempty"` // for people, where it is not completed
	CostUSD float64   `json:"costUsd,omitempty"`
	At      time.Time `json:"at,omitzero"`
	// By is the id of the message that cancelled it, as its host says. StoppedBy is who sent that, and Says how the
	// turn ended, a few words for people, safe to show; empty where it is completed. Only the broker says these two.
	By        string `json:"by,omitempty"`
	StoppedBy string `json:"stoppedBy,omitempty"`
	Says      string `json:"says,omitempty"`
}

// AgentLimits are the ceilings of an agent.
type AgentLimits struct {
	BudgetUSD      float64 `json:"budgetUsd,omitempty"`      // of a session; 0: it has none
	TimeoutSeconds int64   `json:"timeoutSeconds,omitempty"` // of a session; 0: it has none
	AutoPR         bool    `json:"autoPr,omitempty"`         // a message may ask for a pull request
	Sessions       int     `json:"sessions,omitempty"`       // at once; 0: as many as the host runs
}

// MaxCost is more than a session can have cost, in USD. No costUsd that a host says is above it.
const MaxCost = 1e6

// MaxHostSessions is how many sessions a host runs at once, of all its agents.
const MaxHostSessions = 8

// NewAgentMessage is what is posted to an agent of a host: an AgentMessage with an id, a time and a
// signature (schema NewAgentMessage). The answer is a hook.Message. Agent is that of the address.
type NewAgentMessage struct {
	// ID is a UUID in lower case that the sender chooses: the same one again is the same message.
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	// SessionID is a UUID in lower case. A prompt to one that nobody knows starts it.
	SessionID string `json:"sessionId"`
	// HostID is Agent.HostID, of an agent that has one.
	HostID    string               `json:"hostId,omitempty"`
	Kind      string               `json:"kind"` // hook.MessagePrompt, MessageResume, MessageCancel or MessageHandover
	Prompt    string               `json:"prompt,omitempty"`
	Options   *hook.MessageOptions `json:"options,omitempty"`
	ExpiresAt string               `json:"expiresAt,omitempty"` // RFC 3339; at most a day ahead
	// Signature is the device's over auth.MessageText. Only a paired device can send to an agent of a host.
	Signature    string             `json:"signature,omitempty"`
	Verification *hook.Verification `json:"verification,omitempty"`
}

// The kinds of an AgentEvent.
const (
	AgentStarted   = "started"
	AgentProgress  = "progress"
	AgentOutput    = "output"
	AgentCompleted = "completed"
	AgentFailed    = "failed"
	AgentBlocked   = "blocked"
)

// AgentEvent is what a host tells of a session of one of its agents (schema AgentEvent): public, and for
// whoever consumes AGENT_EVENTS. It holds no prompt.
type AgentEvent struct {
	SessionID string      `json:"sessionId"`
	Agent     string      `json:"agent"`
	Kind      string      `json:"kind"`
	Message   string      `json:"message,omitempty"`
	Result    string      `json:"result,omitempty"` // at most 32 KiB
	Error     *AgentError `json:"error,omitempty"`
	PR        *AgentPR    `json:"pr,omitempty"`
	CostUSD   float64     `json:"costUsd,omitempty"`
	Timestamp time.Time   `json:"timestamp"`

	RequestID string `json:"requestId,omitempty"` // of AgentBlocked: what waits at the broker; "": a budget or a time
}

// AgentError is why a session failed.
type AgentError struct {
	Message string `json:"message,omitempty"`
	// Code is one of CANCELLED, INTERRUPTED, BUDGET, TIMEOUT, MAX_TURNS, REFUSED, EXIT, LOST, LOGIN and API.
	Code string `json:"code,omitempty"`
}

// AgentPR is a pull request that a session made.
type AgentPR struct {
	URL    string `json:"url,omitempty"`
	Number int    `json:"number,omitempty"`
	// Verified says that gh knew it on the host; else it is what the agent's command printed.
	Verified bool `json:"verified,omitempty"`
}

// AgentDiff is what changed where a session of an agent works (schema AgentDiff).
type AgentDiff struct {
	SessionID string `json:"sessionId"`
	Agent     string `json:"agent"`
	Directory string `json:"directory"`
	Branch    string `json:"branch,omitempty"`
	// Base is the commit that it is compared with: where the branch of a work tree of its own went off, else
	// HEAD; empty before the first commit.
	Base    string             `json:"base,omitempty"`
	Commits int                `json:"commits"` // on the branch, after Base
	Files   []AgentChangedFile `json:"files"`
	// Diff is a unified diff, of at most MaxAgentDiff bytes. Truncated says that it, or Files, is not all.
	Diff      string `json:"diff"`
	Truncated bool   `json:"truncated,omitempty"`
}

// AgentChangedFile is one file of an AgentDiff.
type AgentChangedFile struct {
	Path    string `json:"path"`
	Status  string `json:"status"` // added, modified or deleted
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
	Binary  bool   `json:"binary,omitempty"`
}

// Bounds of an AgentDiff.
const (
	MaxAgentDiff    = 512 << 10 // bytes
	MaxChangedFiles = 1000
)

// AgentsMessage is a Message of type MessageAgents as the server writes it: all agents, whenever one
// changed.
type AgentsMessage struct {
	Type   string  `json:"type"`
	Agents []Agent `json:"agents"`
}
