// Package halt keeps whether everything is stopped or paused, and by whom.
//
// A stop suspends rules and grants until somebody lifts it: they allow nothing. A pause leaves new
// requests to the agents' own prompts, for a time. Both stand in the KV that replicas share, with
// who did it and when, so that a restart changes nothing and every broker knows. What cannot be
// read changes nothing either: what was known last holds, and in doubt rules allow nothing.
//
// A rule's answer may be on its way while somebody stops everything. Whoever answers by a rule
// enters first (Enter) and leaves when the answer is with its hook; Do returns from a stop when
// nobody is left inside. So after it has returned, no request is allowed by a rule.
//
// A stop that the KV does not take holds here all the same, whatever else is heard of the KV, and is
// written when that is possible: until it is recorded, somebody lifts it here, or the broker ends.
//
// # Concurrency
//
// Open starts two goroutines, that of the mirror of the KV and one that records what could not be
// recorded; Close ends both and waits. All methods may be called from any goroutine. One mutex guards
// the state; nothing slow runs under it. Acts are written one after the other.
package halt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/kvmirror"
)

// Errors of a Store.
var (
	ErrChanged     = errors.New("somebody stopped, paused or resumed in the meantime; look at how it stands now and try again")
	ErrStopped     = errors.New("everything is stopped, so there is nothing to pause; lift that first")
	ErrUnavailable = errors.New("the record of what is stopped is not available; try again")
	ErrUnrecorded  = errors.New("it could not be recorded yet; this broker allows nothing by rules all the same, and goes on trying to record it, but other brokers and a restart do not know of it until then")
	ErrBusy        = errors.New("everything is stopped from now on, but a rule's answer was on its way and did not arrive in time; look at the history")
)

const (
	keyPrefix = "halt."
	key       = keyPrefix + "state"
	// maxActs bounds the acts that are kept.
	maxActs = 100
	// attempts bounds how often a write is tried against other writers.
	attempts = 10
)

// shareGrace is how long a stop waits, where several brokers share the state, for rules' answers of the
// others that looked just before it.
const shareGrace = time.Second

// Config is what a Store needs. KV is required.
type Config struct {
	KV kvmirror.KV
	// Shared says that other brokers share the KV. Before a rule allows anything, the state is then
	// read again: another broker may have stopped everything a moment ago.
	Shared bool
	// Logf reports what the operator should know; nil discards it.
	Logf func(format string, args ...any)
}

// Store keeps the state. Make it with Open.
type Store struct {
	cfg Config
	kv  *kvmirror.Mirror

	news kvmirror.News
	turn chan struct{} // full while somebody writes an act
	owed chan struct{} // there may be a stop to record

	mu       sync.Mutex
	state    hook.Halt     // guarded by mu; as it was read last
	own      *ownStop      // guarded by mu; nil unless there is one
	stopping int           // guarded by mu; stops that are being done
	inside   int           // guarded by mu; answers by rules on their way
	empty    chan struct{} // guarded by mu; closed when inside is 0; nil while nobody waits for that
}

// ownStop is a stop that holds here and does not stand in the KV.
type ownStop struct {
	act hook.HaltAct
	// unreadable says that it stands for a state that could not be read: it is over with one that can.
	// Else it is somebody's, and is over when it is recorded or lifted.
	unreadable bool
}

// settledBy reports whether acts, which the KV has, make s needless: it was recorded after all, whatever
// came then. Another's stop does not: who lifts that has not seen this one.
func (s *ownStop) settledBy(acts []hook.HaltAct) bool { return s.unreadable || contains(acts, s.act) }

// contains reports whether act is one of these.
func contains(acts []hook.HaltAct, act hook.HaltAct) bool {
	return slices.ContainsFunc(acts, func(a hook.HaltAct) bool {
		return a.Act == act.Act && a.By == act.By && a.At.Equal(act.At)
	})
}

// document is what the KV keeps.
type document struct {
	Acts []hook.HaltAct `json:"acts"`
}

