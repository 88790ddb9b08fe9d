package feed

// Row says what becomes of one type of hook event.
type Row struct {
	Event string // hook event type; empty in the row of unknown ones
	Kind  Kind
	Actor Actors
	Level Level
	UI    UI
	// Opens says that the event begins a run when none is open. The others then belong to the
	// last run: an agent reports its last message after the end of its turn.
	Opens bool
	// Effect is what the event does to the agent's state.
	Effect Effect
	// Also are the kinds that may follow from the same event.
	Also []Kind
}

// Actors is who is taken to have done what an event tells.
type Actors string

// The actors of rows.
const (
	ByUser   Actors = "user"
	ByAgent  Actors = "agent:root or subagent"
	BySub    Actors = "subagent"
	ByRoot   Actors = "agent:root"
	BySystem Actors = "system"
)

// Effect is what an event does to the agent's state, see activity.
type Effect string

// The effects.
const (
	EffectNone    Effect = ""
	EffectStart   Effect = "starting"
	EffectWork    Effect = "working"
	EffectTool    Effect = "working; ask_user for a question, plan_prompt for a plan"
	EffectAsk     Effect = "ask_user"
	EffectBlock   Effect = "blocked_on_permission; ask_user for a question, plan_prompt for a plan"
	EffectStop    Effect = "waiting_for_input after 60 s"
	EffectSub     Effect = "working; waiting_for_input after 60 s where the main thread's turn is over"
	EffectNotice  Effect = "by its type: blocked_on_permission, ask_user, waiting_for_input, or none"
	EffectExit    Effect = "exited"
	EffectCompact Effect = "starting; none after a compaction"
)

