// Generated from ../schemas by `npm run types`; do not edit.

/**
 * One entry of permission_suggestions and updatedPermissions: today's six kinds, and the older toolAlwaysAllow.
 */
export type PermissionUpdate =
  AddRules | ReplaceRules | RemoveRules | SetMode | AddDirectories | RemoveDirectories | ToolAlwaysAllow;
/**
 * How bad what a request would do could be. calm: reads, inside the project. normal: writes, inside the project. attention: network, publishing, installing, outside the project, or unknown. danger: cannot be undone, secrets, more rights, assent or the agent's guard, code from the network.
 */
export type Risk = "calm" | "normal" | "attention" | "danger";
/**
 * What the agent of a session does.
 */
export type AgentState =
  | "unknown"
  | "starting"
  | "working"
  | "ask_user"
  | "plan_prompt"
  | "blocked_on_permission"
  | "waiting_for_input"
  | "exited";
/**
 * One event of a session's feed; kind says which data it has. Ignore kinds you do not know.
 */
export type FeedEvent =
  | FeedSessionStart
  | FeedSessionEnd
  | FeedSetup
  | FeedUserPrompt
  | FeedPromptExpansion
  | FeedToolPre
  | FeedToolPost
  | FeedToolFailure
  | FeedToolBatch
  | FeedPermissionRequest
  | FeedPermissionDenied
  | FeedStopRequest
  | FeedStopFailure
  | FeedStopInterrupt
  | FeedSubagentStart
  | FeedSubagentStop
  | FeedTeammateIdle
  | FeedTaskCreated
  | FeedTaskCompleted
  | FeedNotification
  | FeedMessage
  | FeedElicitationRequest
  | FeedElicitationResult
  | FeedCompactPre
  | FeedCompactPost
  | FeedModelPre
  | FeedModelSwitch
  | FeedConfigChange
  | FeedInstructionsLoaded
  | FeedCwdChanged
  | FeedFileChanged
  | FeedDirectoryAdded
  | FeedWorktreeCreate
  | FeedWorktreeRemove
  | FeedUnknownHook
  | FeedRunStart
  | FeedRunEnd
  | FeedPermissionDecision
  | FeedPermissionDelivery
  | FeedPermissionOverruled
  | FeedStopDecision
  | FeedTodoAdd
  | FeedTodoUpdate
  | FeedTodoDone
  | FeedEventsLost;
/**
 * A session begins, is resumed, or goes on after /clear or a compaction.
 */
export type FeedSessionStart = FeedEventBase & {
  kind: "session.start";
  data: {
    /**
     * startup, resume, clear, compact
     */
    source: string;
    model?: string;
    agent_type?: string;
  };
};
/**
 * A session ends.
 */
export type FeedSessionEnd = FeedEventBase & {
  kind: "session.end";
  data: {
    /**
     * clear, logout, prompt_input_exit, other, …
     */
    reason: string;
  };
};
/**
 * The agent prepares a project.
 */
export type FeedSetup = FeedEventBase & {
  kind: "setup";
  data: {
    /**
     * init, maintenance
     */
    trigger: string;
  };
};
/**
 * A prompt: a person's, or the notice of a background task.
 */
export type FeedUserPrompt = FeedEventBase & {
  kind: "user.prompt";
  data: {
    prompt: string;
    cwd: string;
    permission_mode?: string;
    /**
     * task_notification for a notice the agent's program wrote about a background task, session_message for a message of another program or session; empty for a person's prompt.
     */
    source?: string;
    task_id?: string;
    status?: string;
    summary?: string;
    /**
     * Of a session_message, what its sender calls itself; summary is its text.
     */
    from?: string;
  };
};
/**
 * A slash command becomes a prompt.
 */
export type FeedPromptExpansion = FeedEventBase & {
  kind: "prompt.expansion";
  data: {
    prompt: string;
    expansion_type?: string;
    command_name: string;
    command_args?: string;
    command_source?: string;
  };
};
/**
 * A tool is about to run.
 */
export type FeedToolPre = FeedEventBase & {
  kind: "tool.pre";
  data: {
    tool_name: string;
    tool_input: unknown;
    tool_use_id?: string;
  };
};
/**
 * A tool ran.
 */
export type FeedToolPost = FeedEventBase & {
  kind: "tool.post";
  data: {
    tool_name: string;
    tool_input: unknown;
    /**
     * The call ran contained (read: it can read, and nothing else). tool_input is what was asked for.
     */
    contained?: "read";
    tool_use_id?: string;
    tool_response: unknown;
    duration_ms?: number;
  };
};
/**
 * A tool failed, or a person stopped it.
 */
export type FeedToolFailure = FeedEventBase & {
  kind: "tool.failure";
  data: {
    tool_name: string;
    tool_input: unknown;
    /**
     * The call ran contained (read: it can read, and nothing else). tool_input is what was asked for.
     */
    contained?: "read";
    tool_use_id?: string;
    error: string;
    is_interrupt?: boolean;
    duration_ms?: number;
  };
};
/**
 * All tool calls of one response of the model are over.
 */
export type FeedToolBatch = FeedEventBase & {
  kind: "tool.batch";
  data: {
    tool_calls: {
      tool_name: string;
      tool_use_id?: string;
    }[];
    /**
     * Also of those that tool_calls has no place for.
     */
    count: number;
  };
};
/**
 * The agent asks whether a tool may run.
 */
export type FeedPermissionRequest = FeedEventBase & {
  kind: "permission.request";
  data: {
    tool_name: string;
    tool_input: unknown;
    /**
     * That of the call the request is about, where only one can be meant.
     */
    tool_use_id?: string;
    permission_suggestions?: unknown;
    /**
     * The subagent that asks.
     */
    agent_id?: string;
    agent_type?: string;
  };
};
/**
 * The agent itself refused a call.
 */
export type FeedPermissionDenied = FeedEventBase & {
  kind: "permission.denied";
  data: {
    tool_name: string;
    tool_input: unknown;
    tool_use_id?: string;
    reason?: string;
  };
};
/**
 * The agent ends its turn.
 */
export type FeedStopRequest = FeedEventBase & {
  kind: "stop.request";
  data: {
    stop_hook_active: boolean;
    scope: "root" | "subagent";
    agent_id?: string;
    agent_type?: string;
    last_message?: string;
  };
};
/**
 * An error ended the turn.
 */
export type FeedStopFailure = FeedEventBase & {
  kind: "stop.failure";
  data: {
    error: string;
    last_message?: string;
  };
};
/**
 * A person stopped the turn. Of agents whose hooks say so.
 */
export type FeedStopInterrupt = FeedEventBase & {
  kind: "stop.interrupt";
  data: {
    turn_id?: string;
  };
};
/**
 * A subagent starts.
 */
export type FeedSubagentStart = FeedEventBase & {
  kind: "subagent.start";
  data: {
    agent_id: string;
    agent_type: string;
  };
};
/**
 * A subagent stops.
 */
export type FeedSubagentStop = FeedEventBase & {
  kind: "subagent.stop";
  data: {
    agent_id: string;
    agent_type: string;
    stop_hook_active: boolean;
    agent_transcript_path?: string;
    last_message?: string;
  };
};
/**
 * A teammate has nothing to do.
 */
export type FeedTeammateIdle = FeedEventBase & {
  kind: "teammate.idle";
  data: {
    teammate_name: string;
    team_name?: string;
  };
};
/**
 * A task was put on the list; todo.add tells of it.
 */
export type FeedTaskCreated = FeedEventBase & {
  kind: "task.created";
  data: {
    task_id: string;
    task_subject: string;
    task_description?: string;
    teammate_name?: string;
    team_name?: string;
  };
};
/**
 * A task is done; todo.done tells of it.
 */
export type FeedTaskCompleted = FeedEventBase & {
  kind: "task.completed";
  data: {
    task_id: string;
    task_subject: string;
    task_description?: string;
    teammate_name?: string;
    team_name?: string;
  };
};
/**
 * The agent wants attention.
 */
export type FeedNotification = FeedEventBase & {
  kind: "notification";
  data: {
    message: string;
    title?: string;
    notification_type?: string;
  };
};
/**
 * A piece of what the agent says.
 */
export type FeedMessage = FeedEventBase & {
  kind: "message";
  data: {
    message_id?: string;
    turn_id?: string;
    index: number;
    final: boolean;
    delta: string;
  };
};
/**
 * An MCP server asks the person.
 */
export type FeedElicitationRequest = FeedEventBase & {
  kind: "elicitation.request";
  data: {
    mcp_server_name: string;
    message?: string;
    mode?: string;
    requested_schema?: unknown;
  };
};
/**
 * The answer to an MCP server.
 */
export type FeedElicitationResult = FeedEventBase & {
  kind: "elicitation.result";
  data: {
    mcp_server_name: string;
    mode?: string;
    /**
     * accept, decline, cancel
     */
    action: string;
    content?: unknown;
  };
};
/**
 * The conversation is about to be compacted.
 */
export type FeedCompactPre = FeedEventBase & {
  kind: "compact.pre";
  data: {
    /**
     * manual, auto
     */
    trigger: string;
    custom_instructions?: string;
  };
};
/**
 * The conversation was compacted.
 */
export type FeedCompactPost = FeedEventBase & {
  kind: "compact.post";
  data: {
    trigger: string;
    compact_summary?: string;
  };
};
/**
 * The model is about to be switched.
 */
export type FeedModelPre = FeedEventBase & {
  kind: "model.pre";
  data: {
    from_model?: string;
    to_model: string;
    source?: string;
  };
};
/**
 * The model was switched.
 */
export type FeedModelSwitch = FeedEventBase & {
  kind: "model.switch";
  data: {
    from_model?: string;
    to_model: string;
    source?: string;
  };
};
/**
 * Settings changed.
 */
export type FeedConfigChange = FeedEventBase & {
  kind: "config.change";
  data: {
    source: string;
    file_path?: string;
  };
};
/**
 * An instruction file was read.
 */
export type FeedInstructionsLoaded = FeedEventBase & {
  kind: "instructions.loaded";
  data: {
    [k: string]: unknown;
  } & {
    file_path?: string;
    memory_type?: string;
    load_reason?: string;
    trigger_file_path?: string;
    /**
     * init, maintenance: an older form, which names no file.
     */
    trigger?: string;
  };
};
/**
 * The agent went to another directory.
 */
