package feed

import "assent/internal/hook"

// SessionEntity is a session as its own events tell it. Times are milliseconds since 1970.
type SessionEntity struct {
	SessionID string `json:"session_id"`
	StartedAt int64  `json:"started_at"`
	EndedAt   int64  `json:"ended_at,omitempty"`
	Source    string `json:"source,omitempty"` // startup, resume, clear, compact
	Model     string `json:"model,omitempty"`
	AgentType string `json:"agent_type,omitempty"`
}

// Run is one piece of a session's work: from a prompt to the end of the turn, or what happened
// without a prompt.
type Run struct {
	// RunID is <session_id>:R<n>, n the EVENTS sequence of the event that opened the run.
	RunID     string    `json:"run_id"`
	SessionID string    `json:"session_id"`
	StartedAt int64     `json:"started_at"`
	EndedAt   int64     `json:"ended_at,omitempty"`
	Trigger   Trigger   `json:"trigger"`
	Status    RunStatus `json:"status"`
	Actors    RunActors `json:"actors"`
	Counters  Counters  `json:"counters"`
}

// RunStatus is how a run stands.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunBlocked   RunStatus = "blocked" // a permission request waits
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"  // an error ended the turn
	RunAborted   RunStatus = "aborted" // a person interrupted it, or the agent went away
)

// RunActors are the agents of a run.
type RunActors struct {
	RootAgentID string   `json:"root_agent_id"`
	SubagentIDs []string `json:"subagent_ids"` // at most maxActors
}

// Counters count what happened in a run.
type Counters struct {
	ToolUses           int `json:"tool_uses"`
	ToolFailures       int `json:"tool_failures"`
	PermissionRequests int `json:"permission_requests"`
	Blocks             int `json:"blocks"` // calls that were denied
}

// ActorKind is a kind of Actor.
type ActorKind string

// The kinds of actors.
const (
	ActorUser     ActorKind = "user"
	ActorAgent    ActorKind = "agent"
	ActorSubagent ActorKind = "subagent"
	ActorSystem   ActorKind = "system"
)

// The actors every session has. A subagent's id is "subagent:" and the agent's own id.
const (
	ActorIDUser   = "user"
	ActorIDRoot   = "agent:root"
	ActorIDSystem = "system"
)

// Actor is who does things in a session.
type Actor struct {
	ActorID       string    `json:"actor_id"`
	Kind          ActorKind `json:"kind"`
	DisplayName   string    `json:"display_name"`
	AgentType     string    `json:"agent_type,omitempty"`
	ParentActorID string    `json:"parent_actor_id,omitempty"`
	Running       bool      `json:"running,omitempty"` // a subagent that started and has not stopped
}

// Task is one entry of the agents' task lists, as it stands now.
type Task struct {
	TodoID          string   `json:"todo_id"`
	Text            string   `json:"text"`
	Status          string   `json:"status"` // open, doing, blocked, done
	Priority        string   `json:"priority,omitempty"`
	AssignedActorID string   `json:"assigned_actor_id,omitempty"`
	Tags            []string `json:"tags,omitempty"`
}

// AgentState is what a session's agent does at a moment.
type AgentState string

// The states. StateUnknown stands until an event says something.
const (
	StateUnknown  AgentState = "unknown"
	StateStarting AgentState = "starting"
	StateWorking  AgentState = "working"
	StateAskUser  AgentState = "ask_user"
	StatePlan     AgentState = "plan_prompt"
	StateBlocked  AgentState = "blocked_on_permission"
	StateWaiting  AgentState = "waiting_for_input"
	StateExited   AgentState = "exited"
)

// Info is a session as it stands at one moment.
type Info struct {
	Session SessionEntity `json:"session"`
	// Title is what the session is about: its last prompt, else its directory. It is one line
	// and went through package show.
	Title string     `json:"title"`
	State AgentState `json:"state"`
	// StateSince is when the state began, in milliseconds since 1970.
	StateSince int64 `json:"state_since,omitempty"`
	// TurnOver says that the agent has nothing left to do although State still says that it works: for
	// a minute nobody can know that it does not go on by itself.
	TurnOver bool `json:"turn_over,omitempty"`

	// CurrentRun is nil between runs.
	CurrentRun *Run    `json:"current_run,omitempty"`
	Actors     []Actor `json:"actors"`
	// PermissionQueueCount counts requests that wait, QuestionQueueCount those of them that are
	// questions or plans and not in PermissionQueueCount.
	PermissionQueueCount int    `json:"permission_queue_count"`
	QuestionQueueCount   int    `json:"question_queue_count"`
	Tasks                []Task `json:"tasks"`

	Agent          string      `json:"agent,omitempty"`
	CWD            string      `json:"cwd,omitempty"`
	PermissionMode string      `json:"permission_mode,omitempty"`
	Origin         hook.Origin `json:"origin,omitzero"`
	// SameProcess says that the last two events named the same process: it is the agent's, and not
	// one that stood between the agent and a hook.
	SameProcess bool   `json:"same_process,omitempty"`
	LastEvent   string `json:"last_event,omitempty"` // hook event type
	LastEventAt int64  `json:"last_event_at,omitempty"`
	// LastPos is the Pos of the session's newest feed event.
	LastPos uint64 `json:"last_pos"`
}
