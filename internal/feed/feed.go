// Package feed turns what the hooks and the records of one session say into a feed a person
// can read, and knows how the session stands.
//
// It is a pure fold: the same events and records in the same order give the same feed, the
// same ids, the same bytes, on any machine and at any time. There is no clock in it, no
// randomness and no I/O. Nothing that goes in is ever left out: what is broken, late or
// unknown becomes an event with a mark.
//
// # Concurrency
//
// A Session belongs to one goroutine.
package feed

import (
	"time"

	"assent/internal/hook"
)

// Version names the fold. State that was written by another is of no use, and a feed that was
// made by another differs: fold again from the start.
const Version = 1

// NoSession is the session of events that name none.
const NoSession = "no-session"

// SessionID is the session an event belongs to.
func SessionID(p hook.Payload) string {
	if p.SessionID == "" {
		return NoSession
	}
	return p.SessionID
}

// Session is the fold of one session. It marshals to JSON and back exactly, and stays small:
// everything in it is bounded.
type Session struct{ s state }

type state struct{}

// New returns a session of which nothing is known yet.
func New(sessionID string) *Session { return &Session{} }

// Event folds a hook event and returns what it adds to the feed, at least one event unless an
// event with the same ID was folded a short while ago. The payload bytes are kept by the
// returned events, not by the Session.
func (s *Session) Event(e hook.Event, p hook.Payload, d hook.Detail) []Event { return nil }

// Record folds a step of one of the session's requests.
func (s *Session) Record(r hook.Record) []Event { return nil }

// Info says how the session stands at now. It changes nothing.
func (s *Session) Info(now time.Time) Info { return Info{} }

// MarshalJSON writes the state.
func (s *Session) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// UnmarshalJSON reads the state back. The error says so when another Version wrote it.
func (s *Session) UnmarshalJSON(b []byte) error { return nil }
