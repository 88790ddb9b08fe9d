package feed

import "assent/internal/hook"

// content makes what a hook event says to the feed.
func (f *folding) content() content {
	p, d := f.p, f.d
	switch f.row.Kind {
	case KindSessionStart:
		data := &SessionStartData{Source: f.text("source", d.Source), Model: f.text("model", d.Model), AgentType: f.text("agent_type", p.AgentType)}
		title := "The session starts"
		switch d.Source {
		case "resume":
			title = "The session is resumed"
		case "clear":
			title = "The session starts anew: the conversation was cleared"
		case "compact":
			title = "The session goes on after compaction"
		}
		if d.Model != "" {
			title += " · " + name(d.Model)
		}
		return content{data: data, title: title}
	case KindSessionEnd:
		data := &SessionEndData{Reason: f.text("reason", d.Reason)}
		return content{data: data, title: "The session ends" + because(endReason(d.Reason))}
	case KindSetup:
		return content{data: &SetupData{Trigger: f.text("trigger", d.Trigger)}, title: "Setup" + because(d.Trigger)}
	case KindUserPrompt:
		return f.userPrompt()
	case KindPromptExpansion:
		data := &PromptExpansionData{
			Prompt: f.text("prompt", d.Prompt), ExpansionType: f.text("expansion_type", d.NameType), CommandName: f.text("command_name", d.Name),
			CommandArgs: f.text("command_args", d.Args), CommandSource: f.text("command_source", d.Source),
		}
		return content{data: data, title: "/" + line(d.Name+" "+d.Args), body: body(d.Prompt)}
	case KindToolPre, KindToolPost, KindToolFailure, KindToolBatch, KindPermissionDenied:
		return f.toolContent()
	case KindPermissionRequest:
		return f.permissionRequest()
	case KindStopRequest:
		data := &StopRequestData{StopHookActive: d.StopHookActive, Scope: ScopeRoot, LastMessage: f.text("last_message", d.LastMessage)}
		title := "■ The turn ends"
		if p.AgentID != "" {
			data.Scope, data.AgentID, data.AgentType = ScopeSubagent, f.text("agent_id", p.AgentID), f.text("agent_type", p.AgentType)
			title = "■ A subagent's turn ends"
		}
		return content{data: data, title: title, body: body(d.LastMessage)}
	case KindStopFailure:
		data := &StopFailureData{Error: f.text("error", d.Error), LastMessage: f.text("last_message", d.LastMessage)}
		why := d.LastMessage
		if why == "" {
			why = d.Error
		}
		return content{data: data, title: "✗ The turn failed" + because(why), body: more(d.LastMessage)}
	case KindStopInterrupt:
		return content{data: &StopInterruptData{TurnID: f.text("turn_id", d.TurnID)}, title: "■ The turn was interrupted"}
	case KindSubagentStart:
		data := &SubagentStartData{AgentID: f.text("agent_id", p.AgentID), AgentType: f.text("agent_type", p.AgentType)}
		return content{data: data, title: "▸ Subagent starts" + because(p.AgentType)}
	case KindSubagentStop:
		data := &SubagentStopData{
			AgentID: f.text("agent_id", p.AgentID), AgentType: f.text("agent_type", p.AgentType), StopHookActive: d.StopHookActive,
			AgentTranscriptPath: f.text("agent_transcript_path", d.AgentTranscriptPath), LastMessage: f.text("last_message", d.LastMessage),
		}
		return content{data: data, title: "▪ Subagent stops" + because(p.AgentType), body: body(d.LastMessage)}
	case KindTeammateIdle:
		data := &TeammateIdleData{TeammateName: f.text("teammate_name", d.Name), TeamName: f.text("team_name", d.Team)}
		return content{data: data, title: "Teammate " + name(d.Name) + " is idle"}
	case KindTaskCreated, KindTaskCompleted:
		data := &TaskData{
			TaskID: f.text("task_id", d.TaskID), TaskSubject: f.text("task_subject", d.Subject), TaskDescription: f.text("task_description", d.Description),
			TeammateName: f.text("teammate_name", d.Name), TeamName: f.text("team_name", d.Team),
		}
		what := "Task created"
		if f.row.Kind == KindTaskCompleted {
			what = "Task completed"
		}
		return content{data: data, title: what + because(d.Subject)}
	case KindNotification:
		data := &NotificationData{Message: f.text("message", d.Message), Title: f.text("title", d.Title), NotificationType: f.text("notification_type", d.NotificationType)}
		title := "✉ " + line(d.Message)
		if d.Message == "" {
			title = "✉ Notification" + because(d.NotificationType)
		}
		return content{data: data, title: title}
	case KindMessage:
		data := &MessageData{MessageID: f.text("message_id", d.MessageID), TurnID: f.text("turn_id", d.TurnID), Index: d.Index, Final: d.Final, Delta: f.text("delta", d.Message)}
		return content{data: data, title: "» " + line(d.Message), body: more(d.Message)}
	case KindElicitation:
		data := &ElicitationData{MCPServerName: f.text("mcp_server_name", d.Server), Message: f.text("message", d.Message), Mode: f.text("mode", d.Mode), RequestedSchema: f.json("requested_schema", d.Schema)}
		f.s.formSeen(f)
		return content{data: data, title: "⚠ MCP server " + name(d.Server) + " asks: " + line(d.Message), body: more(d.Message)}
	case KindElicitationResult:
		data := &ElicitationResultData{MCPServerName: f.text("mcp_server_name", d.Server), Mode: f.text("mode", d.Mode), Action: f.text("action", d.Action), Content: f.json("content", d.Content)}
		return content{data: data, title: "Answer to MCP server " + name(d.Server) + because(d.Action), body: body(string(d.Content))}
	}
	return f.housekeeping()
}

