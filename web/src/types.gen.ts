// Generated from ../schemas by `npm run types`; do not edit.

/**
 * One entry of permission_suggestions and updatedPermissions: today's six kinds, and the older toolAlwaysAllow.
 */
export type PermissionUpdate =
  AddRules | ReplaceRules | RemoveRules | SetMode | AddDirectories | RemoveDirectories | ToolAlwaysAllow;
/**
 * What a credential allows. admin includes approve, which includes view; submit stands apart.
 */
export type Role = "submit" | "view" | "approve" | "admin";
/**
 * What the server sends on /v1/ws: first a snapshot (unless the client resumes), then changes. A client ignores message types it does not know.
 */
export type WSMessage = WSSnapshot | WSChanges;

export interface Everything {
  PermissionRequest: PermissionRequest;
  SessionInfo: SessionInfo;
  Device: Device;
  PairingStart: PairingStart;
  Decision: Decision;
  DecisionResult: DecisionResult;
  Problem: Problem;
  "ws/Message": WSMessage;
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
   * Name of the tool requesting permission (Edit, Write, Bash, Read, etc.)
   */
  toolName?: string;
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
   * recorded: on disk. delivered: written to the waiting hook. confirmed: the allowed tool ran. overruled: the denied tool ran all the same.
   */
  delivery?: "recorded" | "delivered" | "confirmed" | "overruled";
  /**
   * The payload, when it is valid UTF-8; not in lists and on the WebSocket.
   */
  raw?: string;
  /**
   * The payload, when it is not.
   */
  rawBase64?: string;
  /**
   * Too large for a list or the WebSocket: toolInput, permissionSuggestions, shown and response were left out. GET /v1/requests/{id} has the whole.
   */
  partial?: boolean;
  shown?: Shown;
  response?: PermissionResponse;
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
 * Who decided.
 */
export interface Approver {
  kind: "device" | "token" | "owner-cli" | "rule";
  id?: string;
  name?: string;
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
 * The decision, once there is one.
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
      updatedPermissions?: PermissionUpdate[];
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
 * Session information for the UI
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
   * CLAUDE_PROJECT_DIR.
   */
  projectDir?: string;
  repo?: Repo;
  permissionMode?: string;
  /**
   * Type of the newest event.
   */
  lastEvent?: string;
  lastEventAt?: string;
  /**
   * When this broker first heard of the session.
   */
  startedAt?: string;
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
   * With an allow.
   */
  updatedPermissions?: PermissionUpdate[];
  /**
   * Of a paired device, which must sign: ECDSA P-256 with SHA-256, r and s, unpadded base64url. docs/protocol.md says over what. Whoever has no key sends none, and one that is sent is dropped.
   */
  signature?: string;
  publicKey?: JWK;
}
/**
 * In the record only: the key that the signature was verified with.
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
   * With 409: ended (somebody or something was first) or digest (another input).
   */
  reason?: string;
  /**
   * The member of the body that is at fault.
   */
  field?: string;
  errors?: {
    field: string;
    problem: string;
  }[];
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
