// Package feed turns what the hooks and the records of one session say into a feed a person
// can read, and knows how the session stands.
//
// It is a pure fold: the same events and records in the same order give the same feed, the
// same ids, the same bytes, on any machine and at any time. There is no clock in it, no
// randomness and no I/O. Nothing that goes in is ever left out: what is broken, late or
// unknown becomes an event with a mark.
//
// Table says which hook event becomes which kind, and docs/feed.md shows it to readers.
//
// # Concurrency
//
// A Session belongs to one goroutine. A Standing may be used by any.
package feed

import (
	"time"

	"assent/internal/hook"
)

// Version names the fold. State that another version wrote is of no use, and a feed that
// another made differs: fold again from the start.
const Version = 5

// NoSession is the session of events that name none.
const NoSession = "no-session"

// SessionID is the session an event belongs to: what the payload names, as valid text and
// bounded.
func SessionID(p hook.Payload) string {
	if p.SessionID == "" {
		return NoSession
	}
	return clean(p.SessionID, maxIDLen)
}

// Session is the fold of one session. It marshals to JSON and back exactly, and stays small:
// everything in it is bounded.
type Session struct{ s state }

// New returns a session of which nothing is known yet.
func New(sessionID string) *Session {
	var s Session
	s.s.Entity.SessionID = clean(sessionID, maxIDLen)
	return &s
}

// Event folds a hook event and returns what it adds to the feed: at least one event, unless an
// event or a request with the same ID was folded shortly before. The payload's bytes are kept
// by the returned events, not by the Session.
func (s *Session) Event(e hook.Event, p hook.Payload, d hook.Detail) []Event {
	if s.s.seenBefore(e.ID) {
		return nil
	}
	if e.Emitted && s.s.Hooked {
		return nil // the agent's own hooks tell of the same calls, and of more
	}
	s.s.Hooked = s.s.Hooked || !e.Emitted
	f := folding{s: &s.s, e: &e, p: &p, d: &d, row: rowOf(eventType(e, p))}
	f.fold()
	return f.out
}

// Record folds a step of one of the session's requests. An asked record adds nothing where the
// request's own event was folded before it.
func (s *Session) Record(r hook.Record) []Event {
	f := recording{s: &s.s, r: &r}
	f.fold()
	return f.out
}

// Info says how the session stands at now. It changes nothing.
func (s *Session) Info(now time.Time) Info { return s.Standing().At(now) }

// eventType is what the event is called: the type the hook was registered for, else the
// payload's own.
func eventType(e hook.Event, p hook.Payload) string {
	if e.Type != "" {
		return e.Type
	}
	return p.Type
}