// housekeeping is the content of what happens around the work.
func (f *folding) housekeeping() content {
	d := f.d
	switch f.row.Kind {
	case KindCompactPre:
		data := &PreCompactData{Trigger: f.text("trigger", d.Trigger), CustomInstructions: f.text("custom_instructions", d.Instructions)}
		return content{data: data, title: "The conversation is being compacted" + because(d.Trigger), body: body(d.Instructions)}
	case KindCompactPost:
		data := &PostCompactData{Trigger: f.text("trigger", d.Trigger), CompactSummary: f.text("compact_summary", d.Summary)}
		return content{data: data, title: "The conversation was compacted" + because(d.Trigger), body: body(d.Summary)}
	case KindModelPre, KindModelSwitch:
		data := &ModelSwitchData{FromModel: f.text("from_model", d.FromModel), ToModel: f.text("to_model", d.Model), Source: f.text("source", d.Source)}
		title := "The model was switched"
		if f.row.Kind == KindModelPre {
			title = "The model is being switched"
		}
		if d.FromModel != "" {
			title += " from " + name(d.FromModel)
		}
		return content{data: data, title: title + " to " + name(d.Model)}
	case KindConfigChange:
		data := &ConfigChangeData{Source: f.text("source", d.Source), FilePath: f.text("file_path", d.Path)}
		return content{data: data, title: "Settings changed" + because(first(d.Path, d.Source))}
	case KindInstructionsLoaded:
		data := &InstructionsLoadedData{
			FilePath: f.text("file_path", d.Path), MemoryType: f.text("memory_type", d.MemoryType),
			LoadReason: f.text("load_reason", d.LoadReason), TriggerFilePath: f.text("trigger_file_path", d.TriggerPath),
			Trigger: f.text("trigger", d.Trigger),
		}
		return content{data: data, title: "Instructions loaded" + because(first(d.Path, d.Trigger))}
	case KindCwdChanged:
		data := &CwdChangedData{OldCWD: f.text("old_cwd", d.OldPath), NewCWD: f.text("new_cwd", d.Path)}
		return content{data: data, title: "Now in " + line(d.Path)}
	case KindFileChanged:
		data := &FileChangedData{FilePath: f.text("file_path", d.Path), Event: f.text("event", d.Change)}
		return content{data: data, title: "File " + first(name(d.Change), "change") + because(d.Path)}
	case KindDirectoryAdded:
		data := &DirectoryAddedData{Directory: f.text("directory", d.Path), Source: f.text("source", d.Source)}
		return content{data: data, title: "Directory added" + because(d.Path)}
	case KindWorktreeCreate:
		return content{data: &WorktreeCreateData{Name: f.text("name", d.Name)}, title: "Work tree created" + because(d.Name)}
	case KindWorktreeRemove:
		return content{data: &WorktreeRemoveData{WorktreePath: f.text("worktree_path", d.Path)}, title: "Work tree removed" + because(d.Path)}
	}
	typ := eventType(*f.e, *f.p)
	data := &UnknownHookData{HookEventName: f.text("hook_event_name", typ)}
	if !d.NotJSON {
		data.Payload = f.json("payload", hook.JSON(f.e.Raw))
	}
	if typ == "" {
		typ = "an event without a name"
	}
	return content{data: data, title: "? " + line(typ), body: body(string(f.e.Raw))}
}

