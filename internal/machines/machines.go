// Package machines keeps which machines' hooks the broker heard of, which version they are, and which of
// their sessions run in a mode that asks for no permission. In memory only: it begins anew with the
// broker, and knows what came since.
//
// # Concurrency
//
// A Register may be used from any goroutine. It has none of its own, and its methods do not block.
package machines

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"assent/internal/hook"
)

// Silent is the modes of an agent in which it decides without asking, so that its calls reach no hook that
// could: all of them, or most. Claude Code's word for each (docs/hooks.md).
var Silent = []string{"auto", "bypassPermissions", "dontAsk"}

// Bounds. Beyond them the one that was heard of least recently is forgotten.
const (
	maxMachines = 1024
	maxSessions = 8192
	maxText     = 256 // of what a hook says of itself
)

// quiet is how long a session counts as running without a word of it.
const quiet = 24 * time.Hour

// Machine is what is known of one (schema Machine).
type Machine struct {
	// Submitter is whose hooks they are, see hook.Event.Submitter.
	Submitter string `json:"submitter"`
	// Name is that of the submitter's token: who made it said so.
	Name string `json:"name,omitempty"`
	// Host is what the hooks say of themselves.
	Host string `json:"host,omitempty"`
	// HookVersion is of the last hook; "" for those that did not say it yet, or a hook of the agent's own.
	HookVersion string `json:"hookVersion,omitempty"`
	// Differs says that it is not the broker's version.
	Differs bool `json:"differs,omitempty"`
	// Heard is when the last event came, zero if none did since the broker started. Used is when
	// the token was used last, by any broker, exact to a minute.
	Heard time.Time `json:"heard,omitzero"`
	Used  time.Time `json:"used,omitzero"`
	// Sessions is how many run, NotAsking those of them whose mode asks for nothing, or hardly anything.
	Sessions  int       `json:"sessions"`
	NotAsking []Session `json:"notAsking"`
}

// Session is one of an agent, with its permission mode.
type Session struct {
	ID    string    `json:"id"`
	Agent string    `json:"agent"`
	Mode  string    `json:"mode"`
	Heard time.Time `json:"heard"`
}

type machineKey struct{ submitter, host string }

type sessionKey struct{ submitter, id string }

type session struct {
	host string
	Session
}

// Register keeps machines. Use New.
type Register struct {
	version string // the broker's

	mu       sync.Mutex
	machines map[machineKey]*Machine // guarded by mu
	sessions map[sessionKey]*session // guarded by mu
}

// New returns an empty register of a broker of this version.
func New(version string) *Register {
	return &Register{version: version, machines: map[machineKey]*Machine{}, sessions: map[sessionKey]*session{}}
}

// Heard notes that a hook of this version brought an event.
func (r *Register) Heard(e *hook.Event, version string, at time.Time) {
	k := machineKey{e.Submitter, short(e.Origin.Host)}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machines[k]
	if m == nil {
		if len(r.machines) >= maxMachines {
			dropOldest(r.machines, func(m *Machine) time.Time { return m.Heard })
		}
		m = &Machine{Submitter: k.submitter, Host: k.host}
		r.machines[k] = m
	}
	m.Heard = at
	m.HookVersion = cmp.Or(short(version), m.HookVersion)
}

// Observed notes in which mode the session of an event is.
func (r *Register) Observed(e *hook.Event, p *hook.Payload, at time.Time) {
	if p.SessionID == "" {
		return
	}
	k := sessionKey{e.Submitter, short(p.SessionID)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == hook.EventSessionEnd {
		delete(r.sessions, k)
		return
	}
	s := r.sessions[k]
	if s == nil {
		if len(r.sessions) >= maxSessions {
			dropOldest(r.sessions, func(s *session) time.Time { return s.Heard })
		}
		s = &session{Session: Session{ID: k.id}}
		r.sessions[k] = s
	}
	s.host, s.Agent, s.Heard = short(e.Origin.Host), e.Agent, at
	if p.PermissionMode != "" { // not every event has it
		s.Mode = short(p.PermissionMode)
	}
}

// Token is one whose holder may bring events.
type Token struct {
	Submitter, Name string
	Used            time.Time // zero: never
}

// List returns the machines, those of the tokens that were not heard of among them, by name and host.
func (r *Register) List(tokens []Token, now time.Time) []Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweepLocked(now)
	of := map[machineKey]*Machine{}
	heard := map[string]bool{}
	for k, m := range r.machines {
		c := *m
		c.Differs, c.NotAsking = c.HookVersion != "" && c.HookVersion != r.version, []Session{}
		of[k], heard[k.submitter] = &c, true
	}
	for k, s := range r.sessions {
		if m := of[machineKey{k.submitter, s.host}]; m != nil {
			m.Sessions++
			if slices.Contains(Silent, s.Mode) {
				m.NotAsking = append(m.NotAsking, s.Session)
			}
		}
	}
	list := make([]Machine, 0, len(of)+len(tokens))
	for _, m := range of {
		slices.SortFunc(m.NotAsking, func(a, b Session) int { return cmp.Or(b.Heard.Compare(a.Heard), strings.Compare(a.ID, b.ID)) })
		list = append(list, *m)
	}
	for _, t := range tokens {
		for i := range list {
			if list[i].Submitter == t.Submitter {
				list[i].Name, list[i].Used = t.Name, t.Used
			}
		}
		if !heard[t.Submitter] {
			list = append(list, Machine{Submitter: t.Submitter, Name: t.Name, Used: t.Used, NotAsking: []Session{}})
		}
	}
	slices.SortFunc(list, func(a, b Machine) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host), strings.Compare(a.Submitter, b.Submitter))
	})
	return list
}

// NotAsking counts the sessions in each mode of Silent.
func (r *Register) NotAsking(mode string, now time.Time) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweepLocked(now)
	for _, s := range r.sessions {
		if s.Mode == mode {
			n++
		}
	}
	return n
}

// Differing counts the machines whose hooks are of another version.
func (r *Register) Differing() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.machines {
		if m.HookVersion != "" && m.HookVersion != r.version {
			n++
		}
	}
	return n
}

// sweepLocked forgets sessions without a word for long: an agent that was killed says no goodbye.
func (r *Register) sweepLocked(now time.Time) {
	for k, s := range r.sessions {
		if now.Sub(s.Heard) > quiet {
			delete(r.sessions, k)
		}
	}
}

func dropOldest[K comparable, V any](of map[K]V, heard func(V) time.Time) {
	var oldest K
	var at time.Time
	for k, v := range of {
		if t := heard(v); at.IsZero() || t.Before(at) {
			oldest, at = k, t
		}
	}
	delete(of, oldest)
}

func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }
