package feed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"assent/internal/hook"
)

// What a Session holds is bounded. Beyond a bound:
const (
	// maxActors subagents are known; of more the one that stopped longest ago is forgotten, and
	// registered again when it is heard of again.
	maxActors = 64
	// maxCalls tool calls without a result are known; of more the oldest is forgotten, and its
	// result has no parent.
	maxCalls = 128
	// maxRequests requests are known, maxSettled of them settled; of more the oldest settled
	// one is forgotten, else the oldest: its decision has no parent, and it is not counted as
	// waiting.
	maxRequests = 1024
	maxSettled  = 32
	// maxInput bytes of the input of a request are kept while it waits, maxInputs of all of them; of
	// a larger one nobody tells afterwards what an approver changed.
	maxInput  = 16 << 10
	maxInputs = 128 << 10
	// maxTasks tasks are known; of more the oldest that is done is forgotten, else a new one is
	// not listed.
	maxTasks = 200
	// maxSeen event ids are remembered, to know a repeated one.
	maxSeen = 128
	// maxIDLen bounds ids and names, maxPreview texts that are kept, in bytes. A longer id is
	// not kept: nothing is linked by it.
	maxIDLen   = 1 << 10
	maxPreview = 200
	maxPathLen = 4 << 10
)

// state is what a Session knows. Its JSON is kept between batches: texts in it are valid
// UTF-8, so that it reads back exactly.
type state struct {
	Pos    uint64        `json:"pos"`
	Entity SessionEntity `json:"entity"`
	Title  string        `json:"title,omitempty"`
	Run    *runState     `json:"run,omitempty"` // the open run, or the last one; nil before the first

	Actors   []Actor   `json:"actors,omitempty"` // subagents, oldest first
	Calls    []call    `json:"calls,omitempty"`
	Requests []request `json:"requests,omitempty"`
	Tasks    []task    `json:"tasks,omitempty"`
	TaskSeq  int       `json:"task_seq,omitempty"` // names tasks that have no id of their own
	Seen     seenIDs   `json:"seen,omitzero"`
	Clock    clock     `json:"clock,omitzero"`
	Activity activity  `json:"mood,omitzero"`
	Hooked   bool      `json:"hooked,omitempty"` // an event came from the agent's own hooks

	Agent          string      `json:"agent,omitempty"`
	CWD            string      `json:"cwd,omitempty"`
	PermissionMode string      `json:"mode,omitempty"`
	Origin         hook.Origin `json:"origin,omitzero"`
	SameProcess    bool        `json:"same_process,omitempty"` // the last two events named one process
	LastEvent      string      `json:"last_event,omitempty"`
	LastEventAt    int64       `json:"last_event_at,omitempty"`
}

// runState is a run and what is needed to go on with it.
type runState struct {
	Run
	N           uint64 `json:"n"`   // of the run id
	Seq         uint64 `json:"seq"` // of its last event
	Open        bool   `json:"open,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"` // a person stopped the turn; nothing came since
}

// savedState is the JSON of a Session.
type savedState struct {
	Version int `json:"v"`
	state
}

// MarshalJSON writes all the session knows.
func (s *Session) MarshalJSON() ([]byte, error) {
	return json.Marshal(savedState{Version, s.s})
}

// UnmarshalJSON reads what MarshalJSON wrote. What another Version wrote is an error.
func (s *Session) UnmarshalJSON(b []byte) error {
	var in savedState
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("read a session's state: %w", err)
	}
	if in.Version != Version {
		return fmt.Errorf("read a session's state: it is of version %d, want %d; fold the session again", in.Version, Version)
	}
	s.s = in.state
	return nil
}

// facts keeps what an event tells about its session.
func (s *state) facts(e *hook.Event, p *hook.Payload, typ string, at int64) {
	set(&s.Agent, e.Agent, maxIDLen)
	set(&s.CWD, p.CWD, maxPathLen)
	set(&s.PermissionMode, p.PermissionMode, maxIDLen)
	set(&s.LastEvent, typ, maxIDLen)
	s.LastEventAt = at
	o := e.Origin
	if !e.Emitted {
		s.SameProcess = o.Process != "" && o.PID == s.Origin.PID && o.Process == s.Origin.Process
	}
	if o == (hook.Origin{}) || o == s.Origin {
		return
	}
	s.Origin = hook.Origin{
		Host: clean(o.Host, maxIDLen), PID: o.PID, Process: clean(o.Process, maxIDLen), Attended: clean(o.Attended, maxIDLen), AgentLabel: clean(o.AgentLabel, maxIDLen), ProjectDir: clean(o.ProjectDir, maxPathLen),
		Repo: hook.Repo{
			Root: clean(o.Repo.Root, maxPathLen), Branch: clean(o.Repo.Branch, maxIDLen),
			Head: clean(o.Repo.Head, maxIDLen), Remote: clean(o.Repo.Remote, maxPathLen),
		},
	}
}

func set(field *string, value string, limit int) {
	if value != "" && value != *field && len(value) <= limit {
		*field = clean(value, limit)
	}
}

// clean makes a text that reads back from JSON as it was: valid UTF-8, at most limit bytes.
func clean(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] >= utf8.RuneSelf {
			s = s[:len(s)-1]
		}
	}
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// key is an id as it is kept to link events by: empty, and linking nothing, when it is too
// long.
func key(s string) string {
	if len(s) > maxIDLen {
		return ""
	}
	return clean(s, 3*maxIDLen)
}

// seenIDs remembers the last maxSeen event ids, as hashes.
type seenIDs struct {
	Hashes []uint64 `json:"h,omitempty"`
	Next   int      `json:"n,omitempty"` // the oldest, when full
}

// seenBefore reports whether an event of this ID was folded, and remembers it.
func (s *state) seenBefore(id string) bool {
	if id == "" {
		return false
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	for _, x := range s.Seen.Hashes {
		if x == h {
			return true
		}
	}
	if len(s.Seen.Hashes) < maxSeen {
		s.Seen.Hashes = append(s.Seen.Hashes, h)
		return false
	}
	s.Seen.Hashes[s.Seen.Next] = h
	s.Seen.Next = (s.Seen.Next + 1) % maxSeen
	return false
}