export type FeedCwdChanged = FeedEventBase & {
  kind: "cwd.changed";
  data: {
    old_cwd?: string;
    new_cwd: string;
  };
};
/**
 * A watched file changed.
 */
export type FeedFileChanged = FeedEventBase & {
  kind: "file.changed";
  data: {
    file_path: string;
    event?: string;
  };
};
/**
 * A directory was added to the session.
 */
export type FeedDirectoryAdded = FeedEventBase & {
  kind: "directory.added";
  data: {
    directory: string;
    source?: string;
  };
};
/**
 * A work tree was made.
 */
export type FeedWorktreeCreate = FeedEventBase & {
  kind: "worktree.create";
  data: {
    name: string;
  };
};
/**
 * A work tree was removed.
 */
export type FeedWorktreeRemove = FeedEventBase & {
  kind: "worktree.remove";
  data: {
    worktree_path: string;
  };
};
/**
 * A hook event that is not known here.
 */
export type FeedUnknownHook = FeedEventBase & {
  kind: "unknown.hook";
  data: {
    hook_event_name: string;
    payload?: unknown;
  };
};
/**
 * A run begins.
 */
export type FeedRunStart = FeedEventBase & {
  kind: "run.start";
  data: {
    trigger: {
      type: "user_prompt_submit" | "resume" | "other";
      /**
       * Id of the hook event; in Run only.
       */
      request_id?: string;
      prompt_preview?: string;
    };
  };
};
/**
 * A run ends.
 */
export type FeedRunEnd = FeedEventBase & {
  kind: "run.end";
  data: {
    /**
     * completed, failed, aborted
     */
    status: "completed" | "failed" | "aborted";
    counters: {
      tool_uses: number;
      tool_failures: number;
      permission_requests: number;
      /**
       * Calls that were denied.
       */
      blocks: number;
    };
  };
};
/**
 * What became of a permission request. A withdrawn or expired one is no_opinion; ask: it was handed back to the agent's own prompt.
 */
export type FeedPermissionDecision = FeedEventBase & {
  kind: "permission.decision";
  data: {
    decision_type: "no_opinion" | "allow" | "deny" | "ask";
    /**
     * A word: deadline, hangup, tool_ran, … Empty when somebody decided.
     */
    reason?: string;
    /**
     * Of a denial, which always has one; empty if nothing was said.
     */
    message?: string;
    interrupt?: boolean;
    updated_input?: unknown;
    updated_permissions?: unknown;
    /**
     * updated_input is another call than was asked for. The body shows the difference.
     */
    edited?: boolean;
    /**
     * updated_input is the same call, run contained (read: it can read, and nothing else).
     */
    contained?: "read";
    /**
     * What was answered to questions, or in a form.
     */
    answers?: Answer[];
    /**
     * The agent ran without a terminal, where nobody could have answered.
     */
    unattended?: boolean;
    outcome?: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
    by?: Approver;
  };
};
/**
 * The answer reached the hook, or the hook did not print it, or a later event proved that the allowed tool ran.
 */
export type FeedPermissionDelivery = FeedEventBase & {
  kind: "permission.delivery";
  data: {
    /**
     * delivered, refused, confirmed
     */
    delivery: string;
    /**
     * What the tool said when it ran and failed, or why the hook refused, at most 2 KiB; any text.
     */
    failure?: string;
  };
};
/**
 * The tool ran although the request was denied, or as it was asked for although it was allowed as edited.
 */
export type FeedPermissionOverruled = FeedEventBase & {
  kind: "permission.overruled";
  data: {
    tool_name?: string;
    /**
     * It was allowed as edited.
     */
    edited?: boolean;
    /**
     * It was allowed to run contained, and ran as it was asked for.
     */
    contained?: "read";
  };
};
/**
 * assent never holds a stop: no_opinion.
 */
export type FeedStopDecision = FeedEventBase & {
  kind: "stop.decision";
  data: {
    decision_type: "no_opinion" | "block" | "allow";
    reason?: string;
  };
};
/**
 * A task came onto the list.
 */
export type FeedTodoAdd = FeedEventBase & {
  kind: "todo.add";
  data: {
    todo_id: string;
    text: string;
    details?: string;
    /**
     * p0, p1, p2
     */
    priority?: "p0" | "p1" | "p2";
    linked_event_id?: string;
    assigned_actor_id?: string;
    tags?: string[];
  };
};
/**
 * A task changed.
 */
export type FeedTodoUpdate = FeedEventBase & {
  kind: "todo.update";
  data: {
    todo_id: string;
    patch: {
      text?: string;
      details?: string;
      priority?: "p0" | "p1" | "p2";
      /**
       * open, doing, blocked, done
       */
      status?: "open" | "doing" | "blocked" | "done";
      assigned_actor_id?: string;
      /**
       * All of them, in place of those before.
       */
      tags?: string[];
    };
  };
};
/**
 * A task is done, or was taken off the list.
 */
export type FeedTodoDone = FeedEventBase & {
  kind: "todo.done";
  data: {
    todo_id: string;
    /**
     * removed, or empty
     */
    reason?: string;
  };
};
/**
 * Events of this session or others left the event stream before they were read.
 */
export type FeedEventsLost = FeedEventBase & {
  kind: "events.lost";
  data: {
    /**
     * How many, of all sessions together.
     */
    count: number;
  };
};
/**
 * What a credential allows. admin includes operate, which includes approve, which includes view; submit and host stand apart.
 */
export type Role = "submit" | "host" | "view" | "approve" | "operate" | "admin";
/**
 * How bad what a request would do could be. calm: reads, inside the project. normal: writes, inside the project. attention: network, publishing, installing, outside the project, or unknown. danger: cannot be undone, secrets, more rights, assent or the agent's guard, code from the network.
 */
export type Risk1 = "calm" | "normal" | "attention" | "danger";
/**
 * What the server sends on /v1/ws: first a snapshot (unless the client resumes), then changes, sessions, rules, halt, messages and agents; with feed=SESSION only feed messages. A client ignores message types it does not know.
 */
export type WSMessage = WSSnapshot | WSChanges | WSSessions | WSFeed | WSRules | WSHalt | WSMessages | WSAgents;

export interface Everything {
  PermissionRequest: PermissionRequest;
  Unit: Unit;
  SessionInfo: SessionInfo;
  Found: Found;
  Settled: Settled;
  Stats: Stats;
  Rules: Rules;
  Saved: Saved;
  Halt: Halt;
  Proposals: Proposals;
  Suggestions: Suggestions;
  Device: Device;
  VerificationState: VerificationState;
  Verification: Verification1;
  Push: Push;
  PushSettings: PushSettings;
  PushMessage: PushMessage;
  Verdict: Verdict1;
  RuleProblem: RuleProblem;
  PairingStart: PairingStart;
  PairingWaiting: PairingWaiting;
  PhoneAddress: PhoneAddress;
  Decision: Decision;
  DecisionResult: DecisionResult;
  Problem: Problem;
  AuditCheckpoint: AuditCheckpoint;
  AuditTrace: AuditTrace;
  "ws/Message": WSMessage;
  "feed/Event": FeedEvent;
  AgentState: AgentState;
  Session: Session;
  Run: Run;
  Actor: Actor;
  Task: Task;
  AgentDiff: AgentDiff;
}
/**
 * A permission request of an agent. Nothing is required beyond what the original definition requires (which is nothing); assent sets id, sessionId, toolName, inputSha256, agent, createdAt, deadline and state always.
 */
