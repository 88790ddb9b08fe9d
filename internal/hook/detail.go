package hook

// Detail is what an event says beyond Payload, in words that are no agent's own: what the feed
// tells a person. A field is empty where the event has no such member. Nothing is ever decided
// by it.
//
// Texts are as the agent wrote them; they reach a page or a terminal through package show only.
// JSON members are parts of the payload, byte for byte.
type Detail struct {
	// Problem says why the payload could not be read, or not whole; empty when it could.
	Problem string
	// NotJSON says that the payload is not one JSON object.
	NotJSON bool

	TranscriptPath string
	// AgentTranscriptPath is the subagent's own.
	AgentTranscriptPath string

	// Tool calls.
	ToolUseID string
	// ToolArg is what a person knows the call by: the command, the file, the address. It is the
	// input's JSON where no one member can be named with certainty.
	ToolArg      string
	ToolResponse JSON
	// ResultText is the readable part of ToolResponse.
	ResultText  string
	DurationMS  int64
	Error       string // of a tool or a turn that failed
	IsInterrupt bool   // a person stopped the tool
	Calls       []Call // of a batch, at most MaxCalls
	CallCount   int    // how many the batch had

	// Turns and sessions.
	Prompt         string
	Notice         Notice // the prompt was written by the agent's program, not by a person
	Source         string // how a session began; where a setting or switch came from
	Model          string
	FromModel      string
	Reason         string // why a session ended, why a call was denied
	Trigger        string // of setup and compaction
	Instructions   string // what a compaction is to keep
	Summary        string // what a compaction kept
	StopHookActive bool
	LastMessage    string // the agent's last words of a turn

	// Notices and questions of the agent or of an MCP server.
	Message          string
	Title            string
	NotificationType string
	Server           string // MCP server
	Mode             string
	Action           string
	Schema           JSON // of the answer that is wanted
	Content          JSON // the answer
	MessageID        string
	TurnID           string
	Index            int64
	Final            bool

	// Files and directories.
	Path        string
	OldPath     string
	Change      string // what happened to Path
	MemoryType  string
	LoadReason  string
	TriggerPath string

	// Named things: a command, a teammate, a task, a work tree.
	Name        string
	Args        string
	NameType    string
	TaskID      string
	Subject     string
	Description string
	Team        string

	// Todos is what the event says about the agent's task list; nil when nothing.
	Todos *Todos
}

// MaxCalls and MaxTodos bound the lists of a Detail; what is beyond them is left out.
const (
	MaxCalls = 64
	MaxTodos = 200
)

// Call is one tool call of a batch.
type Call struct {
	ToolName  string
	ToolUseID string
}

// Notice is what the agent's program says about a background task, where a person's prompt
// would stand.
type Notice struct {
	Kind      string // "task_notification", "session_message"; empty: a person wrote the prompt
	From      string // of a session_message, what its sender calls itself
	TaskID    string // of a subagent, its agent id
	ToolUseID string // of the call that started the task
	Status    string
	Summary   string // of a session_message its text
}

// Todos is a change to an agent's task list.
type Todos struct {
	// Whole says that Items are the whole list, in order; otherwise each is one task that was
	// made or changed.
	Whole bool
	Items []Todo
	More  int // how many were left out
}

// Todo is one task as an event tells it. What is empty is not said.
type Todo struct {
	ID        string // empty in a list whose tasks have none
	New       bool   // the event made this task
	Text      string
	Details   string
	Status    string // open, doing, blocked, done, removed
	Priority  string // p0, p1, p2
	Owner     string
	Tags      []string // nil: not said
	BlockedBy []string // further tasks that have to be done before
}

// The words of Todo.Status.
const (
	TodoOpen    = "open"
	TodoDoing   = "doing"
	TodoBlocked = "blocked"
	TodoDone    = "done"
	TodoRemoved = "removed"
)
