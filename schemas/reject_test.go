package schemas

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// broken names for every schema some ways to spoil its example: a JSON merge patch (null
// removes a member), and where the error must point.
var broken = map[string][]struct{ patch, pointer string }{
	"Actor":          {{`{"kind":"robot"}`, "/kind"}, {`{"actor_id":null}`, ""}},
	"AgentState":     {{`"asleep"`, ""}},
	"Run":            {{`{"status":"paused"}`, "/status"}, {`{"counters":{"tool_uses":-1}}`, "/counters/tool_uses"}, {`{"run_id":null}`, ""}},
	"Session":        {{`{"started_at":"now"}`, "/started_at"}, {`{"session_id":null}`, ""}},
	"Task":           {{`{"status":"later"}`, "/status"}, {`{"text":null}`, ""}},
	"feed/Base":      {{`{"title":""}`, "/title"}, {`{"level":"loud"}`, "/level"}},
	"feed/Event":     {{`{"data":{"tool_input":1,"surprise":1}}`, "/data"}, {`{"kind":"todo.done"}`, "/data"}},
	"Agent":          {{`{"name":null}`, ""}, {`{"status":"asleep"}`, "/status"}, {`{"executor":{"kind":"emacs"}}`, "/executor/kind"}},
	"AgentEvent":     {{`{"timestamp":"yesterday"}`, "/timestamp"}, {`{"kind":"sleeping"}`, "/kind"}, {`{"agent":null}`, ""}},
	"AgentDiff":      {{`{"commits":-1}`, "/commits"}, {`{"files":[{"path":"x","status":"moved"}]}`, "/files/0/status"}},
	"AgentMessage":   {{`{"kind":"shout"}`, "/kind"}, {`{"options":{"timeoutSeconds":1.5}}`, "/options/timeoutSeconds"}},
	"Bearer":         {{`{"token":null}`, ""}},
	"Challenge":      {{`{"nonce":null}`, ""}},
	"Role":           {{`"root"`, ""}},
	"Ticket":         {{`{"expiresAt":"soon"}`, "/expiresAt"}},
	"Approver":       {{`{"kind":"passer-by"}`, "/kind"}, {`{"kind":null}`, ""}},
	"Decision":       {{`{"behavior":"maybe"}`, "/behavior"}, {`{"inputSha256":"F00"}`, "/inputSha256"}, {`{"inputSha256":null}`, ""}, {`{"mesage":"typo"}`, ""}, {`{"updatedInput":"x"}`, "/updatedInput"}, {`{"updatedPermissions":[{"type":"own the machine"}]}`, "/updatedPermissions/0/type"}},
	"DecisionResult": {{`{"delivery":"perhaps"}`, "/delivery"}},
	"Device":         {{`{"role":"root"}`, "/role"}, {`{"id":null}`, ""}},
	"EventsMarker":   {{`{"assent_marker":"burp"}`, "/assent_marker"}, {`{"missed":0}`, "/missed"}, {`{"upper_bound":false}`, "/upper_bound"}, {`{"message":null}`, ""}},
	"HookOutput":     {{`{"continue":true}`, ""}, {`{"decision":"block","reason":"both"}`, ""}, {`{"reason":"alone"}`, ""}, {`{"hookSpecificOutput":{"hookEventName":"PreToolUse"}}`, "/hookSpecificOutput/hookEventName"}, {`{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}`, "/hookSpecificOutput/decision"}, {`{"hookSpecificOutput":{"decision":{"message":"words with an allow"}}}`, "/hookSpecificOutput/decision"}},
	"JWK":            {{`{"crv":"P-384"}`, "/crv"}, {`{"d":"the private part"}`, ""}},
	"LedgerRow":      {{`{"event_timestamp":"2026-11-21T15:04:05Z"}`, "/event_timestamp"}, {`{"hook_type":"stop"}`, "/hook_type"}, {`{"lines_changed":"2"}`, "/lines_changed"}, {`{"event_id":null}`, ""}, {`{"diff":""}`, ""}},
	"LedgerSummary":  {{`{"rows":-1}`, "/rows"}, {`{"tools":[{"value":"write"}]}`, "/tools/0"}, {`{"files":null}`, ""}},
	"NATSInfo":       {{`{"stream":"APPROVALS"}`, "/stream"}, {`{"port":0}`, "/port"}, {`{"token":null}`, ""}},
	"Pairing":        {{`{"expiresAt":"soon"}`, "/expiresAt"}},
	"PairingPoll":    {{`{"expiresAt":null}`, ""}},
	"PairingStart":   {{`{"code":"l0OI-1SZ2"}`, "/code"}, {`{"secret":null}`, ""}},
	"PairingWaiting": {{`{"secret":"x"}`, ""}, {`{"code":null}`, ""}},
	"PermissionRequest": {{`{"toolInput":[]}`, "/toolInput"}, {`{"state":"maybe"}`, "/state"}, {`{"inputSha256":"x"}`, "/inputSha256"}, {`{"decidedBy":{"kind":"x"}}`, "/decidedBy/kind"},
		{`{"outcome":"Allowed"}`, "/outcome"}, {`{"tool_name":"Bash"}`, ""}, {`{"response":{"hookSpecificOutput":{"decision":{"behavior":"ask"}}}}`, "/response/hookSpecificOutput/decision/behavior"}},
	"Allowed":             {{`{"changes":[{"before":"x"}]}`, "/changes/0"}, {`{"changes":[{"name":"x","after":1}]}`, "/changes/0/after"}, {`{"answers":[{}]}`, "/answers/0"}, {`{"shown":{"verb":1}}`, "/shown/verb"}},
	"Answer":              {{`{"answer":1}`, "/answer"}, {`{"question":null}`, ""}},
	"ConfirmPairing":      {{`{"code":null}`, ""}, {`{"role":"submit"}`, "/role"}},
	"ElicitationResponse": {{`{"hookSpecificOutput":{"action":"shrug"}}`, "/hookSpecificOutput/action"}, {`{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`, "/hookSpecificOutput"}},
	"NewChallenge":        {{`{"deviceId":null}`, ""}},
	"NewPairing":          {{`{"role":"root"}`, "/role"}, {`{"rolle":"view"}`, ""}},
	"NewSession":          {{`{"nonce":null}`, ""}, {`{"signature":1}`, "/signature"}},
	"NewToken":            {{`{"role":"root"}`, "/role"}, {`{"name":null}`, ""}},
	"PhoneAddress":        {{`{"url":"http://box.example"}`, "/url"}, {`{"uri":"https://box.example"}`, ""}, {`{"qr":["1x0"]}`, "/qr/0"}},
	"PollPairing":         {{`{"secret":null}`, ""}},
	"Join":                {{`{"code":null}`, ""}, {`{"code":"x","name":"y"}`, ""}},
	"Machine":             {{`{"submitter":1}`, "/submitter"}, {`{"sessions":-1}`, "/sessions"}},
	"RedeemPairing":       {{`{"code":null}`, ""}, {`{"publicKey":{"crv":"P-384"}}`, "/publicKey/crv"}},
	"SchemaMismatches":    {{`{"checked":-1}`, "/checked"}, {`{"mismatches":[{"event":"Stop"}]}`, "/mismatches/0"}},
	"StartPairing":        {{`{"publicKey":{"x":null}}`, "/publicKey"}},
	"PermissionResponse":  {{`{"hookSpecificOutput":null}`, ""}, {`{"hookSpecificOutput":{"decision":null}}`, "/hookSpecificOutput"}, {`{"hookSpecificOutput":{"decision":null,"action":"accept"}}`, "/hookSpecificOutput"}, {`{"hookSpecificOutput":{"decision":{"behavior":"ask"}}}`, "/hookSpecificOutput/decision/behavior"}},
	"PermissionUpdate":    {{`{"destination":"everywhere"}`, "/destination"}, {`{"rules":[{"ruleContent":"*"}]}`, "/rules/0"}, {`{"mode":"plan"}`, ""}},
	"Problem":             {{`{"status":200}`, "/status"}, {`{"title":null}`, ""}, {`{"errors":["bad"]}`, "/errors/0"}},
	"Push":                {{`{"publicKey":null}`, ""}, {`{"endpoint":"https://x"}`, ""}, {`{"settings":{"afterSeconds":-1}}`, "/settings/afterSeconds"}},
	"PushChange":          {{`{"settings":{"sessions":{"mode":"some"}}}`, "/settings/sessions/mode"}, {`{"device":"x"}`, ""}, {`{"signature":null}`, ""}},
	"Notifications":       {{`{"notices":null}`, ""}, {`{"devices":[{"id":"x","endpoint":"https://x"}]}`, "/devices/0"}},
	"PushMessage":         {{`{"type":"allow"}`, "/type"}, {`{"toolInput":{}}`, ""}, {`{"waiting":-1}`, "/waiting"}, {`{"gone":[{}]}`, "/gone/0"}},
	"OnScreen":            {{`{"requests":[]}`, "/requests"}, {`{"requests":[1]}`, "/requests/0"}, {`{"requests":null}`, ""}, {`{"device":"x"}`, ""}},
	"PushSettings":        {{`{"quiet":[{"from":"25:00","to":"07:00"}]}`, "/quiet/0/from"}, {`{"afterseconds":1}`, ""}},
	"PushSubscription":    {{`{"endpoint":null}`, ""}, {`{"keys":{"auth":null}}`, "/keys"}},
	"Webhook":             {{`{"type":"request.allowed"}`, "/type"}, {`{"data":{"command":"ls"}}`, "/data"}, {`{"timestamp":1}`, "/timestamp"}},
	"Record":              {{`{"step":"guessed"}`, "/step"}, {`{"decision":null}`, ""}, {`{"by":null}`, ""}, {`{"step":"asked"}`, ""}, {`{"time":"14:00"}`, "/time"}, {`{"request":{"id":1}}`, "/request/id"}, {`{"signed":{"updatedInput":{}}}`, "/signed/updatedInput"}},
	"RecordedMessage":     {{`{"sentAt":"yesterday"}`, "/sentAt"}, {`{"text":"x"}`, ""}},
	"Effect":              {{`{"effect":"harms"}`, "/effect"}, {`{"object":1}`, "/object"}, {`{"risk":"low"}`, "/risk"}},
	"Risk":                {{`"low"`, ""}},
	"Context":             {{`{"promptFrom":"me"}`, "/promptFrom"}, {`{"said":1}`, "/said"}, {`{"saidWhy":"x"}`, "/saidWhy"}, {`{"before":{"why":"x"}}`, "/before/why"}, {`{"at":{"line":0}}`, "/at/line"}, {`{"words":"x"}`, ""}},
	"Unit":                {{`{"kind":null}`, ""}, {`{"start":-1}`, "/start"}, {`{"kind":"runs"}`, "/kind"}, {`{"words":[{"start":0,"end":1,"kind":"red"}]}`, "/words/0/kind"}},
	"Verdict":             {{`{"action":"maybe"}`, "/action"}, {`{"action":null}`, ""}, {`{"message":"m"}`, ""}, {`{"shadow":[{"action":"allow"}]}`, "/shadow/0"}},
	"RuleProblem":         {{`{"line":0}`, "/line"}, {`{"file":null}`, ""}},
	"Rules":               {{`{"allowing":"yes"}`, "/allowing"}, {`{"problems":null}`, ""}, {`{"files":[{"path":"/f","layer":"user","state":"fine"}]}`, "/files/0/state"}, {`{"rules":[{"id":"r"}]}`, "/rules/0"}},
	"CIReport":            {{`{"command":null}`, ""}, {`{"timeoutSeconds":0}`, "/timeoutSeconds"}, {`{"requests":[{}]}`, "/requests/0"}, {`{"problems":[{"key":"k","text":"t","level":1}]}`, "/problems/0"}},
	"Proposals":           {{`{"proposals":null}`, ""}, {`{"proposals":[{"digest":"x"}]}`, "/proposals/0/digest"}, {`{"proposals":[{}]}`, "/proposals/0"}},
	"Suggestions":         {{`{"suggestions":null}`, ""}, {`{"suggestions":[{}]}`, "/suggestions/0"}, {`{"examined":-1}`, "/examined"}},
	"Saved":               {{`{"kind":"favour"}`, "/kind"}, {`{"state":"tired"}`, "/state"}, {`{"count":0}`, "/count"}, {`{"tests":"x"}`, ""}, {`{"by":null}`, ""}},
	"PublishRules":        {{`{"text":null}`, ""}, {`{"after":-1}`, "/after"}, {`{"version":1}`, ""}},
	"RulesSignature":      {{`{"sha256":"x"}`, "/sha256"}, {`{"signedAt":"soon"}`, "/signedAt"}, {`{"publicKey":null}`, ""}, {`{"note":"x"}`, ""}},
	"PublishedRules":      {{`{"version":-1}`, "/version"}, {`{"brokers":null}`, ""}, {`{"brokers":[{"follows":"mine"}]}`, "/brokers/0/follows"}, {`{"at":"soon"}`, "/at"}},
	"RenameDevice":        {{`{"name":""}`, "/name"}, {`{"name":null}`, ""}},
	"Verification":        {{`{"credential":""}`, "/credential"}, {`{"signature":null}`, ""}, {`{"clientData":"a b"}`, "/clientData"}},
	"VerificationState":   {{`{"require":"never"}`, "/require"}, {`{"createdAt":"soon"}`, "/createdAt"}, {`{"key":"x"}`, ""}},
	"NewVerification":     {{`{"credential":"x"}`, "/credential"}, {`{"credential":null}`, ""}, {`{"name":"x"}`, ""}},
	"EndVerification":     {{`{"verification":{}}`, "/verification"}, {`{"signature":1}`, "/signature"}, {`{"device":"x"}`, ""}},
	"SaveRule":            {{`{"proposal":"x"}`, "/proposal"}, {`{"count":3}`, ""}, {`{"rule":"x"}`, ""}, {`{"inputSha256":null}`, ""}},
	"SaveGrant":           {{`{"expiresAt":null,"count":null}`, ""}, {`{"count":101}`, "/count"}, {`{"expiresAt":"soon"}`, "/expiresAt"}},
	"Halt":                {{`{"revision":-1}`, "/revision"}, {`{"acts":null}`, ""}, {`{"stopped":{"act":"halt"}}`, "/stopped/act"}},
	"HaltAct":             {{`{"act":"end"}`, "/act"}, {`{"by":null}`, ""}, {`{"seconds":0}`, "/seconds"}, {`{"until":"soon"}`, "/until"}},
	"NewPause":            {{`{"seconds":86401}`, "/seconds"}, {`{"seconds":null}`, ""}},
	"Message":             {{`{"state":"perhaps"}`, "/state"}, {`{"way":"pigeon"}`, "/way"}, {`{"steps":[]}`, "/steps"}, {`{"submitter":"x"}`, ""}, {`{"by":null}`, ""}},
	"NewAgentMessage":     {{`{"kind":"shout"}`, "/kind"}, {`{"options":{"mode":"auto"}}`, "/options"}, {`{"path":"/tmp"}`, ""}, {`{"options":{"budgetUsd":0}}`, "/options/budgetUsd"}},
	"NewMessage":          {{`{"prompt":null}`, ""}, {`{"kind":"resume"}`, "/kind"}, {`{"mode":"auto"}`, ""}, {`{"id":null}`, ""}},
	"HandBack":            {{`{"inputSha256":"X"}`, "/inputSha256"}, {`{"behavior":"allow"}`, ""}},
	"NewStop":             {{`{"revision":-1}`, "/revision"}, {`{"seconds":3}`, ""}},
	"StopResult":          {{`{"denied":-1}`, "/denied"}, {`{"left":null}`, ""}},
	"Repo":                {{`{"head":1}`, "/head"}},
	"ToolMutationEvent":   {{`{"event_type":"tool.mutation.a.b"}`, "/event_type"}, {`{"hook_type":"stop"}`, "/hook_type"}, {`{"event_id":null}`, ""}, {`{"repo":null}`, ""}, {`{"lines_changed":"2"}`, "/lines_changed"}, {`{"diff":""}`, ""}},
	"Envelope":            {{`{"event_type":null}`, ""}, {`{"timestamp":"now"}`, "/timestamp"}, {`{"pid":"1"}`, "/pid"}},
	"RepoContext":         {{`{"git_root":null}`, ""}, {`{"remote_url":1}`, "/remote_url"}},
	"Runtime":             {{`{"pid":0}`, "/pid"}, {`{"socket":null}`, ""}, {`{"httpUrl":"x"}`, ""}},
	"SessionInfo":         {{`{"queueCount":-1}`, "/queueCount"}, {`{"queue_count":1}`, ""}, {`{"sessionId":null}`, ""}},
	"Shown":               {{`{"fields":[{"name":"x","text":"y","kind":"html"}]}`, "/fields/0/kind"}, {`{"fields":null}`, ""}},
	"Settled":             {{`{"outcome":"pending"}`, "/outcome"}, {`{"by":{"kind":"passer-by"}}`, "/by/kind"}, {`{"settledAt":null}`, ""}},
	"Stats":               {{`{"step":"minute"}`, "/step"}, {`{"buckets":[{"start":"now"}]}`, "/buckets/0/start"}, {`{"by":null}`, ""}},
	"Token":               {{`{"role":"owner"}`, "/role"}, {`{"hash":"secret"}`, ""}},
	"Found":               {{`{"id":0}`, "/id"}, {`{"event":null}`, ""}, {`{"session":"x"}`, ""}},
	"ws/Message":          {{`{"type":"gossip"}`, "/type"}, {`{"epoch":null}`, ""}, {`{"requests":[{"id":1}]}`, "/requests/0/id"}, {`{"sessions":[{}]}`, "/sessions/0"}},

	"ws/HostFrame":   {{`{"type":"shout"}`, "/type"}, {`{"id":"a b"}`, "/id"}, {`{"outcome":"well"}`, "/outcome"}, {`{"event":{}}`, "/event"}, {`{"more":1}`, ""}},
	"ws/BrokerFrame": {{`{"type":"order"}`, "/type"}, {`{"state":"new"}`, "/state"}, {`{"message":{"id":1}}`, "/message/id"}, {`{"more":1}`, ""}},
	"HostJournal":    {{`{"state":"new"}`, "/state"}, {`{"at":null}`, ""}, {`{"order":{"id":"x"}}`, "/order"}},
	"AgentsFile":     {{`{"agents":{"coder":{"mode":"auto"}}}`, "/agents/coder/mode"}, {`{"agents":{"coder":{"model":"x"}}}`, "/agents/coder"}, {`{"agents":null}`, ""}, {`{"accept":["owner"]}`, "/accept/0"}},

	"RulesFile": {{`{"version":2}`, "/version"}, {`{"defaults":{"on_timeout":"allow"}}`, "/defaults/on_timeout"}, {`{"rulez":[]}`, ""}, {`{"rules":[{"id":"a","action":"allow"}]}`, "/rules/0"}, {`{"tests":[{"cmd":"ls"}]}`, "/tests/0"}},

	"hooks/Base":                {{`{"session_id":null}`, ""}, {`{"effort":"high"}`, "/effort"}},
	"hooks/ConfigChange":        {{`{"source":null}`, ""}},
	"hooks/CwdChanged":          {{`{"new_cwd":null}`, ""}},
	"hooks/DirectoryAdded":      {{`{"directory":["/"]}`, "/directory"}},
	"hooks/Elicitation":         {{`{"requested_schema":"any"}`, "/requested_schema"}},
	"hooks/ElicitationResult":   {{`{"action":null}`, ""}},
	"hooks/FileChanged":         {{`{"event":null}`, ""}},
	"hooks/InstructionsLoaded":  {{`{"load_reason":null}`, ""}, {`{"file_path":null,"load_reason":null,"trigger":1}`, "/trigger"}},
	"hooks/MessageDisplay":      {{`{"index":"0"}`, "/index"}},
	"hooks/Notification":        {{`{"message":null}`, ""}},
	"hooks/PermissionDenied":    {{`{"tool_name":null}`, ""}},
	"hooks/PermissionRequest":   {{`{"tool_input":"touch x"}`, "/tool_input"}, {`{"hook_event_name":"PreToolUse"}`, "/hook_event_name"}, {`{"permission_suggestions":[{"type":"x"}]}`, "/permission_suggestions/0/type"}, {`{"session_id":7}`, "/session_id"}},
	"hooks/PostCompact":         {{`{"trigger":null}`, ""}},
	"hooks/PostModelSwitch":     {{`{"to_model":null}`, ""}},
	"hooks/PostToolBatch":       {{`{"tool_calls":{}}`, "/tool_calls"}},
	"hooks/PostToolUse":         {{`{"tool_response":null}`, ""}},
	"hooks/PostToolUseFailure":  {{`{"error":null}`, ""}},
	"hooks/PreCompact":          {{`{"trigger":1}`, "/trigger"}},
	"hooks/PreModelSwitch":      {{`{"from_model":null}`, ""}},
	"hooks/PreToolUse":          {{`{"tool_use_id":null}`, ""}},
	"hooks/SessionEnd":          {{`{"reason":null}`, ""}},
	"hooks/SessionStart":        {{`{"source":null}`, ""}},
	"hooks/Setup":               {{`{"trigger":null}`, ""}},
	"hooks/Stop":                {{`{"stop_hook_active":"no"}`, "/stop_hook_active"}},
	"hooks/StopFailure":         {{`{"error":null}`, ""}},
	"hooks/SubagentStart":       {{`{"agent_id":null}`, ""}},
	"hooks/SubagentStop":        {{`{"agent_type":null}`, ""}},
	"hooks/TaskCompleted":       {{`{"task_id":1}`, "/task_id"}},
	"hooks/TaskCreated":         {{`{"task_subject":null}`, ""}},
	"hooks/TeammateIdle":        {{`{"team_name":null}`, ""}},
	"hooks/UserPromptExpansion": {{`{"command_name":null}`, ""}},
	"hooks/UserPromptSubmit":    {{`{"prompt":null}`, ""}},
	"hooks/WorktreeCreate":      {{`{"name":null}`, ""}},
	"hooks/WorktreeRemove":      {{`{"worktree_path":null}`, ""}},

	"tools/AskUserQuestion": {{`{"questions":null}`, ""}, {`{"answers":{"Which?":1}}`, "/answers/Which?"}},
	"tools/Bash":            {{`{"command":null}`, ""}, {`{"timeout":"1s"}`, "/timeout"}},
	"tools/Edit":            {{`{"replace_all":"yes"}`, "/replace_all"}},
	"tools/ExitPlanMode":    {{`{"plan":["1"]}`, "/plan"}},
	"tools/Glob":            {{`{"pattern":null}`, ""}},
	"tools/Grep":            {{`{"pattern":null}`, ""}},
	"tools/Read":            {{`{"file_path":null}`, ""}},
	"tools/Task":            {{`{"prompt":null}`, ""}},
	"tools/WebFetch":        {{`{"url":null}`, ""}},
	"tools/WebSearch":       {{`{"allowed_domains":"example.org"}`, "/allowed_domains"}},
	"tools/Write":           {{`{"content":null}`, ""}},

	"AuditCheckpoint": {{`{"note":null}`, ""}, {`{"proof":"x"}`, "/proof"}},
	"AuditTrace":      {{`{"tree":null}`, ""}, {`{"steps":[{"step":"seen","time":"2026-11-28T08:19:50Z","place":"tree"}]}`, "/steps/0/step"}, {`{"steps":[{"step":"asked","time":"2026-11-28T08:19:50Z","place":"elsewhere"}]}`, "/steps/0/place"}},
}