export interface PermissionRequest {
  /**
   * Unique identifier for this request (from event ID)
   */
  id?: string;
  /**
   * What asks; absent for a permission. Elicitation: an MCP server wants a form filled in. Then toolName is Elicitation, toolInput the members of its event, and an allow brings the content as updatedInput.
   */
  event?: "Elicitation";
  /**
   * Name of the tool requesting permission (Edit, Write, Bash, Read, etc.)
   */
  toolName?: string;
  /**
   * What the agent calls the tool, where toolName is assent's name for it.
   */
  nativeToolName?: string;
  /**
   * Tool-specific input parameters, as received. Absent where it is no JSON that can be repeated; see shown and rawBase64.
   */
  toolInput?: {
    [k: string]: unknown;
  };
  /**
   * Claude Code session identifier
   */
  sessionId?: string;
  /**
   * Current working directory of the Claude Code session
   */
  cwd?: string;
  /**
   * A decision must repeat it: lower-case hex SHA-256 over the bytes of tool_input as received, or over the whole payload where tool_input is absent, repeated or case-varied.
   */
  inputSha256?: string;
  /**
   * The coding agent.
   */
  agent?: string;
  /**
   * What people call the agent.
   */
  agentTitle?: string;
  /**
   * What the agent takes in an answer beside a plain yes and no. What it does not take is refused. Absent of an agent that this broker does not know.
   */
  can?: {
    /**
     * The message of a denial reaches the model.
     */
    words: boolean;
    /**
     * A denial may stop the agent's turn.
     */
    interrupt: boolean;
    /**
     * updatedInput runs in the place of what was asked for.
     */
    edit: boolean;
    /**
     * The agent's own "don't ask again": updatedPermissions.
     */
    always: boolean;
    /**
     * Its questions can be answered.
     */
    question: boolean;
  };
  /**
   * The agent's own prompt is up meanwhile, and the first answer counts. Absent: nobody at its terminal is asked as long as this request waits.
   */
  race?: boolean;
  /**
   * The subagent's id; absent in the main thread.
   */
  agentId?: string;
  /**
   * The subagent's type.
   */
  agentType?: string;
  /**
   * CLAUDE_AGENT_ID, a label the user may set.
   */
  agentLabel?: string;
  /**
   * Where the hook ran.
   */
  host?: string;
  /**
   * The hook's process.
   */
  pid?: number;
  /**
   * Names the process with this pid: when it began, its pid namespace and its machine's boot, so that a later one of the same number is not taken for it. Absent where the hook cannot tell.
   */
  process?: string;
  /**
   * Whether somebody may sit at the agent's own terminal; absent where the hook cannot tell.
   */
  attended?: "yes" | "no";
  /**
   * CLAUDE_PROJECT_DIR.
   */
  projectDir?: string;
  repo?: Repo;
  createdAt?: string;
  /**
   * When assent answers onTimeout at the latest.
   */
  deadline?: string;
  /**
   * What the hook answers when nobody did.
   */
  onTimeout?: "abstain" | "deny";
  permissionMode?: string;
  /**
   * permission_suggestions as the agent sent them, as a rule an array of PermissionUpdate.
   */
  permissionSuggestions?: {
    [k: string]: unknown;
  };
  /**
   * Why the payload cannot be shown faithfully by its fields; absent when it can.
   */
  uninspectable?: string;
  /**
   * Of a tool that writes a whole file, what was there when the request came. Absent where the broker cannot see it: the hook ran on another host, or the file may not be read.
   */
  overwrites?: {
    /**
     * Whether there is such a file, which is then replaced.
     */
    exists: boolean;
    bytes?: number;
    /**
     * Absent of a file that is no text, or larger than 8 MiB.
     */
    lines?: number;
  };
  verdict?: Verdict;
  /**
   * Lower-case hex SHA-256 over the whole payload.
   */
  payloadSha256?: string;
  /**
   * The EVENTS sequence of the request's own event.
   */
  eventSeq?: number;
  /**
   * When the hook ran, by its host's clock.
   */
  eventTime?: string;
  /**
   * Equal for two payloads that speak of the same tool call.
   */
  callKey?: string;
  /**
   * How the hook reached the broker.
   */
  channel?: "socket" | "remote" | "plain";
  /**
   * The agent's own name of the tool call, where it is known.
   */
  toolUseId?: string;
  /**
   * The name of the token with which the hook came: who made the token said which machine it is for. Absent where there was none.
   */
  machine?: string;
  /**
   * Whom the broker took it from: token:ID, or user:UID@HOST for a user of the broker's machine, whose id is new at each start of the machine. Only their events settle it. Absent in records of earlier versions.
   */
  submitter?: string;
  /**
   * How the agent asked; absent: by its hook. mcp: by its permission prompt tool, see assent mcp. acp: by its editor, whose dialog is up too, see assent acp.
   */
  via?: "mcp" | "acp";
  /**
   * What people call the request by: the sequence of its first record, the same at every broker of the record. Absent before that is there.
   */
  number?: number;
  state?: "pending" | "ended";
  /**
   * No hook is connected at the moment; it may come back.
   */
  detached?: boolean;
  /**
   * How it ended; absent while it waits. withdrawn: the agent or its terminal settled it. handed_back: assent abstained.
   */
  outcome?: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
  /**
   * Why it ended that way.
   */
  reason?: string;
  decidedBy?: Approver;
  settledAt?: string;
  /**
   * recorded: on disk. delivered: written to the waiting hook. refused: the hook did not print the allow, failure says why, and the agent's own prompt decides. confirmed: the allowed tool ran. overruled: the denied tool ran all the same, or an edited one as it was asked for.
   */
  delivery?: "recorded" | "delivered" | "refused" | "confirmed" | "overruled";
  /**
   * What the tool said when it ran and failed, or why the hook refused the answer, safe to show; of a long one the ends.
   */
  failure?: string;
  /**
   * It was allowed to run contained (read: it can read, and nothing else). The response has the input by which it ran; nobody edited it.
   */
  contained?: "read";
  /**
   * The payload, when it is valid UTF-8; not in lists and on the WebSocket.
   */
  raw?: string;
  /**
   * The payload, when it is not.
   */
  rawBase64?: string;
  /**
   * Too large for a list or the WebSocket: toolInput, permissionSuggestions, shown, allowed and response were left out. GET /v1/requests/{id} has the whole.
   */
  partial?: boolean;
  shown?: Shown;
  allowed?: Allowed;
  /**
   * Of a shell command: what it does, part by part, as the rules read it. At most 64; moreUnits were left out.
   */
  units?: Unit[];
  moreUnits?: number;
  /**
   * Why a shell command may do other things than its units say; then no rule allows it.
   */
  doubts?: {
    code: string;
    /**
     * Where, in UTF-16 code units of the command as it is shown.
     */
    start: number;
    end: number;
    /**
     * One sentence for a person.
     */
    why: string;
  }[];
  /**
   * The decision, once there is one. The answer to an MCP server's form has a form of its own.
   */
  response?: PermissionResponse | ElicitationResponse;
  context?: Context;
  risk?: Risk;
  /**
   * What the request would do, in one sentence of assent's words. Of one that was allowed as edited this, as risk and effects, is about what was allowed.
   */
  sentence?: string;
  /**
   * The one reason for the risk; absent where it is calm or normal.
   */
  riskReason?: string;
  /**
   * What the button that allows names where the risk is attention: Allow publish.
   */
  action?: string;
  /**
   * What the request would do, worst first. Informs people: no rule allows because of it.
   */
  effects?: Effect[];
  /**
   * How many effects that were found were left out, none of them worse than those that are here.
   */
  moreEffects?: number;
  /**
   * How often a person has allowed this very call before, in the same project and as it was asked for. Only of a request that waits and whose risk is calm or normal. It comes from history, which may be behind or away: absent says nothing.
   */
  allowedHere?: number;
  /**
   * The parts of a shell command that are the reason for attention or danger, in UTF-16 code units of the command as it is shown.
   */
  marks?: {
    start: number;
    end: number;
    risk: Risk;
  }[];
}
/**
 * The git work tree a request comes from, as the API shows it.
 */
export interface Repo {
  /**
   * Top directory of the work tree.
   */
  root?: string;
  /**
   * Absent when HEAD is detached.
   */
  branch?: string;
  /**
   * Hex object name; absent before the first commit.
   */
  head?: string;
  /**
   * URL of origin, without credentials.
   */
  remote?: string;
}
/**
 * What the rules said when the request came; absent when they had nothing to say.
 */
export interface Verdict {
  action: "allow" | "ask" | "deny";
  /**
   * The id of the rule, or its text where it is a rule string. Absent when none matched.
   */
  rule?: string;
  /**
   * Where the rule stands.
   */
  file?: string;
  /**
   * The saved rules and grants that the allow rests on, by id.
   */
  saved?: string[];
  /**
   * One sentence: why no rule allowed it.
   */
  reason?: string;
  /**
   * Of an allow: it holds only for a command that runs contained (read: it can read, and nothing else).
   */
  contain?: "read";
  /**
   * The rule's words for the approver.
   */
  note?: string;
  /**
   * What rules that are only tried out would have said.
   */
  shadow?: {
    action: "allow" | "ask" | "deny";
    rule: string;
    file?: string;
  }[];
}
/**
 * Who decided.
 */
export interface Approver {
  kind: "device" | "token" | "owner-cli" | "rule";
  /**
   * Of a rule, its id, or its text where it is a rule string.
   */
  id?: string;
  name?: string;
  /**
   * Of a rule: where it stands.
   */
  file?: string;
  /**
   * The owner of the device was verified for this, with face, fingerprint or PIN.
   */
  verified?: boolean;
  /**
   * Of a device: where the code comes from that signs with its key, as was said when it was paired.
   */
  codeOrigin?: "broker" | "independent";
}
/**
 * The input as text that can be displayed as it is.
 */
export interface Shown {
  /**
   * What the tool would do, as a short sentence.
   */
  verb: string;
  fields: {
    name: string;
    text: string;
    /**
     * words: the agent's own description, to be labelled as such.
     */
    kind: "code" | "words" | "text" | "json" | "path" | "url" | "diff-old" | "diff-new";
  }[];
}
/**
 * What was allowed, where it is not what was asked for.
 */
export interface Allowed {
  shown?: Shown1;
  /**
   * The members that differ from what was asked for: changed, added (without before) or left out (without after).
   */
  changes?: {
    name: string;
    before?: string;
    after?: string;
  }[];
  /**
   * What was answered to the questions of an agent, or in the form of an MCP server.
   */
  answers?: Answer[];
}
/**
 * The call that was allowed; absent for answers.
 */
export interface Shown1 {
  /**
   * What the tool would do, as a short sentence.
   */
  verb: string;
  fields: {
    name: string;
    text: string;
    /**
     * words: the agent's own description, to be labelled as such.
     */
    kind: "code" | "words" | "text" | "json" | "path" | "url" | "diff-old" | "diff-new";
  }[];
}
/**
 * The answer to one question of an agent, or the value of one field of a form. Both are safe to show.
 */
export interface Answer {
  question: string;
  answer: string;
}
/**
 * One thing that a shell command does, as the rules read it. start and end are its place in the command as it is shown, in UTF-16 code units.
 */
export interface Unit {
  start: number;
  end: number;
  /**
   * command: runs a program. write: writes, creates or deletes a file. read: reads one. assign: sets a variable. opaque: could not be read.
   */
  kind: "command" | "write" | "read" | "assign" | "opaque";
  /**
   * The program's name; absent where it is known only when it runs.
   */
  program?: string;
  /**
   * The words, separated by spaces, or the path; safe to display, and cut where it is long.
   */
  text: string;
  /**
   * How it was reached, outermost first.
   */
  via?: string[];
  /**
   * Where it runs, if not where the agent works.
   */
  dir?: string;
  /**
   * Where it runs is known only when it runs.
   */
  dirUnknown?: boolean;
  /**
   * Reached through a program whose effect is not followed, or guessed: there may be more.
   */
  guessed?: boolean;
  /**
   * It stands in a script within a word; start and end are that word's.
   */
  inner?: boolean;
  /**
   * The parts worth a colour.
   */
  words?: {
    start: number;
    end: number;
    kind: "program" | "flag" | "expansion" | "path";
  }[];
}
/**
 * Permission response sent back to Claude Code hook
 */