// decode reads what the KV keeps. JSON that is no list of acts, or whose newest act is of no known kind, says that
// something else stands there: nobody can tell from it that nothing is stopped.
func decode(value []byte) (document, error) {
	var doc document
	if err := json.Unmarshal(value, &doc); err != nil {
		return document{}, err
	}
	if doc.Acts == nil {
		return document{}, errors.New("it has no list of acts")
	}
	if n := len(doc.Acts); n > 0 && !slices.Contains([]string{hook.HaltStop, hook.HaltLift, hook.HaltPause, hook.HaltResume}, doc.Acts[n-1].Act) {
		return document{}, errors.New("its newest act is none")
	}
	return doc, nil
}

// Open reads the state. ctx bounds the reading only.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	s := &Store{cfg: cfg, turn: make(chan struct{}, 1), owed: make(chan struct{}, 1)}
	var err error
	if s.kv, err = kvmirror.Open(ctx, kvmirror.Config{
		KV: cfg.KV, Prefix: keyPrefix, Apply: s.apply, What: "what is stopped", Logf: cfg.Logf,
	}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if h := s.State(); cfg.Shared && h.Revision == 0 {
		// So that it can be read: a key that is not there looks like a KV that does not answer.
		value, err := json.Marshal(document{Acts: []hook.HaltAct{}})
		if err == nil {
			if rev, err := cfg.KV.Create(ctx, key, value); err == nil {
				s.kv.Offer(key, value, rev)
			}
		}
	}
	s.kv.Go(s.recordOwed)
	return s, nil
}

// Close ends the goroutines. It may be called more than once.
func (s *Store) Close() error {
	s.kv.Close()
	return nil
}

// Notify has f called whenever something was stopped, lifted, paused or resumed, here or by
// another broker. The end of a pause by its time is no news: its act says when.
func (s *Store) Notify(f func()) { s.news.Notify(f) }

// State returns how it stands. The acts are not to be changed.
func (s *Store) State() hook.Halt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateLocked()
}

func (s *Store) stateLocked() hook.Halt {
	h := s.state
	if s.own != nil {
		h.Acts = append(h.Acts[:len(h.Acts):len(h.Acts)], s.own.act)
	}
	return h
}

// Paused reports whether new requests are left to the agents' own prompts now.
func (s *Store) Paused() bool {
	h := s.State()
	return h.Paused(time.Now()) != nil
}

// apply takes a change of the state into memory, see kvmirror.Config.
func (s *Store) apply(k string, value []byte, rev uint64) (after func()) {
	if k != key {
		return nil
	}
	var doc document
	err := error(nil)
	if value != nil {
		doc, err = decode(value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.cfg.Logf("%s is unreadable: rules and grants allow nothing until somebody lifts that: assent stop --lift", k)
		s.state.Revision = rev
		if s.stateStoppedLocked() {
			return nil
		}
		s.own = &ownStop{unreadable: true, act: hook.HaltAct{
			Act: hook.HaltStop, At: time.Now().UTC(), By: hook.Approver{Kind: hook.KindRule, ID: "halt", Name: "a record that cannot be read"},
		}}
		return s.news.Tell
	}
	if value == nil {
		// Nobody deletes it: the store was made anew. A stop holds until somebody lifts it, and goes into
		// the new one.
		if stop := s.state.Stopped(); stop != nil && s.own == nil {
			s.cfg.Logf("%s is gone; the stop that stood there holds, and is recorded again", k)
			s.own = &ownStop{act: *stop}
			select {
			case s.owed <- struct{}{}:
			default:
			}
		}
		s.state = hook.Halt{Revision: rev}
		return s.news.Tell
	}
	s.state = hook.Halt{Revision: rev, Acts: doc.Acts}
	if s.own != nil && s.own.settledBy(doc.Acts) {
		s.own = nil
	}
	return s.news.Tell
}

func (s *Store) stateStoppedLocked() bool {
	h := s.stateLocked()
	return h.Stopped() != nil
}