// brokenFeed spoils the example of any feed event.
var brokenFeed = []struct{ patch, pointer string }{
	{`{"kind":"gossip"}`, "/kind"}, {`{"pos":0}`, "/pos"}, {`{"data":null}`, ""}, {`{"data":{"surprise":1}}`, "/data"}, {`{"surprise":1}`, "/surprise"}, {`{"marks":["fine"]}`, "/marks/0"},
}

func TestBrokenDocumentsAreRejected(t *testing.T) {
	broken := maps.Clone(broken)
	for _, name := range Names() {
		if _, kind, _ := strings.Cut(name, "feed/"); strings.Contains(kind, ".") || kind == "setup" || kind == "notification" || kind == "message" {
			broken[name] = brokenFeed
		}
	}
	for _, name := range Names() {
		if len(broken[name]) == 0 {
			t.Errorf("%s: no broken document in the table", name)
		}
	}
	for name, cases := range broken {
		if !slices.Contains(Names(), name) {
			t.Errorf("%s is no schema", name)
			continue
		}
		for _, c := range cases {
			doc := patched(t, name, c.patch)
			err := Validate(name, doc)
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%s with %s: %v, want an *Error", name, c.patch, err)
			} else if e.Pointer != c.pointer {
				t.Errorf("%s with %s: %v, want it at %q", name, c.patch, err, c.pointer)
			}
		}
	}
}

// patched applies a JSON merge patch (RFC 7396) to the example of a schema.
func patched(t *testing.T, name, patch string) []byte {
	t.Helper()
	ex, err := Example(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc, p any
	if err := json.Unmarshal(ex, &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(patch), &p); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	b, err := json.Marshal(merge(doc, p))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = merge(t[k], v)
		}
	}
	return t
}