export interface PermissionResponse {
  /**
   * Claude Code session identifier
   */
  sessionId?: string;
  hookSpecificOutput: {
    /**
     * Always "PermissionRequest"
     */
    hookEventName: string;
    decision: {
      /**
       * Whether to allow or deny the permission
       */
      behavior: "allow" | "deny";
      /**
       * Denial message (only used when behavior is deny)
       */
      message?: string;
      /**
       * With deny: stop the turn. The agent then loses the message.
       */
      interrupt?: boolean;
      /**
       * With allow: replaces the tool input as a whole.
       */
      updatedInput?: {};
      /**
       * With allow: "always allow".
       */
      updatedPermissions?: (PermissionUpdate | string)[];
    };
  };
}
export interface AddRules {
  type: "addRules";
  rules: {
    toolName: string;
    /**
     * Absent: the whole tool.
     */
    ruleContent?: string;
  }[];
  behavior: "allow" | "deny" | "ask";
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
export interface ReplaceRules {
  type: "replaceRules";
  rules: {
    toolName: string;
    /**
     * Absent: the whole tool.
     */
    ruleContent?: string;
  }[];
  behavior: "allow" | "deny" | "ask";
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
export interface RemoveRules {
  type: "removeRules";
  rules: {
    toolName: string;
    /**
     * Absent: the whole tool.
     */
    ruleContent?: string;
  }[];
  behavior: "allow" | "deny" | "ask";
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
export interface SetMode {
  type: "setMode";
  mode: string;
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
export interface AddDirectories {
  type: "addDirectories";
  directories: string[];
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
export interface RemoveDirectories {
  type: "removeDirectories";
  directories: string[];
  /**
   * Where it is kept.
   */
  destination: "userSettings" | "projectSettings" | "localSettings" | "session" | "cliArg";
}
/**
 * The older form.
 */
export interface ToolAlwaysAllow {
  type: "toolAlwaysAllow";
  tool: string;
}
/**
 * The answer to an MCP server's form, as the agent gets it.
 */
export interface ElicitationResponse {
  /**
   * The agent's session.
   */
  sessionId?: string;
  hookSpecificOutput: {
    hookEventName: "Elicitation";
    /**
     * What became of the form.
     */
    action: "accept" | "decline" | "cancel";
    /**
     * With accept: what was filled in.
     */
    content?: {};
  };
}
/**
 * Of a request that waits: what was asked of the agent, what it said, what its file holds. Never recorded.
 */
export interface Context {
  /**
   * The session's current prompt, as far as this broker knows; absent where it knows none. Not verified: whoever runs as the agent's user can hand in a prompt.
   */
  prompt?: string;
  /**
   * The end of the prompt was left out.
   */
  promptCut?: boolean;
  /**
   * When it was submitted, by the clock of the hook's host.
   */
  promptAt?: string;
  /**
   * Who wrote it. you: somebody at the agent's own prompt. session: another session or program sent it. program: the session has no terminal, so that a person or a program wrote it.
   */
  promptFrom?: "you" | "session" | "program";
  /**
   * What the other session calls itself.
   */
  promptSender?: string;
  /**
   * What the agent said last since the prompt: its claim, to be shown as such.
   */
  said?: string;
  /**
   * The beginning of what it said was left out.
   */
  saidCut?: boolean;
  saidBy?: "agent" | "subagent";
  /**
   * Why there is no said. nothing: the agent said nothing since the prompt. beyond: it lies before the last 64 KiB of the transcript, which is all that is read. off: the hook is not to read the transcript. refused: the hook may not read that file. late: not within 5 ms. unknown: nothing came with the request, from an older hook or no hook of the agent's. lost: this broker started after the request came. elsewhere: another broker has it. full: no memory was left.
   */
  saidWhy?: "nothing" | "beyond" | "off" | "refused" | "late" | "unknown" | "lost" | "elsewhere" | "full";
  /**
   * Of a tool that writes a whole file that is there: the text before. Absent where there is no such file.
   */
  before?: {
    /**
     * The whole text, in the form of the fields in shown.
     */
    text?: string;
    /**
     * Why there is no text. secret: the file is one of those that hold secrets. large: more than 256 KiB. binary: no text. unseen: the broker may not read it, or could not in time. remote: the hook ran on another host. full: no memory was left. lost: this broker started after the request came, or another one has it. partial: too large for a list; GET /v1/requests/{id} has it.
     */
    why?: "secret" | "large" | "binary" | "unseen" | "remote" | "full" | "lost" | "partial";
  };
  /**
   * Of an edit whose old text stands in its file exactly once: where, in the form of the fields in shown. Lines are cut after 200 characters.
   */
  at?: {
    /**
     * The first line that the edit changes.
     */
    line: number;
    /**
     * The lines before it.
     *
     * @maxItems 3
     */
    above?: [] | [string] | [string, string] | [string, string, string];
    /**
     * The lines behind the last one that the edit changes.
     *
     * @maxItems 3
     */
    below?: [] | [string] | [string, string] | [string, string, string];
  };
}
/**
 * One thing that a request would do, in assent's words.
 */
export interface Effect {
  /**
   * What kind of thing it is.
   */
  effect:
    | "reads"
    | "writes"
    | "overwrites"
    | "deletes"
    | "moves"
    | "publishes"
    | "sends"
    | "downloads"
    | "runs-downloaded"
    | "installs"
    | "reads-secrets"
    | "escalates"
    | "permissions"
    | "agent-settings"
    | "assent"
    | "kills"
    | "database"
    | "plants"
    | "runs-project"
    | "unknown"
    | "asks"
    | "other";
  /**
   * What it is done to: a path relative to the repository, a host, a branch, a table. Safe to display, and cut where it is long. Empty where there is none.
   */
  object: string;
  /**
   * Whether the object lies outside the project.
   */
  outside: boolean;
  risk: Risk;
  /**
   * The effect in words.
   */
  text: string;
}
/**
 * A session. While history is not available there is nothing but what the broker knows: no title, no runs, no feed.
 */
export interface SessionInfo {
  /**
   * Claude Code session identifier
   */
  sessionId: string;
  /**
   * Current working directory of the session
   */
  cwd?: string;
  /**
   * Number of pending permission requests in this session's queue
   */
  queueCount: number;
  agent?: string;
  /**
   * What people call the agent.
   */
  agentTitle?: string;
  /**
   * CLAUDE_AGENT_ID, a label the user may set.
   */
  agentLabel?: string;
  /**
   * Where the hooks ran.
   */
  host?: string;
  /**
   * The last hook's process.
   */
  pid?: number;
  /**
   * Names the process with this pid: when it began, its pid namespace and its machine's boot, so that a later one of the same number is not taken for it. Absent where the hook cannot tell.
   */
  process?: string;
  /**
   * Whether somebody may sit at the agent's own terminal; absent where the hook cannot tell.
   */
  attended?: "yes" | "no";
  /**
   * Whether the agent's process still runs, as the broker saw it in the last two seconds; of the 100 newest sessions, and only where the agent runs on the broker's own machine. gone: the state is exited, though nobody saw the session end; endedAt is absent then.
   */
  agentProcess?: "running" | "gone";
  /**
   * CLAUDE_PROJECT_DIR.
   */
  projectDir?: string;
  repo?: Repo;
  permissionMode?: string;
  /**
   * The agent's turn is over, although state says working for a minute more: nobody can know yet that it does not go on by itself. Tell people that the turn is over.
   */
  turnOver?: boolean;
  /**
   * How the last turn of a session of a host's agent ended, where it was not completed and nothing was heard of the session since, such as: Stopped on “Anna's phone”. A few words for people, in place of the state's.
   */
  lastTurn?: string;
  /**
   * Type of the newest event.
   */
  lastEvent?: string;
  lastEventAt?: string;
  /**
   * When the session began, as far as that is known.
   */
  startedAt?: string;
  /**
   * Those of queueCount that ask for a permission.
   */
  permissionQueueCount?: number;
  /**
   * The others: questions, and plans to approve.
   */
  questionQueueCount?: number;
  /**
   * What the session is about: its last prompt, else its directory. One line, safe to show.
   */
  title?: string;
  state?: AgentState;
  stateSince?: string;
  endedAt?: string;
  model?: string;
  currentRun?: Run;
  actors?: Actor[];
  tasks?: Task[];
  /**
   * Position of the newest event of its feed; absent while there is none.
   */
  lastPos?: number;
}
/**
 * One piece of a session's work: from a prompt to the end of the turn, or what happened without a prompt.
 */
export interface Run {
  /**
   * <session_id>:R<n>, n the EVENTS sequence of the event that opened the run.
   */
  run_id: string;
  session_id: string;
  started_at: number;
  ended_at?: number;
  trigger: {
    type: "user_prompt_submit" | "resume" | "other";
    /**
     * Id of the hook event; in Run only.
     */
    request_id?: string;
    prompt_preview?: string;
  };
  status: "running" | "blocked" | "completed" | "failed" | "aborted";
  actors: {
    root_agent_id: string;
    /**
     * At most maxActors.
     */
    subagent_ids: string[];
  };
  counters: {
    tool_uses: number;
    tool_failures: number;
    permission_requests: number;
    /**
     * Calls that were denied.
     */
    blocks: number;
  };
}
/**
 * Who does things in a session.
 */
export interface Actor {
  actor_id: string;
  kind: "user" | "agent" | "subagent" | "system";
  display_name: string;
  agent_type?: string;
  parent_actor_id?: string;
  /**
   * A subagent that started and has not stopped.
   */
  running?: boolean;
}
/**
 * One entry of the agents' task lists.
 */
export interface Task {
  todo_id: string;
  text: string;
  /**
   * open, doing, blocked, done
   */
  status: "open" | "doing" | "blocked" | "done";
  priority?: "p0" | "p1" | "p2";
  assigned_actor_id?: string;
  tags?: string[];
}
/**
 * One event that a search found.
 */
export interface Found {
  /**
   * The event's place among those of all sessions: the cursor of a search. It is new when history is made anew.
   */
  id: number;
  /**
   * One line, safe to show.
   */
  sessionTitle?: string;
  /**
   * The session's coding agent.
   */
  agent?: string;
  /**
   * What people call the agent.
   */
  agentTitle?: string;
  event: FeedEvent;
}
/**
 * What all events of a feed share. Titles and bodies are safe to show; data and raw are as the agent wrote them.
 */
export interface FeedEventBase {
  /**
   * <run_id>:E<seq>.
   */
  event_id: string;
  /**
   * Counts the events of the session from 1: where a reader goes on.
   */
  pos: number;
  /**
   * Counts the events of the run from 1.
   */
  seq: number;
  /**
   * Milliseconds since 1970, by the clock of the host it happened on.
   */
  ts: number;
  session_id: string;
  /**
   * <session_id>:R<n>.
   */
  run_id: string;
  kind:
    | "compact.post"
    | "compact.pre"
    | "config.change"
    | "cwd.changed"
    | "directory.added"
    | "elicitation.request"
    | "elicitation.result"
    | "events.lost"
    | "file.changed"
    | "instructions.loaded"
    | "message"
    | "model.pre"
    | "model.switch"
    | "notification"
    | "permission.decision"
    | "permission.delivery"
    | "permission.denied"
    | "permission.overruled"
    | "permission.request"
    | "prompt.expansion"
    | "run.end"
    | "run.start"
    | "session.end"
    | "session.start"
    | "setup"
    | "stop.decision"
    | "stop.failure"
    | "stop.interrupt"
    | "stop.request"
    | "subagent.start"
    | "subagent.stop"
    | "task.completed"
    | "task.created"
    | "teammate.idle"
    | "todo.add"
    | "todo.done"
    | "todo.update"
    | "tool.batch"
    | "tool.failure"
    | "tool.post"
    | "tool.pre"
    | "unknown.hook"
    | "user.prompt"
    | "worktree.create"
    | "worktree.remove";
  level: "debug" | "info" | "warn" | "error";
  /**
   * user, agent:root, system, or subagent:<agent_id>.
   */
  actor_id: string;
  /**
   * What it came from, as far as that is certain.
   */
  cause?: {
    /**
     * Of a result the call, of a decision the request.
     */
    parent_event_id?: string;
    /**
     * Id of the hook event, and of the permission request it raised.
     */
    hook_request_id?: string;
    tool_use_id?: string;
    transcript_path?: string;
  };
  /**
   * One line, safe to show.
   */
  title: string;
  /**
   * More of it than the title has room for; safe to show, shortened.
   */
  body?: string;
  /**
   * How it is shown unless the reader chose otherwise.
   */
  ui?: {
    collapsed_default?: boolean;
    pin?: boolean;
    badge?: string;
    /**
     * A feed for people leaves it out.
     */
    hidden?: boolean;
  };
  /**
   * What is odd about it.
   *
   * @minItems 1
   */
  marks?: [
    (
      | "no_session"
      | "unreadable"
      | "ambiguous"
      | "clock"
      | "spooled"
      | "late"
      | "no_pre"
      | "no_request"
      | "no_event"
      | "unknown_agent"
      | "restarted"
    ),
    ...(
      | "no_session"
      | "unreadable"
      | "ambiguous"
      | "clock"
      | "spooled"
      | "late"
      | "no_pre"
      | "no_request"
      | "no_event"
      | "unknown_agent"
      | "restarted"
    )[]
  ];
  /**
   * Members of data that were too long, or JSON but no UTF-8: of a text its beginning is left, other values are null. The whole stands in raw or raw_base64.
   *
   * @minItems 1
   */
  cut?: [string, ...string[]];
  /**
   * The payload of the hook, byte for byte.
   */
  raw?: string;
  /**
   * Instead of raw, where the payload is no UTF-8.
   */
  raw_base64?: string;
}
/**
 * A request that is over, as history keeps it.
 */
export interface Settled {
  id: string;
  sessionId: string;
  /**
   * One line, safe to show.
   */
  sessionTitle?: string;
  /**
   * The session's coding agent.
   */
  agent?: string;
  /**
   * What people call the agent.
   */
  agentTitle?: string;
  toolName: string;
  /**
   * One line of the tool's input, safe to show and shortened: of what was allowed, else of what was asked for. The request itself has the whole.
   */
  summary?: string;
  /**
   * It was allowed as edited: summary is not what was asked for.
   */
  edited?: boolean;
  /**
   * It was allowed to run contained: it could read, and nothing else.
   */
  contained?: boolean;
  /**
   * Of an edited one, one line of what was asked for.
   */
  asked?: string;
  /**
   * Of an edited one, how what was allowed differs from what was asked for: the name of each member that was changed, then lines that begin with "- ", "+ " or two spaces. Safe to show, and cut where it is long: the request itself has the whole.
   */
  changes?: string;
  /**
   * What was answered to questions or in a form, one line, safe to show and shortened.
   */
  answers?: string;
  /**
   * The root of the repository, or the directory where it would have run.
   */
  repo?: string;
  createdAt: string;
  settledAt: string;
  outcome: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
  /**
   * Why it ended without a decision.
   */
  reason?: string;
  /**
   * The agent ran without a terminal, where nobody could have answered.
   */
  unattended?: boolean;
  /**
   * What the agent was told.
   */
  message?: string;
  /**
   * Who or what decided; absent when nobody did.
   */
  by?: {
    kind: "device" | "token" | "owner-cli" | "rule";
    /**
     * Of a rule with its file.
     */
    name: string;
    /**
     * The owner of the device was verified for this, with face, fingerprint or PIN.
     */
    verified?: boolean;
  };
  /**
   * The last that was heard of the answer.
   */
  delivery?: "delivered" | "refused" | "confirmed" | "overruled";
  /**
   * The tool ran, and failed.
   */
  failed?: boolean;
  /**
   * What it said then, or why the hook refused the answer: one line, safe to show and shortened.
   */
  failure?: string;
}
/**
 * Who and what decided, and how long people took.
 */
export interface Stats {
  since: string;
  step: "hour" | "day";
  /**
   * The time zone in which hours and days begin.
   */
  zone: string;
  /**
   * Every hour or day since then, also those in which nothing was settled.
   */
  buckets: {
    start: string;
    allowedByPerson: number;
    deniedByPerson: number;
    allowedByRule: number;
    deniedByRule: number;
    expired: number;
    withdrawn: number;
    handedBack: number;
    /**
     * Half of what people decided took no longer, from the request on; 0 when they decided nothing.
     */
    medianMs: number;
    /**
     * Nine of ten took no longer.
     */
    p90Ms: number;
  }[];
  /**
   * Who decided most, first.
   *
   * @maxItems 20
   */
  by:
    | []
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ]
    | [
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        },
        {
          kind: "device" | "token" | "owner-cli" | "rule";
          /**
           * Of a rule with its file.
           */
          name: string;
          allowed: number;
          denied: number;
          medianMs: number;
        }
      ];
}
/**
 * The rules in force, and what is wrong with their files.
 */
export interface Rules {
  /**
   * false while no rule allows anything, because a file was unusable when the broker started.
   */
  allowing: boolean;
  /**
   * Why a file, as it is now, is not in force.
   */
  problems: RuleProblem[];
  /**
   * What has less effect than its author may think.
   */
  notices: RuleProblem[];
  files: {
    path: string;
    /**
     * On whose behalf it speaks.
     */
    layer: string;
    /**
     * last_good: as it is now it is unusable, and what it said before is in force. broken: nothing of it is in force.
     */
    state: "in_force" | "last_good" | "broken";
    /**
     * When what is in force of it was read.
     */
    loadedAt?: string;
    signed?: RulesSignature;
    /**
     * Why a signature that is there does not count, so that nobody signed the rules.
     */
    signatureProblem?: string;
  }[];
  rules: {
    id: string;
    file: string;
    line?: number;
    layer: string;
    action: "allow" | "ask" | "deny";
    /**
     * Only recorded.
     */
    shadow?: boolean;
    /**
     * As it is written.
     */
    text?: string;
    /**
     * How many requests it has decided, or would have, since the broker started.
     */
    matches: number;
    lastMatch?: string;
  }[];
  /**
   * The rules among them that approvers made of requests, also those that are over. Only these can be revoked here; grants are listed by themselves.
   */
  saved?: Saved[];
}
/**
 * Something wrong in a file of rules.
 */
export interface RuleProblem {
  file: string;
  /**
   * Absent when the file as a whole is meant.
   */
  line?: number;
  column?: number;
  message: string;
}
/**
 * Who signed what is in force of it. Absent where nobody did.
 */
export interface RulesSignature {
  /**
   * The digest of the file.
   */
  sha256: string;
  /**
   * When it was signed, by the clock of who signed.
   */
  signedAt: string;
  /**
   * When it counts no more. Absent: it always does.
   */
  until?: string;
  /**
   * ECDSA P-256 with SHA-256, r and s, unpadded base64url.
   */
  signature: string;
  publicKey: JWK;
}
/**
 * An ECDSA P-256 public key as WebCrypto exports it.
 */
export interface JWK {
  kty: "EC";
  crv: "P-256";
  /**
   * 32 bytes, unpadded base64url.
   */
  x: string;
  /**
   * 32 bytes, unpadded base64url.
   */
  y: string;
}
/**
 * A rule or a grant that an approver had assent remember.
 */
export interface Saved {
  /**
   * Of the rule. Of several rules, the others are named id/2, id/3.
   */
  id: string;
  /**
   * A rule lasts until it is revoked, a grant until its time or its count is over, too.
   */
  kind: "rule" | "grant";
  state: "active" | "expired" | "spent" | "revoked";
  /**
   * What it allows.
   */
  sentence: string;
  /**
   * YAML, as in a rules file.
   */
  rule: string;
  /**
   * The request that it was made from.
   */
  requestId: string;
  by: Approver;
  createdAt: string;
  /**
   * From this moment on it allows nothing.
   */
  expiresAt?: string;
  /**
   * How many requests it may allow.
   */
  count?: number;
  /**
   * How many of them it has allowed.
   */
  spent?: number;
  /**
   * How many requests it has decided since the broker started; of what was revoked before that, until then.
   */
  matches: number;
  lastMatch?: string;
  revokedAt?: string;
  revokedBy?: Approver;
  /**
   * The request's.
   */
  inputSha256: string;
  /**
   * The digest of the proposal.
   */
  proposal: string;
  /**
   * The device's that saved it, over what the page on approvers' programs says.
   */
  signature?: string;
  publicKey?: JWK;
  /**
   * expiresAt as it was sent and signed.
   */
  bounds?: string;
  verification?: Verification;
}
/**
 * What its maker was verified with, over the text that signature covers.
 */
export interface Verification {
  /**
   * The id of the credential.
   */
  credential: string;
  /**
   * As the authenticator gave it.
   */
  authenticatorData: string;
  /**
   * The browser's clientDataJSON.
   */
  clientData: string;
  /**
   * The authenticator's, over authenticatorData and the SHA-256 of clientData.
   */
  signature: string;
  /**
   * In the record only: the key that it was verified with (COSE).
   */
  publicKey?: string;
}
/**
 * Whether everything is stopped or paused.
 */
export interface Halt {
  /**
   * Grows with every act; 0 before the first. A paired device repeats it in what it signs.
   */
  revision: number;
  stopped?: HaltAct;
  paused?: HaltAct1;
  /**
   * The last acts, the newest last.
   *
   * @maxItems 101
   */
  acts: HaltAct2[];
}
/**
 * Who stopped everything; absent while nothing is stopped.
 */
export interface HaltAct {
  /**
   * stop: rules and grants allow nothing until lift. pause: new requests are left to the agents' own prompts until its time is over, or resume.
   */
  act: "stop" | "lift" | "pause" | "resume";
  at: string;
  by: Approver;
  /**
   * Of a pause: how long.
   */
  seconds?: number;
  /**
   * Of a pause: when it ends.
   */
  until?: string;
  /**
   * The revision of the state that it was taken on; absent for the first.
   */
  basis?: number;
  /**
   * Of a paired device, over what docs/protocol.md says.
   */
  signature?: string;
  publicKey?: JWK;
}
/**
 * Who paused everything, and until when; absent while nothing is paused.
 */
export interface HaltAct1 {
  /**
   * stop: rules and grants allow nothing until lift. pause: new requests are left to the agents' own prompts until its time is over, or resume.
   */
  act: "stop" | "lift" | "pause" | "resume";
  at: string;
  by: Approver;
  /**
   * Of a pause: how long.
   */
  seconds?: number;
  /**
   * Of a pause: when it ends.
   */
  until?: string;
  /**
   * The revision of the state that it was taken on; absent for the first.
   */
  basis?: number;
  /**
   * Of a paired device, over what docs/protocol.md says.
   */
  signature?: string;
  publicKey?: JWK;
}
/**
 * Somebody stopped or paused everything, or ended that.
 */
export interface HaltAct2 {
  /**
   * stop: rules and grants allow nothing until lift. pause: new requests are left to the agents' own prompts until its time is over, or resume.
   */
  act: "stop" | "lift" | "pause" | "resume";
  at: string;
  by: Approver;
  /**
   * Of a pause: how long.
   */
  seconds?: number;
  /**
   * Of a pause: when it ends.
   */
  until?: string;
  /**
   * The revision of the state that it was taken on; absent for the first.
   */
  basis?: number;
  /**
   * Of a paired device, over what docs/protocol.md says.
   */
  signature?: string;
  publicKey?: JWK;
}
/**
 * The rules that a request could become, the narrowest first. With each of them the request would have been allowed without a person.
 */
export interface Proposals {
  requestId: string;
  /**
   * Why there is none; absent when there is one.
   */
  reason?: string;
  proposals: {
    /**
     * Names the rule and the request that it is made from. Who saves it repeats it.
     */
    digest: string;
    /**
     * What it allows.
     */
    sentence: string;
    warnings?: string[];
    /**
     * YAML, as in a rules file, without the id.
     */
    rule: string;
    past: {
      /**
       * How far back was looked.
       */
      since: string;
      /**
       * How many requests were looked at.
       */
      examined: number;
      /**
       * false: there were more than are looked at.
       */
      complete: boolean;
      /**
       * How many of them it would have allowed without a person.
       */
      matched: number;
      /**
       * How many of those were denied.
       */
      denied: number;
      /**
       * At most 100: those that were denied first, else the newest.
       *
       * @maxItems 100
       */
      requests: {
        id: string;
        sessionId: string;
        createdAt: string;
        toolName: string;
        /**
         * One line. Everything invisible in it is made visible.
         */
        text: string;
        /**
         * How it ended.
         */
        outcome: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
      }[];
    };
  }[];
}
/**
 * The few narrow rules that would have answered the most of what people allowed, and none of what was denied or edited.
 */
export interface Suggestions {
  /**
   * When it was looked; some minutes ago perhaps.
   */
  at: string;
  /**
   * How many requests were looked at: the newest that are over, 2,000 at most.
   */
  examined: number;
  /**
   * How many of these a person allowed as they stood.
   */
  allowed: number;
  /**
   * How many of these the rules in force would allow now.
   */
  already: number;
  /**
   * How many of these the suggestions would have answered.
   */
  answered: number;
  /**
   * The one that answers most in front.
   */
  suggestions: {
    /**
     * The request that it is made from.
     */
    requestId: string;
    /**
     * That request's.
     */
    inputSha256: string;
    /**
     * The digest, as among the proposals of that request. Who saves it repeats it.
     */
    proposal: string;
    /**
     * What it allows.
     */
    sentence: string;
    warnings?: string[];
    /**
     * YAML, as in a rules file, without the id.
     */
    rule: string;
    /**
     * How many requests it would have answered.
     */
    answers: number;
    /**
     * The newest request that it would have answered.
     */
    newest: {
      id: string;
      sessionId: string;
      createdAt: string;
      toolName: string;
      /**
       * One line. Everything invisible in it is made visible.
       */
      text: string;
      /**
       * How it ended.
       */
      outcome: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
    };
  }[];
}
/**
 * A paired device.
 */
export interface Device {
  id: string;
  name: string;
  role: Role;
  createdAt: string;
  /**
   * Exact to a minute.
   */
  lastUsed?: string;
  /**
   * It verifies its owner, with face, fingerprint or PIN, before what is dangerous.
   */
  verifies?: boolean;
  /**
   * Where the code comes from that signs with its key, as the device or who let it in said: no proof.
   */
  codeOrigin?: "broker" | "independent";
  /**
   * Of its key: the SHA-256 of its JWK as RFC 7638 has it, unpadded base64url. agents.yaml accepts a device by it.
   */
  thumbprint?: string;
}
/**
 * Whether a device verifies its owner before what is dangerous, and whether it could.
 */
export interface VerificationState {
  /**
   * What the broker wants of everybody: danger, also for rules and grants, or always. Absent: only devices that have turned it on.
   */
  require?: "danger" | "always";
  /**
   * The id of the device's credential. Absent: it has none.
   */
  credential?: string;
  /**
   * Of the credential.
   */
  createdAt?: string;
  /**
   * Its owner's other devices may have the credential too.
   */
  synced?: boolean;
  /**
   * The name that the credential holds under, or would if it were made on this page.
   */
  site?: string;
  /**
   * Why no credential can be made on this page, as a sentence.
   */
  why?: string;
}
/**
 * Proof that the owner of a device was verified, with face, fingerprint or PIN, for one text: a WebAuthn assertion with the flag UV, whose challenge is the SHA-256 of that text. Unpadded base64url.
 */
export interface Verification1 {
  /**
   * The id of the credential.
   */
  credential: string;
  /**
   * As the authenticator gave it.
   */
  authenticatorData: string;
  /**
   * The browser's clientDataJSON.
   */
  clientData: string;
  /**
   * The authenticator's, over authenticatorData and the SHA-256 of clientData.
   */
  signature: string;
  /**
   * In the record only: the key that it was verified with (COSE).
   */
  publicKey?: string;
}
/**
 * How the calling device stands with notifications.
 */
export interface Push {
  /**
   * The key to subscribe with: the applicationServerKey, base64url.
   */
  publicKey: string;
  subscribed: boolean;
  /**
   * The host of the browser's push service.
   */
  service?: string;
  settings: PushSettings;
  /**
   * When the push service last took a message, since the broker's start.
   */
  lastSentAt?: string;
  /**
   * Why the last message was not taken, for people.
   */
  trouble?: string;
}
/**
 * When a device rings.
 */
export interface PushSettings {
  /**
   * Ring only for what is still undecided so long after it was asked.
   */
  afterSeconds?: number;
  /**
   * Hours of the day in which nothing rings. What still waits when they end rings then.
   *
   * @maxItems 8
   */
  quiet?:
    | []
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ]
    | [
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        },
        {
          from: string;
          /**
           * The end does not belong to it. Before from, it is on the next day.
           */
          to: string;
        }
      ];
  /**
   * Of the quiet hours, such as "Europe/Berlin"; absent means UTC.
   */
  timeZone?: string;
  sessions?: {
    /**
     * Ring for all sessions, for all but ids, or for ids alone.
     */
    mode?: "all" | "mute" | "only";
    /**
     * @maxItems 100
     */
    ids?: string[];
  };
  /**
   * Messages may hold the session's short name.
   */
  showSession?: boolean;
  /**
   * Messages may hold the project, and the kinds of effect and the risk of a request.
   */
  showContent?: boolean;
  /**
   * With showContent: messages may hold what the request would do, in one sentence.
   */
  showSentence?: boolean;
  /**
   * Ring when an agent has finished, after a turn of half a minute or more.
   */
  finished?: boolean;
  /**
   * Ring when an agent's turn has failed.
   */
  failed?: boolean;
  /**
   * Ring again for a request that has waited for ten minutes.
   */
  stillWaits?: boolean;
}
/**
 * What a device's service worker gets by Web Push, encrypted for it alone. It holds no tool input and nothing can be decided by it; what a request is about, in assent's own scrubbed words, only where the device wants that.
 */
export interface PushMessage {
  /**
   * asked: one request waits. many: several, told of together. settled: nothing new, see gone. waits: one has waited for ten minutes. finished, failed: an agent's turn ended. blocked: an agent of a host has to be allowed more. halted: somebody stopped or paused everything, or ended that. test: somebody tries it out.
   */
  type: "asked" | "many" | "settled" | "test" | "waits" | "finished" | "failed" | "blocked" | "halted";
  /**
   * Of asked and waits.
   */
  requestId?: string;
  /**
   * What the request waits for; of blocked, budget or time: what is over.
   */
  waits?: "permission" | "question" | "plan" | "budget" | "time";
  /**
   * The session's short name, if the device wants it. Visible text on one line.
   */
  session?: string;
  /**
   * What people call the agent, once another than Claude Code was heard of.
   */
  agent?: string;
  /**
   * Of finished, failed and blocked: the session's id, which a tap opens.
   */
  sessionId?: string;
  /**
   * Of finished: the session's id, where the device may send a message to it now.
   */
  reply?: string;
  /**
   * How many requests the device was told of that still wait.
   */
  waiting: number;
  /**
   * Requests that were told of and wait no more.
   *
   * @maxItems 64
   */
  gone?: {
    /**
     * The request's id, or "many": none waits any more of those that were told of together.
     */
    id: string;
    /**
     * As in PermissionRequest; absent when it is not known.
     */
    outcome?: string;
  }[];
  /**
   * The project's short name, if it is wanted. Visible text on one line.
   */
  project?: string;
  risk?: Risk1;
  /**
   * The kinds of effect, as in Effect, the worst first, if they are wanted.
   *
   * @maxItems 4
   */
  effects?: [] | [string] | [string, string] | [string, string, string] | [string, string, string, string];
  /**
   * What the request would do, in assent's words, if that is wanted: a URL is cut to its host, and what may be a secret is left out.
   */
  sentence?: string;
  /**
   * Of halted: what somebody did to everything.
   */
  halt?: "stop" | "lift" | "pause" | "resume";
  /**
   * Of halted: who did. Visible text on one line.
   */
  by?: string;
  /**
   * Of halted: when a pause ends.
   */
  until?: string;
}
/**
 * What the rules in force say about a request. allow and deny: a rule answers it, and nobody is asked.
 */
export interface Verdict1 {
  action: "allow" | "ask" | "deny";
  /**
   * The id of the rule, or its text where it is a rule string. Absent when none matched.
   */
  rule?: string;
  /**
   * Where the rule stands.
   */
  file?: string;
  /**
   * The saved rules and grants that the allow rests on, by id.
   */
  saved?: string[];
  /**
   * One sentence: why no rule allowed it.
   */
  reason?: string;
  /**
   * Of an allow: it holds only for a command that runs contained (read: it can read, and nothing else).
   */
  contain?: "read";
  /**
   * The rule's words for the approver.
   */
  note?: string;
  /**
   * What rules that are only tried out would have said.
   */
  shadow?: {
    action: "allow" | "ask" | "deny";
    rule: string;
    file?: string;
  }[];
}
/**
 * A pairing that began at the device.
 */
export interface PairingStart {
  /**
   * What the device shows: eight characters, none of which is easily taken for another.
   */
  code: string;
  /**
   * For POST /v1/pair/poll. The device keeps it to itself.
   */
  secret: string;
  expiresAt: string;
}
/**
 * A device that waits to be let in.
 */
export interface PairingWaiting {
  /**
   * Eight characters, none of which is easily taken for another.
   */
  code: string;
  publicKey: JWK;
  /**
   * What the device calls itself.
   */
  name?: string;
  /**
   * The address it called from, if known; with "(by the relay's word)" behind it where only a relay says so.
   */
  from?: string;
  /**
   * Where its code comes from, as the device says.
   */
  codeOrigin?: "broker" | "independent";
  createdAt: string;
  expiresAt: string;
}
/**
 * Where phones open the page.
 */
export interface PhoneAddress {
  /**
   * Absent where no other machine reaches the page.
   */
  url?: string;
  /**
   * The QR code of url: rows of equal length, 1 for black, without the white edge.
   *
   * @minItems 21
   */
  qr?: [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    ...string[]
  ];
}
/**
 * The body of POST /v1/requests/{id}/decision, and the decision in a record.
 */
export interface Decision {
  behavior: "allow" | "deny";
  /**
   * The request's inputSha256 that the approver saw.
   */
  inputSha256: string;
  /**
   * Told to the agent with a denial.
   */
  message?: string;
  /**
   * With a denial: stop the agent's turn. Claude Code then loses the message.
   */
  interrupt?: boolean;
  /**
   * With an allow: replaces the tool input as a whole.
   */
  updatedInput?: {};
  /**
   * With an allow: what the agent is to remember. OpenCode and Kilo, whose permissionSuggestions are texts, take exactly these.
   */
  updatedPermissions?: (PermissionUpdate | string)[];
  /**
   * In the record only, of a rule's allow: updatedInput is the same command, run contained (read: it can read, and nothing else). Nobody edited it.
   */
  contain?: "read";
  /**
   * What the approver's device says that it showed of the request, as a JSON text of its own such as {"risk":"danger","sentence":"Deletes build/"}. At most 4 KiB; kept as it came, and part of what is signed.
   */
  shown?: string;
  /**
   * When the device signed, by its own clock.
   */
  signedAt?: string;
  /**
   * Of a paired device, or of a token that is bound to a key, which must sign: ECDSA P-256 with SHA-256, r and s, unpadded base64url. docs/protocol.md says over what. Whoever has no key sends none, and one that is sent is dropped.
   */
  signature?: string;
  publicKey?: JWK1;
  /**
   * In the record only, of a denial by POST /v1/stop that a device signed: the revision that the stop was taken on. The signature is that of the stop, one for all that waited.
   */
  stop?: number;
  rules?: RulesSignature1;
  verification?: Verification2;
}
/**
 * An ECDSA P-256 public key as WebCrypto exports it.
 */
export interface JWK1 {
  kty: "EC";
  crv: "P-256";
  /**
   * 32 bytes, unpadded base64url.
   */
  x: string;
  /**
   * 32 bytes, unpadded base64url.
   */
  y: string;
}
/**
 * In the record only, of a rule's answer: the signature of the published rules that it comes from, where somebody signed those.
 */
export interface RulesSignature1 {
  /**
   * The digest of the file.
   */
  sha256: string;
  /**
   * When it was signed, by the clock of who signed.
   */
  signedAt: string;
  /**
   * When it counts no more. Absent: it always does.
   */
  until?: string;
  /**
   * ECDSA P-256 with SHA-256, r and s, unpadded base64url.
   */
  signature: string;
  publicKey: JWK;
}
/**
 * Proof that the owner of a device was verified, with face, fingerprint or PIN, for one text: a WebAuthn assertion with the flag UV, whose challenge is the SHA-256 of that text. Unpadded base64url.
 */
export interface Verification2 {
  /**
   * The id of the credential.
   */
  credential: string;
  /**
   * As the authenticator gave it.
   */
  authenticatorData: string;
  /**
   * The browser's clientDataJSON.
   */
  clientData: string;
  /**
   * The authenticator's, over authenticatorData and the SHA-256 of clientData.
   */
  signature: string;
  /**
   * In the record only: the key that it was verified with (COSE).
   */
  publicKey?: string;
}
/**
 * The answer to a recorded decision.
 */
export interface DecisionResult {
  /**
   * delivered: written to the waiting hook within half a second. recorded: on disk, the hook has not fetched it yet.
   */
  delivery: "delivered" | "recorded";
}
/**
 * An error, as application/problem+json (RFC 9457).
 */
export interface Problem {
  /**
   * A URI that names the kind of problem; about:blank when the status says it all.
   */
  type?: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  /**
   * How it ended; absent while it waits. withdrawn: the agent or its terminal settled it. handed_back: assent abstained.
   */
  outcome?: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
  decidedBy?: Approver;
  /**
   * With 409: ended (somebody or something was first), digest (another input), proposal (the request has no such proposal now) full (too much is saved), revoked (this key was revoked: make a new one) or site (browsers verify nobody under this address). With 403: rule (a rule denies the changed input; decidedBy names it), verification (the owner of a device has to be verified for this: with a WebAuthn assertion over the text that is signed), or used or expired (a pairing link, told to those only who have the whole of it).
   */
  reason?: string;
  /**
   * The member of the body that is at fault.
   */
  field?: string;
  errors?: {
    field: string;
    /**
     * Of a body: JSON pointer (RFC 6901) to the member; for a missing one, where it belongs.
     */
    pointer?: string;
    problem: string;
  }[];
}
/**
 * A checkpoint of the tree over the record, see docs/audit.md.
 */
export interface AuditCheckpoint {
  /**
   * The signed note: C2SP tlog-checkpoint.
   */
  note: string;
  /**
   * The public key of the broker that answers, as it verifies notes.
   */
  key: string;
  /**
   * That the tree of the size from is the beginning of this one (RFC 6962).
   */
  proof?: string[];
  /**
   * Why the tree takes nothing more.
   */
  stopped?: string;
  /**
   * What is wrong where entries of the record wait too long for their checkpoint.
   */
  late?: string;
}
/**
 * What the record has of one request, or of one message to an agent, step by step, each with its signature verified and its place in the tree over the record. It is the word of the broker that answers: whoever does not want to take that verifies an export or a proof, see docs/audit.md.
 */
export interface AuditTrace {
  requestId: string;
  /**
   * Oldest first.
   */
  steps: AuditStep[];
  tree: AuditTree;
}
export interface AuditStep {
  /**
   * As in a record. shown: a device had the request on its screen, says the broker; or, with shown, a device or a program had shown it to who decided, which it signed, and the record has that with the decision.
   */
  step:
    | "asked"
    | "shown"
    | "decided"
    | "ended"
    | "delivered"
    | "refused"
    | "confirmed"
    | "overruled"
    | "message-sent"
    | "message-taken"
    | "message-started"
    | "message-ended"
    | "message-refused"
    | "message-expired"
    | "message-lost";
  /**
   * By the broker's clock; of what was signed as shown by the device's.
   */
  time: string;
  /**
   * Sequence in the APPROVALS stream.
   */
  seq?: number;
  by?: Approver;
  outcome?: "allowed" | "denied" | "expired" | "withdrawn" | "handed_back";
  reason?: string;
  /**
   * The EVENTS sequence of the event that proved this step.
   */
  eventSeq?: number;
  failure?: string;
  /**
   * Of shown, where it was signed: what the device said that it showed, a JSON text of its own. Without it, shown is the word of the device's page, as the broker took it down.
   */
  shown?: string;
  /**
   * Something else was allowed than was asked for.
   */
  edited?: boolean;
  /**
   * It was allowed to run contained.
   */
  contained?: boolean;
  /**
   * What became of verifying the signature again, with the key beside it; absent where nobody's key signs that. good: it fits. confirmed: and so does the proof that the device's owner was verified. rules: of the rules that decided. rules over: the same, and it counted no more by then. no key: recorded without one by an earlier version. BAD: it does not fit. UNVERIFIED: it fits, and that proof does not.
   */
  signature?: "good" | "confirmed" | "rules" | "rules over" | "no key" | "BAD" | "UNVERIFIED";
  /**
   * The thumbprint (RFC 7638) of the key that signed; of shown without a signature, that of the device.
   */
  key?: string;
  /**
   * When, as the device wrote it.
   */
  signedAt?: string;
  /**
   * tree: a signed checkpoint has it, proved. waits: none has it yet. before: it was recorded before the tree began. missing: the tree has been there, and has nothing of it. none: nothing can be said, for there is no tree or it does not prove this.
   */
  place: "tree" | "waits" | "before" | "missing" | "none";
  /**
   * Its number in the tree.
   */
  leaf?: number;
}
export interface AuditTree {
  origin?: string;
  /**
   * Leaves of the newest checkpoint.
   */
  size?: number;
  /**
   * Of the newest checkpoint.
   */
  time?: string;
  /**
   * The public key that the checkpoint was verified with: the one that this broker names.
   */
  key?: string;
  /**
   * What the tree does not prove, and what to do about it.
   */
  wrong?: string;
  /**
   * Why the tree takes nothing more.
   */
  stopped?: string;
  /**
   * What is wrong where entries wait too long for their checkpoint.
   */
  late?: string;
}
export interface WSSnapshot {
  type: "snapshot";
  /**
   * Names this run of the broker; sequence numbers of another mean nothing.
   */
  epoch: string;
  /**
   * Counts from 1 within one epoch.
   */
  seq: number;
  /**
   * Everything that waits, oldest first within a session.
   */
  requests: PermissionRequest[];
  /**
   * Those that were lately heard of.
   */
  sessions: SessionInfo[];
}
export interface WSChanges {
  type: "changes";
  epoch: string;
  /**
   * The sequence after these changes.
   */
  seq: number;
  /**
   * @minItems 1
   */
  changes: [WSChange, ...WSChange[]];
}
export interface WSChange {
  /**
   * Counts from 1 within one epoch.
   */
  seq: number;
  request: PermissionRequest;
}
/**
 * How sessions stand that changed. Those that are not in it stand as before.
 */
export interface WSSessions {
  type: "sessions";
  /**
   * @minItems 1
   */
  sessions: [SessionInfo, ...SessionInfo[]];
}
/**
 * What comes next in a session's feed.
 */
export interface WSFeed {
  type: "feed";
  sessionId: string;
  /**
   * The feed begins anew: what the client has of it is not of this feed.
   */
  reset?: true;
  events: FeedEvent[];
}
/**
 * What is wrong with the files of rules, when there is or was something. A client that connects anew takes all to be well until it is told.
 */
export interface WSRules {
  type: "rules";
  /**
   * false while no rule allows anything.
   */
  allowing: boolean;
  problems: RuleProblem[];
}
/**
 * Whether everything is stopped or paused, when it is or was. A client that connects anew takes it not to be until it is told. A pause ends by its time without a message.
 */
export interface WSHalt {
  type: "halt";
  halt: Halt;
}
/**
 * Messages to sessions that changed. A client that connects anew reads those of a session when it shows one.
 */
export interface WSMessages {
  type: "messages";
  messages: Message[];
}
/**
 * A person's message to a session of an agent, with what became of it. Its members id to options are those of NewAgentMessage.
 */
export interface Message {
  /**
   * Chosen by the sender.
   */
  id: string;
  /**
   * terminal@HOST for a session that somebody started in a terminal of that machine; else an agent of a host.
   */
  agent: string;
  sessionId: string;
  /**
   * The host that it is for, as the agent said when it was signed: no other takes it. Absent of one to a terminal.
   */
  hostId?: string;
  /**
   * prompt: text for the agent; to an agent of a host, also what starts a session. resume: go on with a session that has ended. cancel: end what the session does. handover: end its process here once no turn runs, so that a terminal can go on with it.
   */
  kind: "prompt" | "resume" | "cancel" | "handover";
  /**
   * The text; absent once it was forgotten.
   */
  prompt?: string;
  /**
   * The text was forgotten, and with it the signature and the verification. The digest of the three with a salt that went with them stays in the record.
   */
  forgotten?: {
    at: string;
    by?: Approver1;
  };
  /**
   * Ceilings that the message sets for its session: below those of the agent, or as high.
   */
  options?: {
    /**
     * What the session may cost.
     */
    budgetUsd?: number;
    /**
     * How long the session may take.
     */
    timeoutSeconds?: number;
    /**
     * Ask for a pull request at its end.
     */
    autoPr?: boolean;
  };
  /**
   * Until when it may be handed over, as the sender wrote it.
   */
  expiresAt: string;
  /**
   * sent: recorded. taken: handed to the session, or about to be; again as a further step only where the session's transcript shows that it did not take it. started: the session's own hook, or its host, said that it is in the agent's context. ended: that turn is over. refused: taken back, or its host would not take it, or the session ended. expired: nobody took it in time. lost: taken, and by the session's transcript not in its context, nor going to be; or no receipt came, and nobody could look.
   */
  state: "sent" | "taken" | "started" | "ended" | "refused" | "expired" | "lost";
  /**
   * inbox: through the session's inbox socket. stop: as the answer to its Stop hook. host: to the host of its agent.
   */
  way?: "inbox" | "stop" | "host";
  /**
   * What became of a message to an agent of a host that has ended.
   */
  outcome?: "completed" | "failed" | "cancelled";
  /**
   * Who sent the message that cancelled it, as people call them; only where it has ended so.
   */
  stoppedBy?: string;
  /**
   * Of a handover that has completed: one line for a shell on the host, which goes on with the session in a terminal. No control characters are in it.
   */
  command?: string;
  by: Approver;
  /**
   * @minItems 1
   */
  steps: [
    {
      state: "sent" | "taken" | "started" | "ended" | "refused" | "expired" | "lost";
      at: string;
      why?: string;
    },
    ...{
      state: "sent" | "taken" | "started" | "ended" | "refused" | "expired" | "lost";
      at: string;
      why?: string;
    }[]
  ];
  /**
   * Of a paired device, over what docs/protocol.md says.
   */
  signature?: string;
  publicKey?: JWK;
  verification?: Verification1;
}
/**
 * Who decided.
 */
export interface Approver1 {
  kind: "device" | "token" | "owner-cli" | "rule";
  /**
   * Of a rule, its id, or its text where it is a rule string.
   */
  id?: string;
  name?: string;
  /**
   * Of a rule: where it stands.
   */
  file?: string;
  /**
   * The owner of the device was verified for this, with face, fingerprint or PIN.
   */
  verified?: boolean;
  /**
   * Of a device: where the code comes from that signs with its key, as was said when it was paired.
   */
  codeOrigin?: "broker" | "independent";
}
/**
 * The agents of all hosts, whenever one changed; and at the beginning, if there are any.
 */
export interface WSAgents {
  type: "agents";
  agents: Agent[];
}
/**
 * An agent that can be discovered and controlled remotely
 */
export interface Agent {
  /**
   * Unique agent name (e.g., "coder-1", "researcher")
   */
  name: string;
  /**
   * What this agent does
   */
  description?: string;
  /**
   * Machine hostname where agent is running
   */
  hostname?: string;
  /**
   * Its host as that calls itself: its name, # and 16 letters and digits that it made once. A message to the agent is signed for it. Absent where the host is of before.
   */
  hostId?: string;
  /**
   * Capabilities/skills tags (e.g., ["typescript", "react"])
   */
  tags?: string[];
  executor?: {
    /**
     * The executor type
     */
    kind?: "claude" | "codex" | "gemini" | "custom";
    /**
     * Model or CLI version
     */
    version?: string;
    /**
     * Command to invoke (e.g., "claude")
     */
    cli?: string;
  };
  project?: {
    name?: string;
    /**
     * Working directory
     */
    path?: string;
    /**
     * Git repo (e.g., "filipexyz/notif")
     */
    repo?: string;
  };
  /**
   * idle; busy while a turn of it runs; offline when its host was not heard of for 30 seconds.
   */
  status?: "idle" | "busy" | "offline";
  /**
   * Currently running session ID if busy: the one that became busy last.
   */
  activeSessionId?: string;
  /**
   * The sessions that have a process now, and the last ones that have none, the oldest first.
   */
  sessions?: {
    sessionId: string;
    /**
     * idle; busy while a turn runs; blocked: its budget or its time is over, and it goes on when a message of kind resume allows it more; ended: it has no process, and can be resumed.
     */
    status: "idle" | "busy" | "blocked" | "ended";
    startedAt?: string;
    /**
     * So far, as the client estimates it.
     */
    costUsd?: number;
    /**
     * What it may spend in all.
     */
    budgetUsd?: number;
    /**
     * How long it may work in all.
     */
    timeoutSeconds?: number;
    /**
     * How long it has worked.
     */
    activeSeconds?: number;
    /**
     * It works in a work tree of its own.
     */
    worktree?: boolean;
    /**
     * The pull request that it made last.
     */
    pr?: {
      url?: string;
      number?: number;
      /**
       * gh knew it on the host; else it is what the agent's command printed.
       */
      verified?: boolean;
    };
    /**
     * How its last turn ended. What the agent said is in the session's events.
     */
    turn?: {
      /**
       * The id of the message that began it.
       */
      message: string;
      outcome: "completed" | "failed" | "cancelled";
      /**
       * The id of the message that cancelled it.
       */
      by?: string;
      /**
       * Who sent that message, as people call them.
       */
      stoppedBy?: string;
      /**
       * How it ended, in a few words for people; absent where it is completed.
       */
      says?: string;
      /**
       * CANCELLED, INTERRUPTED, BUDGET, TIMEOUT, MAX_TURNS, REFUSED, EXIT, LOST, LOGIN or API.
       */
      code?: string;
      /**
       * For people.
       */
      why?: string;
      /**
       * Of the session, at its end.
       */
      costUsd?: number;
      at?: string;
    };
  }[];
  /**
   * The ceilings that the owner of the host set. No message goes above them.
   */
  limits?: {
    /**
     * What a session may cost.
     */
    budgetUsd?: number;
    /**
     * How long a session may take.
     */
    timeoutSeconds?: number;
    /**
     * A message may ask for a pull request.
     */
    autoPr?: boolean;
    /**
     * At once.
     */
    sessions?: number;
  };
  /**
   * Each session that is started works in a work tree of its own.
   */
  worktree?: boolean;
}
/**
 * A session as its own events tell it.
 */
export interface Session {
  session_id: string;
  started_at: number;
  ended_at?: number;
  /**
   * startup, resume, clear, compact
   */
  source?: string;
  model?: string;
  agent_type?: string;
}
/**
 * What a session of an agent changed where it works
 */
export interface AgentDiff {
  sessionId: string;
  agent: string;
  directory: string;
  branch?: string;
  /**
   * The commit that it is compared with: where the branch of its work tree went off, else HEAD; absent before the first commit.
   */
  base?: string;
  /**
   * How many are on the branch after base.
   */
  commits: number;
  files: {
    path: string;
    status: "added" | "modified" | "deleted";
    /**
     * Lines.
     */
    added?: number;
    /**
     * Lines.
     */
    removed?: number;
    binary?: boolean;
  }[];
  /**
   * A unified diff, of at most 512 KiB. New files are in it, ignored ones and what is within submodules are not.
   */
  diff: string;
  /**
   * The diff, or the files, is not all.
   */
  truncated?: boolean;
}
