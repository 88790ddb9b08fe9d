package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// Check holds a decision against what Claude Code 2.1.329 accepts, found by experiment:
// a plain allow of AskUserQuestion does nothing, and one malformed entry of
// updatedPermissions voids the whole decision.
func (Agent) Check(d hook.Decision, r *hook.Request) error {
	if d.Behavior != hook.BehaviorAllow && d.Behavior != hook.BehaviorDeny {
		return refuse("behavior", `want "allow" or "deny"`)
	}
	if r.Event == hook.EventElicitation {
		return checkForm(d, r)
	}
	if d.Behavior == hook.BehaviorDeny {
		switch {
		case len(d.UpdatedInput) > 0:
			return refuse("updatedInput", "goes with allow only")
		case len(d.UpdatedPermissions) > 0:
			return refuse("updatedPermissions", "goes with allow only")
		}
		return nil
	}
	switch {
	case d.Message != "":
		return refuse("message", "goes with deny only")
	case d.Interrupt:
		return refuse("interrupt", "goes with deny only")
	}
	question := tools.Of(r.ToolName).Kind == tool.Question
	if len(d.UpdatedInput) > 0 {
		if ms, err := strictjson.Object(d.UpdatedInput); err != nil {
			return refuse("updatedInput", "want a JSON object")
		} else if why := ambiguous(d.UpdatedInput); why != "" {
			return refuse("updatedInput", why)
		} else if question {
			if err := checkAnswers(ms, d, r); err != nil {
				return err
			}
		} else if err := checkKinds(ms, r); err != nil {
			return err
		}
	} else if question {
		return refuse("updatedInput", "a question is answered with its questions and answers {question: label}")
	}
	if len(d.UpdatedPermissions) > 0 {
		return checkUpdates(d.UpdatedPermissions, r.Suggestions)
	}
	return nil
}

// Rewrites is true: an allow with updatedInput runs that, and its own deny rules see that.
func (Agent) Rewrites() bool { return true }

// checkKinds wants the members of a changed input to be what they were: a text a text, under the
// same name. Rules that deny commands and paths look at texts, and what an agent makes of a list in
// the place of a command nobody knows.
func checkKinds(ms []strictjson.Member, r *hook.Request) error {
	before, err := strictjson.Object(r.ToolInput)
	if err != nil {
		return nil // there was nothing to change
	}
	kind := func(v []byte) string {
		switch {
		case len(v) == 0:
			return ""
		case strings.ContainsRune("-0123456789", rune(v[0])):
			return "number"
		case v[0] == 't' || v[0] == 'f':
			return "boolean"
		}
		return string(v[:1])
	}
	for _, m := range ms {
		for _, was := range before {
			switch {
			case strictjson.Fold(m.Key) != strictjson.Fold(was.Key):
			case m.Key != was.Key:
				return refuse("updatedInput", "has "+m.Key+" where the request has "+was.Key)
			case kind(m.Value) != kind(was.Value):
				return refuse("updatedInput", m.Key+" is no longer of the kind that it was")
			}
		}
	}
	return nil
}

func checkAnswers(ms []strictjson.Member, d hook.Decision, r *hook.Request) error {
	if CallKey(r.ToolName, d.UpdatedInput) != CallKey(r.ToolName, r.ToolInput) {
		return refuse("updatedInput", "its questions must be those that were asked")
	}
	for _, m := range ms {
		if m.Key == "answers" {
			var answers map[string]any
			if json.Unmarshal(m.Value, &answers) != nil || len(answers) == 0 {
				break
			}
			return nil
		}
	}
	return refuse("updatedInput", "answers is missing: want {question: label}")
}

// Words of permission updates, read from the client's own types and checked by experiment.
var (
	destinations = []string{"userSettings", "projectSettings", "localSettings", "session", "cliArg"}
	modes        = []string{"default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"}
	behaviors    = []string{"allow", "deny", "ask"}
)