// table has a row for each of the hook events, in the order of a session, and one for unknown
// ones. They are Claude Code's, by whose names other agents' are told, and those that only others have.
// It is never written.
var table = []Row{
	{Event: "Setup", Kind: KindSetup, Actor: BySystem, Level: LevelInfo, Opens: true, Effect: EffectStart},
	{Event: "SessionStart", Kind: KindSessionStart, Actor: BySystem, Level: LevelInfo, Opens: true, Effect: EffectCompact, Also: []Kind{KindRunEnd, KindRunStart}},
	{Event: "InstructionsLoaded", Kind: KindInstructionsLoaded, Actor: BySystem, Level: LevelDebug, UI: UI{CollapsedDefault: true, Hidden: true}},
	{Event: "UserPromptSubmit", Kind: KindUserPrompt, Actor: ByUser, Level: LevelInfo, Opens: true, Effect: EffectWork, Also: []Kind{KindRunEnd, KindRunStart}},
	{Event: "UserPromptExpansion", Kind: KindPromptExpansion, Actor: ByUser, Level: LevelInfo, UI: UI{CollapsedDefault: true}, Effect: EffectWork},
	{Event: "MessageDisplay", Kind: KindMessage, Actor: ByAgent, Level: LevelInfo},
	{Event: "PreToolUse", Kind: KindToolPre, Actor: ByAgent, Level: LevelInfo, UI: UI{CollapsedDefault: true, Badge: "TOOL"}, Opens: true, Effect: EffectTool},
	{Event: "PermissionRequest", Kind: KindPermissionRequest, Actor: BySystem, Level: LevelWarn, UI: UI{Badge: "PERM"}, Opens: true, Effect: EffectBlock},
	{Event: "PermissionDenied", Kind: KindPermissionDenied, Actor: BySystem, Level: LevelWarn, UI: UI{Badge: "DENY"}, Effect: EffectWork},
	{Event: "PostToolUse", Kind: KindToolPost, Actor: ByAgent, Level: LevelInfo, UI: UI{CollapsedDefault: true}, Opens: true, Effect: EffectWork, Also: []Kind{KindTodoAdd, KindTodoUpdate, KindTodoDone}},
	{Event: "PostToolUseFailure", Kind: KindToolFailure, Actor: ByAgent, Level: LevelError, UI: UI{Badge: "FAIL"}, Opens: true, Effect: EffectWork},
	{Event: "PostToolBatch", Kind: KindToolBatch, Actor: ByAgent, Level: LevelDebug, UI: UI{CollapsedDefault: true, Hidden: true}},
	{Event: "Elicitation", Kind: KindElicitation, Actor: BySystem, Level: LevelWarn, UI: UI{Badge: "ASK"}, Opens: true, Effect: EffectAsk},
	{Event: "ElicitationResult", Kind: KindElicitationResult, Actor: ByUser, Level: LevelInfo, Effect: EffectWork},
	{Event: "Notification", Kind: KindNotification, Actor: BySystem, Level: LevelInfo, Effect: EffectNotice},
	{Event: "SubagentStart", Kind: KindSubagentStart, Actor: ByRoot, Level: LevelInfo, Opens: true, Effect: EffectWork},
	{Event: "SubagentStop", Kind: KindSubagentStop, Actor: BySub, Level: LevelInfo, UI: UI{CollapsedDefault: true}, Effect: EffectSub},
	{Event: "TeammateIdle", Kind: KindTeammateIdle, Actor: BySystem, Level: LevelInfo},
	{Event: "TaskCreated", Kind: KindTaskCreated, Actor: ByAgent, Level: LevelDebug, UI: UI{CollapsedDefault: true, Hidden: true}, Also: []Kind{KindTodoAdd, KindTodoUpdate}},
	{Event: "TaskCompleted", Kind: KindTaskCompleted, Actor: ByAgent, Level: LevelDebug, UI: UI{CollapsedDefault: true, Hidden: true}, Also: []Kind{KindTodoAdd, KindTodoDone}},
	{Event: "Stop", Kind: KindStopRequest, Actor: BySystem, Level: LevelInfo, UI: UI{Badge: "STOP"}, Effect: EffectStop, Also: []Kind{KindStopDecision, KindRunEnd}},
	{Event: "StopFailure", Kind: KindStopFailure, Actor: BySystem, Level: LevelError, UI: UI{Badge: "FAIL"}, Effect: EffectStop, Also: []Kind{KindRunEnd}},
	{Event: "Interrupt", Kind: KindStopInterrupt, Actor: ByUser, Level: LevelWarn, UI: UI{Badge: "STOP"}, Effect: EffectStop, Also: []Kind{KindRunEnd}},
	{Event: "PreCompact", Kind: KindCompactPre, Actor: BySystem, Level: LevelInfo, Effect: EffectWork},
	{Event: "PostCompact", Kind: KindCompactPost, Actor: BySystem, Level: LevelInfo, UI: UI{CollapsedDefault: true}, Effect: EffectSub},
	{Event: "PreModelSwitch", Kind: KindModelPre, Actor: BySystem, Level: LevelDebug, UI: UI{CollapsedDefault: true, Hidden: true}},
	{Event: "PostModelSwitch", Kind: KindModelSwitch, Actor: BySystem, Level: LevelInfo},
	{Event: "ConfigChange", Kind: KindConfigChange, Actor: BySystem, Level: LevelInfo},
	{Event: "CwdChanged", Kind: KindCwdChanged, Actor: ByAgent, Level: LevelInfo},
	{Event: "FileChanged", Kind: KindFileChanged, Actor: BySystem, Level: LevelInfo},
	{Event: "DirectoryAdded", Kind: KindDirectoryAdded, Actor: ByUser, Level: LevelInfo},
	{Event: "WorktreeCreate", Kind: KindWorktreeCreate, Actor: ByAgent, Level: LevelInfo},
	{Event: "WorktreeRemove", Kind: KindWorktreeRemove, Actor: ByAgent, Level: LevelInfo},
	{Event: "SessionEnd", Kind: KindSessionEnd, Actor: BySystem, Level: LevelInfo, Effect: EffectExit, Also: []Kind{KindRunEnd}},
	{Kind: KindUnknownHook, Actor: BySystem, Level: LevelWarn, UI: UI{CollapsedDefault: true, Badge: "?"}},
}

// rowIndex finds rows by event type. It is never written.
var rowIndex = func() map[string]*Row {
	m := make(map[string]*Row, len(table))
	for i := range table {
		if table[i].Event != "" {
			m[table[i].Event] = &table[i]
		}
	}
	return m
}()

func rowOf(event string) *Row {
	if r := rowIndex[event]; r != nil {
		return r
	}
	return &table[len(table)-1]
}
