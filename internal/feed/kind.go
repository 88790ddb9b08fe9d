package feed

// Kind is what sort of event it is; it decides the type of Event.Data.
type Kind string

// The kinds. The first block comes from hook events one to one, see Table.
const (
	KindSessionStart       Kind = "session.start"
	KindSessionEnd         Kind = "session.end"
	KindSetup              Kind = "setup"
	KindUserPrompt         Kind = "user.prompt"
	KindPromptExpansion    Kind = "prompt.expansion"
	KindToolPre            Kind = "tool.pre"
	KindToolPost           Kind = "tool.post"
	KindToolFailure        Kind = "tool.failure"
	KindToolBatch          Kind = "tool.batch"
	KindPermissionRequest  Kind = "permission.request"
	KindPermissionDenied   Kind = "permission.denied"
	KindStopRequest        Kind = "stop.request"
	KindStopFailure        Kind = "stop.failure"
	KindStopInterrupt      Kind = "stop.interrupt"
	KindSubagentStart      Kind = "subagent.start"
	KindSubagentStop       Kind = "subagent.stop"
	KindTeammateIdle       Kind = "teammate.idle"
	KindTaskCreated        Kind = "task.created"
	KindTaskCompleted      Kind = "task.completed"
	KindNotification       Kind = "notification"
	KindMessage            Kind = "message"
	KindElicitation        Kind = "elicitation.request"
	KindElicitationResult  Kind = "elicitation.result"
	KindCompactPre         Kind = "compact.pre"
	KindCompactPost        Kind = "compact.post"
	KindModelPre           Kind = "model.pre"
	KindModelSwitch        Kind = "model.switch"
	KindConfigChange       Kind = "config.change"
	KindInstructionsLoaded Kind = "instructions.loaded"
	KindCwdChanged         Kind = "cwd.changed"
	KindFileChanged        Kind = "file.changed"
	KindDirectoryAdded     Kind = "directory.added"
	KindWorktreeCreate     Kind = "worktree.create"
	KindWorktreeRemove     Kind = "worktree.remove"
	KindUnknownHook        Kind = "unknown.hook"

	KindRunStart            Kind = "run.start"
	KindRunEnd              Kind = "run.end"
	KindPermissionDecision  Kind = "permission.decision"
	KindPermissionDelivery  Kind = "permission.delivery"
	KindPermissionOverruled Kind = "permission.overruled"
	KindStopDecision        Kind = "stop.decision"
	KindTodoAdd             Kind = "todo.add"
	KindTodoUpdate          Kind = "todo.update"
	KindTodoDone            Kind = "todo.done"
	KindEventsLost          Kind = "events.lost"
)

// newData returns a pointer to the zero data of a kind, nil for a kind that is not known.
func newData(k Kind) any {
	switch k {
	case KindSessionStart:
		return new(SessionStartData)
	case KindSessionEnd:
		return new(SessionEndData)
	case KindSetup:
		return new(SetupData)
	case KindUserPrompt:
		return new(UserPromptData)
	case KindPromptExpansion:
		return new(PromptExpansionData)
	case KindToolPre:
		return new(ToolPreData)
	case KindToolPost:
		return new(ToolPostData)
	case KindToolFailure:
		return new(ToolFailureData)
	case KindToolBatch:
		return new(ToolBatchData)
	case KindPermissionRequest:
		return new(PermissionRequestData)
	case KindPermissionDenied:
		return new(PermissionDeniedData)
	case KindStopRequest:
		return new(StopRequestData)
	case KindStopFailure:
		return new(StopFailureData)
	case KindStopInterrupt:
		return new(StopInterruptData)
	case KindSubagentStart:
		return new(SubagentStartData)
	case KindSubagentStop:
		return new(SubagentStopData)
	case KindTeammateIdle:
		return new(TeammateIdleData)
	case KindTaskCreated, KindTaskCompleted:
		return new(TaskData)
	case KindNotification:
		return new(NotificationData)
	case KindMessage:
		return new(MessageData)
	case KindElicitation:
		return new(ElicitationData)
	case KindElicitationResult:
		return new(ElicitationResultData)
	case KindCompactPre:
		return new(PreCompactData)
	case KindCompactPost:
		return new(PostCompactData)
	case KindModelPre, KindModelSwitch:
		return new(ModelSwitchData)
	case KindConfigChange:
		return new(ConfigChangeData)
	case KindInstructionsLoaded:
		return new(InstructionsLoadedData)
	case KindCwdChanged:
		return new(CwdChangedData)
	case KindFileChanged:
		return new(FileChangedData)
	case KindDirectoryAdded:
		return new(DirectoryAddedData)
	case KindWorktreeCreate:
		return new(WorktreeCreateData)
	case KindWorktreeRemove:
		return new(WorktreeRemoveData)
	case KindUnknownHook:
		return new(UnknownHookData)
	case KindRunStart:
		return new(RunStartData)
	case KindRunEnd:
		return new(RunEndData)
	case KindPermissionDecision:
		return new(PermissionDecisionData)
	case KindPermissionDelivery:
		return new(PermissionDeliveryData)
	case KindPermissionOverruled:
		return new(PermissionOverruledData)
	case KindStopDecision:
		return new(StopDecisionData)
	case KindTodoAdd:
		return new(TodoAddData)
	case KindTodoUpdate:
		return new(TodoUpdateData)
	case KindTodoDone:
		return new(TodoDoneData)
	case KindEventsLost:
		return new(EventsLostData)
	}
	return nil
}