// checkUpdates accepts an array of permission updates as the client knows them; whatever the
// client itself suggested in this request passes as it is, today's entries and the older
// {"type":"toolAlwaysAllow","tool":…} alike.
func checkUpdates(updates, suggestions hook.JSON) error {
	bad := func(i int, problem string) error {
		return refuse(fmt.Sprintf("updatedPermissions[%d]", i), problem)
	}
	var entries, own []json.RawMessage
	if err := json.Unmarshal(updates, &entries); err != nil {
		return refuse("updatedPermissions", "want an array of permission updates")
	}
	_ = json.Unmarshal(suggestions, &own) // none, or no array: nothing was suggested
	for i, e := range entries {
		if slices.ContainsFunc(own, func(s json.RawMessage) bool { return CallKey("-", s) == CallKey("-", e) }) {
			continue
		}
		if why := ambiguous(e); why != "" {
			return bad(i, why)
		}
		var u map[string]json.RawMessage // exact keys, which a struct would not give
		if err := json.Unmarshal(e, &u); err != nil {
			return bad(i, "want an object with type, destination and what the type needs")
		}
		switch text(u["type"]) {
		case "addRules", "replaceRules", "removeRules":
			if !rulesOK(u["rules"]) {
				return bad(i, "want rules, each with a toolName and perhaps a ruleContent")
			}
			if !slices.Contains(behaviors, text(u["behavior"])) {
				return bad(i, "want a behavior: allow, deny or ask")
			}
		case "setMode":
			if !slices.Contains(modes, text(u["mode"])) {
				return bad(i, "unknown mode")
			}
		case "addDirectories", "removeDirectories":
			var dirs []string
			if json.Unmarshal(u["directories"], &dirs) != nil || len(dirs) == 0 {
				return bad(i, "want directories")
			}
		case "toolAlwaysAllow":
			return bad(i, "only where the agent itself suggested it")
		default:
			return bad(i, "unknown type")
		}
		if !slices.Contains(destinations, text(u["destination"])) {
			return bad(i, "want a destination: userSettings, projectSettings, localSettings or session")
		}
	}
	return nil
}

func rulesOK(raw json.RawMessage) bool {
	var rules []map[string]json.RawMessage
	if json.Unmarshal(raw, &rules) != nil || len(rules) == 0 {
		return false
	}
	for _, r := range rules {
		if text(r["toolName"]) == "" {
			return false
		}
		if c, ok := r["ruleContent"]; ok && (len(c) == 0 || c[0] != '"') {
			return false
		}
	}
	return true
}

// text returns the string that raw holds, or "" when it holds none.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Encode writes the members in a fixed order and only those the decision has.
// ExitPlanMode is approved with an updatedInput or not at all: {} stands for "as it is".
func (a Agent) Encode(d hook.Decision, r *hook.Request) ([]byte, error) {
	if err := a.Check(d, r); err != nil {
		return nil, err
	}
	if r.Event == hook.EventElicitation {
		return encodeForm(d)
	}
	var b bytes.Buffer
	b.WriteString(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"`)
	b.WriteString(string(d.Behavior))
	b.WriteByte('"')
	if d.Message != "" {
		m, err := quote(d.Message)
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"message":`)
		b.Write(m)
	}
	if d.Interrupt {
		b.WriteString(`,"interrupt":true`)
	}
	input := d.UpdatedInput
	if len(input) == 0 && d.Behavior == hook.BehaviorAllow && tools.Of(r.ToolName).Kind == tool.Plan {
		input = hook.JSON("{}")
	}
	for _, m := range []struct {
		key   string
		value hook.JSON
	}{{"updatedInput", input}, {"updatedPermissions", d.UpdatedPermissions}} {
		if len(m.value) == 0 {
			continue
		}
		b.WriteString(`,"` + m.key + `":`)
		if err := json.Compact(&b, m.value); err != nil {
			return nil, refuse(m.key, "not JSON")
		}
	}
	b.WriteString("}}}")
	return b.Bytes(), nil
}

// quote writes a JSON text without escaping <, > and &: the words reach the model as typed.
func quote(s string) ([]byte, error) {
	b, err := strictjson.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return b, nil
}