// toolContent is the content of a tool call's begin and end.
func (f *folding) toolContent() content {
	s, p, d := f.s, f.p, f.d
	tool := first(name(p.ToolName), "a tool without a name")
	ui := UI{Hidden: keepsTodos(p.ToolName)}
	switch f.row.Kind {
	case KindToolPre:
		s.Run.Counters.ToolUses++
		s.begin(call{ToolUseID: key(d.ToolUseID), EventID: f.nextID(), AgentID: clean(p.AgentID, maxIDLen), Key: callKey(p)}, !f.drives)
		data := &ToolPreData{ToolName: f.text("tool_name", p.ToolName), ToolInput: f.json("tool_input", p.ToolInput), ToolUseID: f.toolUseID()}
		return content{data: data, title: "● " + callTitle(p.ToolName, d.ToolArg), body: more(d.ToolArg), ui: ui}
	case KindToolPost:
		f.finish()
		input, contained, how := f.ran()
		data := &ToolPostData{
			ToolName: f.text("tool_name", p.ToolName), ToolInput: f.json("tool_input", input), Contained: contained, ToolUseID: f.toolUseID(),
			ToolResponse: f.json("tool_response", d.ToolResponse), DurationMS: d.DurationMS,
		}
		return content{data: data, title: "⎿ " + tool + how + " result", body: body(d.ResultText), ui: ui}
	case KindToolFailure:
		f.finish()
		s.Run.Counters.ToolFailures++
		input, contained, how := f.ran()
		data := &ToolFailureData{
			ToolName: f.text("tool_name", p.ToolName), ToolInput: f.json("tool_input", input), Contained: contained, ToolUseID: f.toolUseID(),
			Error: f.text("error", d.Error), IsInterrupt: d.IsInterrupt, DurationMS: d.DurationMS,
		}
		what := " failed"
		if d.IsInterrupt {
			what = " was interrupted"
		}
		return content{data: data, title: "✗ " + tool + how + what + because(d.Error), body: long(d.Error)}
	case KindPermissionDenied:
		s.finish(d.ToolUseID, p.AgentID, callKey(p)) // no result will come
		s.Run.Counters.Blocks++
		data := &PermissionDeniedData{ToolName: f.text("tool_name", p.ToolName), ToolInput: f.json("tool_input", p.ToolInput), ToolUseID: f.toolUseID(), Reason: f.text("reason", d.Reason)}
		return content{data: data, title: "✗ Denied by the agent itself " + callTitle(p.ToolName, d.ToolArg) + because(d.Reason), body: more(d.ToolArg)}
	}
	data := &ToolBatchData{ToolCalls: make([]BatchCall, 0, len(d.Calls)), Count: d.CallCount}
	for _, c := range d.Calls {
		data.ToolCalls = append(data.ToolCalls, BatchCall{ToolName: f.text("tool_calls", c.ToolName), ToolUseID: f.text("tool_calls", c.ToolUseID)})
	}
	if d.CallCount > len(d.Calls) {
		f.cut = append(f.cut, "tool_calls")
	}
	return content{data: data, title: "All tool calls of this step are over"}
}

// ran is the input of a call that is over, as it was asked for, and how it ran where that was contained.
func (f *folding) ran() (input hook.JSON, contained, how string) {
	if original := f.s.contained(clean(f.p.AgentID, maxIDLen), f.p.ToolInput); original != nil {
		return original, hook.ContainRead, " (contained)"
	}
	return f.p.ToolInput, "", ""
}

// finish links a result to its call.
func (f *folding) finish() {
	c, ok := f.s.finish(f.d.ToolUseID, f.p.AgentID, callKey(f.p))
	if !ok {
		f.mark(MarkNoPre)
		return
	}
	f.parent, f.tool = c.EventID, c.ToolUseID
}

// promptText is what a prompt says in one line: of a notice its summary.
func (f *folding) promptText() string {
	if n := f.d.Notice; n.Kind != "" && n.Summary != "" {
		return n.Summary
	}
	return f.d.Prompt
}

func (f *folding) userPrompt() content {
	p, d := f.p, f.d
	data := &UserPromptData{Prompt: f.text("prompt", d.Prompt), CWD: f.text("cwd", p.CWD), PermissionMode: f.text("permission_mode", p.PermissionMode), Source: d.Source}
	if n := d.Notice; n.Kind != "" {
		if n.From != "" || n.Kind == "session_message" {
			data.Source, data.From, data.Summary = n.Kind, f.text("from", n.From), f.text("summary", n.Summary)
			return content{data: data, title: "✉ From " + first(name(n.From), "another session") + ": " + line(n.Summary), body: more(n.Summary)}
		}
		data.Source, data.TaskID, data.Status, data.Summary = n.Kind, f.text("task_id", n.TaskID), f.text("status", n.Status), f.text("summary", n.Summary)
		f.tool = key(n.ToolUseID)
		return content{data: data, title: "⟲ " + line(f.promptText()), body: body(d.Prompt), ui: UI{CollapsedDefault: true}}
	}
	if p.Continues {
		return content{data: data, title: "The agent goes on with its turn", ui: UI{Hidden: true}}
	}
	data.Source = f.text("source", d.Source)
	title := "› " + line(d.Prompt)
	if d.Prompt == "" {
		title = "› (an empty prompt)"
	}
	return content{data: data, title: title, body: more(d.Prompt)}
}

// endReason is why a session ended as a person understands it. "other" tells nobody anything.
func endReason(reason string) string {
	switch reason {
	case "clear":
		return "the conversation was cleared"
	case "logout":
		return "logged out"
	case "prompt_input_exit":
		return "quit at the prompt"
	case "resume":
		return "another session was resumed"
	case "other":
		return ""
	}
	return reason
}

// because joins a foreign text to a title.
func because(s string) string {
	if s == "" {
		return ""
	}
	return ": " + line(s)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
