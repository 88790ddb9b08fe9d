package claude

import (
	"encoding/json"
	"fmt"
	"path"
	"time"
	"unicode/utf8"

	"assent/internal/agent"
	"assent/internal/hook"
	"assent/internal/text/strictjson"
)

// maxEventID is the length of a UUID.
const maxEventID = 36

// Unknown is the type of an event that could not be read as an envelope: the line itself is its
// payload, and nobody takes it for one of the agent's own events.
const Unknown = "Unknown"

// Envelope reads a line of the hookd socket (schema Envelope): what hookd-emit and scripts like it
// write. cwd is where the caller stood, empty if nobody said; the event has neither an ID if the
// envelope has none, nor a Time, nor a repository.
//
// An error wraps agent.ErrUnreadable. The event is then to be kept all the same: it has what could be
// read, or the whole line. Mistakes in what is optional cost no more than that.
func Envelope(line []byte) (e hook.Event, cwd string, err error) {
	unknown := func(format string, args ...any) (hook.Event, string, error) {
		return hook.Event{Type: Unknown, Agent: "claude", Attempt: 1, Emitted: true, Raw: line}, "", fmt.Errorf("%w: "+format, append([]any{agent.ErrUnreadable}, args...)...)
	}
	e = hook.Event{Agent: "claude", Attempt: 1, Emitted: true}
	members, err := strictjson.Object(line)
	if err != nil {
		return unknown("%w", err)
	}
	// Another reader may take any spelling, or another one of several.
	known := map[string]json.RawMessage{}
	for _, m := range members {
		key := strictjson.Fold(m.Key)
		switch key {
		case "event_type", "tool_name", "payload", "timestamp", "pid", "agent_id", "event_id", "cwd", "repo":
			if known[key] != nil || key != m.Key {
				return unknown("repeated or case-varied member %.64q", m.Key)
			}
			known[key] = m.Value
		}
	}
	var kind string
	if json.Unmarshal(known["event_type"], &kind) != nil {
		return unknown("event_type is missing or not a text")
	}
	if e.Type = hook.EventOfHook(kind); e.Type == "" {
		if e.Type = kind; hook.HookType(kind) == "" { // the event's own name says the same
			return unknown("event_type %.64q is none of pre_tool_use, post_tool_use, post_tool_use_failure", kind)
		}
	}
	if known["payload"] == nil {
		return unknown("payload is missing")
	}
	e.Raw = known["payload"]

	flawed := func(name string) {
		if err == nil {
			err = fmt.Errorf("%w: %s is not as it should be, and is left out", agent.ErrUnreadable, name)
		}
	}
	// What would be too long in a header is left out: a part of a path would be another path.
	label := func(name string) (s string) {
		if raw := known[name]; raw != nil && string(raw) != "null" {
			if !utf8.Valid(raw) || json.Unmarshal(raw, &s) != nil || len(hook.EscapeHeader(s)) > hook.MaxLabel {
				flawed(name)
				return ""
			}
		}
		return s
	}
	e.Tool, e.Origin.AgentLabel, cwd = label("tool_name"), label("agent_id"), label("cwd")
	if e.ID = label("event_id"); e.ID != "" && (len(e.ID) > maxEventID || !hook.PlainToken(e.ID)) {
		e.ID = nameID("event", e.ID)
	}
	if raw := known["pid"]; raw != nil {
		var pid int32
		if json.Unmarshal(raw, &pid) != nil || pid < 0 {
			flawed("pid")
		} else {
			e.Origin.PID = int(pid)
		}
	}
	if text := label("timestamp"); text != "" {
		t, bad := time.Parse(time.RFC3339Nano, text)
		if bad != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
			flawed("timestamp")
		} else {
			e.Time = t
		}
	}
	if raw := known["repo"]; raw != nil && string(raw) != "null" {
		if repo, ok := repoOf(raw); ok {
			e.Origin.Repo = repo
		} else {
			flawed("repo")
		}
	}
	return e, cwd, err
}

// repoOf reads the schema RepoContext. A part of it is of no use.
func repoOf(raw json.RawMessage) (hook.Repo, bool) {
	if !utf8.Valid(raw) || ambiguous(raw) != "" {
		return hook.Repo{}, false
	}
	var c hook.RepoContext
	if json.Unmarshal(raw, &c) != nil {
		return hook.Repo{}, false
	}
	r := hook.Repo{Root: c.GitRoot, Branch: c.Branch, Head: c.HeadSHA}
	if c.RemoteURL != nil {
		r.Remote = *c.RemoteURL
	}
	for _, s := range []string{r.Root, r.Branch, r.Head, r.Remote} {
		if len(hook.EscapeHeader(s)) > hook.MaxLabel {
			return hook.Repo{}, false
		}
	}
	return r, path.IsAbs(r.Root)
}
