// Package fleet hands people's messages to the sessions of their agents (Store), and knows the hosts that
// start agents, and the agents that they offer (Registry).
//
// A message is treated like a decision: signed by the device that sent it, recorded before it is sent, in
// the agent's context at most once, and its receipt shown. Each message is one key of the KV that replicas
// share, with all of its steps; a step is a write that fails if another came first. So whatever is killed,
// no message comes into the context twice, and none is lost without saying so.
//
// Three ways lead to a session: of an agent of a host, the host's WebSocket; of any other, tried in this
// order, its inbox socket, where the session runs as this user on this machine, and the answer to its next
// Stop hook. Nothing is ever held open for a message, so the
// terminal is never locked. The session's own UserPromptSubmit hook is the receipt of the inbox, and any
// later event of the turn that of the Stop hook.
//
// What can be forgotten of a message stands apart, see words: the KV leaves the bytes of what was replaced in its
// files.
//
// Each step is an entry of the record, too, see record.go: that a message was sent before anything else is done about it.
//
// A receipt from an inbox that does not come is never guessed at: the session's transcript says whether it
// took the text. What it took is waited for, what it did not take is handed over again. "lost" is a message of which
// that was tried in vain, or whose queue ended.
//
// # Concurrency
//
// Open starts the goroutine of the KV's mirror; Run, in its caller's goroutine, hands messages over and
// ends those whose time is up, and starts one that records steps. All methods may be called from any goroutine. One mutex guards the state;
// nothing slow runs under it.
package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/host/transcript"
	"assent/internal/store/kvmirror"
)

// Errors of a Store.
var (
	ErrUnavailable = errors.New("the record of messages is not available; try again with the same id")
	ErrUnreachable = errors.New("this session cannot be reached now: it has no inbox on the broker's machine, and no turn of it runs at whose end the message could be handed over; open its terminal")
	ErrDuplicate   = errors.New("another message has this id")
	ErrNotFound    = errors.New("no such message")
	ErrTaken       = errors.New("it was handed over already")
	ErrWorking     = errors.New("the session has the message and its turn is not over; wait until it is, or stop it, and forget the message then")
	ErrStopped     = errors.New("everything is stopped: lift that first (assent stop --lift, or Settings on the page)")
	ErrTooMany     = errors.New("too many messages of this session wait to be handed over; wait for the first ones")
)

const (
	prefix = "message."
	// maxWaiting bounds the messages of one session that are not handed over yet; maxKept and maxBytes all of
	// them, which are held in memory, and the bytes of their texts. The oldest that are over make room.
	maxWaiting = 20
	maxKept    = 2000
	maxBytes   = 16 << 20
	// keep is how long a message that is over is kept.
	keep = 7 * 24 * time.Hour
	// receiptTime is how long a receipt is waited for, from the end of the turn on if one runs.
	receiptTime = time.Minute
	// lookTime is how long a receipt is waited for before the transcript is looked at. It is looked at again after
	// lookAgain. maxTries is how often a text is handed over that the session does not take.
	lookTime  = 5 * time.Second
	lookAgain = 10 * time.Second
	maxTries  = 6
	// retryTime is the pause before an inbox is tried again, apart the least time between two messages of one session
	// where the first one's hook has not confirmed it. How many the client takes in all, see inboxRoom.
	retryTime = 5 * time.Second
	apart     = time.Second
	// seenTime is how long the hook of a receipt has to bring it itself, before the stream's word is taken.
	seenTime = 2 * time.Second
	// stopTime bounds the record of a message that a Stop hook takes: its client waits for one second.
	stopTime = 500 * time.Millisecond
	// DefaultExpiry is how long a message may wait where its sender does not say, MaxExpiry how long at most.
	DefaultExpiry = 10 * time.Minute
	MaxExpiry     = 24 * time.Hour
)

// Line is a connection to a session's inbox, on which nothing was sent yet.
type Line interface {
	// Send hands content over and closes the line. After an error it is not known whether it arrived.
	Send(id, content string) error
	Close()
}

// Config is what a Store needs. KV is required.
type Config struct {
	KV kvmirror.KV
	// Texts keeps what is destroyed of a message when it is forgotten, each value under a key of its own, written once. Its
	// Delete overwrites the bytes. nil: there is none, and texts stand in KV.
	Texts kvmirror.KV
	// Record takes every step, see record.go. nil: nothing is recorded but in KV.
	Record Record
	// ForgetEntries removes what stands in Record under these ids, so that whoever verifies it knows that this was wanted. nil:
	// nothing is removed there.
	ForgetEntries func(ctx context.Context, ids []string) error
	// Inbox connects to the inbox of a session; an error says that it has none here. nil: none has.
	Inbox func(ctx context.Context, session string) (Line, error)
	// Standing says where the text is that the inbox of a session was handed, by the session's transcript. nil:
	// nobody can look.
	Standing func(ctx context.Context, session, content string) (transcript.Standing, error)
	// Self is the submitter of sessions that Inbox reaches.
	Self string
	// May reports whether who sent a message may still send one: nothing is handed over that comes from a
	// device that was removed since. nil: everybody may.
	May func(hook.Approver) bool
	// Hosted is the agent of a host that has a process for a session, "" if none has; see Registry.Works. nil: none ever has.
	Hosted func(session string) string
	// Stopped reports whether everything is stopped: nothing is handed over then. nil: it never is.
	Stopped func() bool
	// Gone reports whether it is certain that the process that an event came from has ended. nil: it never is.
	Gone func(hook.Origin) bool
	// Logf reports what the operator should know, and never a text; nil discards it.
	Logf func(format string, args ...any)

	// bytes is maxBytes where it is 0. Tests set it.
	bytes int
}

// Store keeps messages and hands them over. Make it with Open.
type Store struct {
	cfg   Config
	kv    *kvmirror.Mirror
	texts *kvmirror.Mirror // nil without Config.Texts
	wake  chan struct{}    // there may be something to do
	// toRecord wakes recordSteps.
	toRecord chan struct{}

	mu       sync.Mutex
	messages map[string]*entry   // guarded by mu
	words    map[string]*words   // guarded by mu; by key in Config.Texts
	sessions map[string]*session // guarded by mu
	sent     map[string]recorded // guarded by mu; what is recorded as sent, and not in messages yet
	news     uint64              // guarded by mu; counts changes of messages
	changed  func()              // guarded by mu
	silent   bool                // guarded by mu; that the record fails was logged, and it has not worked since
}

// entry is a message as the KV has it. Guarded by Store.mu.
type entry struct {
	m    hook.Message
	at   place // of its words
	rev  uint64
	news uint64 // when it changed last
	// due is a step that an event proved and that is not recorded yet.
	due hook.MessageState
	// lookAt is when the transcript is looked at for it; zero: lookTime after it was handed over. blind says that
	// the transcript could not be read then.
	lookAt time.Time
	blind  bool
	// begun says that the stream has brought its prompt: an end of a turn that follows there is its end, whatever the
	// clock said when its start was recorded.
	begun bool
	// answered says that a Stop hook of this broker was answered with it, in the turn that runs.
	answered bool
	// turnOver is when a turn ended, after it was handed over, that should have brought its receipt.
	turnOver time.Time
	// seen is when the stream brought its receipt, if that is not recorded yet.
	seen time.Time
	// rec is how much of it the record has.
	rec recorded
}

// Open reads the messages. ctx bounds the reading only.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.bytes == 0 {
		cfg.bytes = maxBytes
	}
	if cfg.May == nil {
		cfg.May = func(hook.Approver) bool { return true }
	}
	if cfg.Stopped == nil {
		cfg.Stopped = func() bool { return false }
	}
	if cfg.Gone == nil {
		cfg.Gone = func(hook.Origin) bool { return false }
	}
	s := &Store{cfg: cfg, wake: make(chan struct{}, 1), toRecord: make(chan struct{}, 1), sent: map[string]recorded{}, messages: map[string]*entry{}, words: map[string]*words{}, sessions: map[string]*session{}, news: 1}
	var err error
	if cfg.Texts != nil {
		if s.texts, err = kvmirror.Open(ctx, kvmirror.Config{
			KV: cfg.Texts, Prefix: prefix, Apply: s.applyWords, Final: true, What: "texts of messages", Logf: cfg.Logf,
		}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	if s.kv, err = kvmirror.Open(ctx, kvmirror.Config{
		KV: cfg.KV, Prefix: prefix, Apply: s.apply, Final: true, What: "messages", Logf: cfg.Logf,
	}); err != nil {
		if s.texts != nil {
			s.texts.Close()
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s, nil
}

// Close ends the mirrors. It may be called more than once.
func (s *Store) Close() error {
	s.kv.Close()
	if s.texts != nil {
		s.texts.Close()
	}
	return nil
}

// apply takes what the KV has of one message.
func (s *Store) apply(key string, value []byte, rev uint64) func() {
	id := strings.TrimPrefix(key, prefix)
	var m hook.Message
	var at place
	if value != nil {
		var err error
		if m, at, err = decode(value); err != nil || m.ID != id || len(m.Steps) == 0 {
			s.cfg.Logf("a message in the record is unreadable, and left alone: %s", id)
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news++
	if value == nil {
		if e := s.messages[id]; e != nil {
			s.words[e.at.Words].blank()
			delete(s.messages, id)
		}
	} else {
		e := s.messages[id]
		if e == nil {
			e = &entry{rec: s.sent[id]}
			s.messages[id] = e
		}
		switch {
		case e.m.ID != "" && !sameOutside(&e.m, &m) || e.at != at && e.m.ID != "":
			e.rec = recorded{} // no broker writes that: whether it is what was recorded is looked at anew
		case len(m.Steps) > len(e.m.Steps):
			e.rec.heard = time.Now()
		}
		e.m, e.at, e.rev, e.news = m, at, rev, s.news
		s.joinLocked(e)
	}
	s.wakeUp()
	s.toRecordNow()
	return s.changed
}

// Wake has Run look at once at what Config.Stopped and Config.Hosted say.
func (s *Store) Wake() { s.wakeUp() }

func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Notify has f called whenever a message changed, here or by another broker.
func (s *Store) Notify(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = f
}

// Message returns a message, or ErrNotFound.
func (s *Store) Message(id string) (hook.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.messages[id]; e != nil {
		return e.m, nil
	}
	return hook.Message{}, ErrNotFound
}

// Messages returns the messages of a session, the oldest first.
func (s *Store) Messages(session string) []hook.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []hook.Message
	for _, e := range s.messages {
		if e.m.SessionID == session {
			ms = append(ms, e.m)
		}
	}
	slices.SortFunc(ms, inOrder)
	return ms
}

// Since returns the messages that changed after the change news, and the number of the last change, above
// 0. Pass 0 for the number alone.
func (s *Store) Since(news uint64) ([]hook.Message, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []hook.Message
	for _, e := range s.messages {
		if news > 0 && e.news > news {
			ms = append(ms, e.m)
		}
	}
	slices.SortFunc(ms, inOrder)
	return ms, s.news
}

// inOrder is the order in which messages of one session are handed over.
func inOrder(a, b hook.Message) int {
	if c := a.Steps[0].At.Compare(b.Steps[0].At); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// advance records a step of a message that is in one of the states from. It reports whether it did: false
// without an error says that the message is in another state by now.
func (s *Store) advance(ctx context.Context, id string, from []hook.MessageState, to hook.MessageState, way, why string) (bool, error) {
	return s.step(ctx, id, in(from), func(m *hook.Message) {
		if way != "" {
			m.Way = way
		}
	}, hook.MessageStep{State: to, Why: why})
}

// advanceAs is advance of a message that is as it was when somebody looked where it is: what was found out counts for
// nothing once another broker has handed it over again.
func (s *Store) advanceAs(ctx context.Context, was *hook.Message, to hook.MessageState, why string) (bool, error) {
	return s.step(ctx, was.ID, func(m *hook.Message) bool { return m.State == was.State && len(m.Steps) == len(was.Steps) },
		func(*hook.Message) {}, hook.MessageStep{State: to, Why: why})
}

// in says of a message whether it is in one of the states.
func in(states []hook.MessageState) func(*hook.Message) bool {
	return func(m *hook.Message) bool { return slices.Contains(states, m.State) }
}

// step is advance with any condition and change of the message. The step is of now if its time is not between the last one
// and now.
func (s *Store) step(ctx context.Context, id string, may func(*hook.Message) bool, change func(*hook.Message), to hook.MessageStep) (bool, error) {
	s.mu.Lock()
	e := s.messages[id]
	if e == nil || !may(&e.m) {
		s.mu.Unlock()
		return false, nil
	}
	m, at, rev := e.m, e.at, e.rev
	s.mu.Unlock()
	m.State, m.Write = to.State, rand.Text()
	change(&m)
	if now := time.Now().UTC(); to.At.Before(m.Steps[len(m.Steps)-1].At) || to.At.After(now) {
		to.At = now
	}
	m.Steps = append(slices.Clone(m.Steps), to)
	value, err := encode(m, at)
	if err != nil {
		return false, err
	}
	newRev, err := s.cfg.KV.Update(ctx, prefix+id, value, rev)
	if err != nil {
		// Somebody else may have been first, or it was written all the same: the KV knows.
		have, haveRev, getErr := s.cfg.KV.Get(context.WithoutCancel(ctx), prefix+id)
		if getErr != nil || haveRev == rev {
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		s.kv.Offer(prefix+id, have, haveRev)
		return slices.Equal(have, value), nil // by its Write, nobody else's
	}
	s.kv.Offer(prefix+id, value, newRev)
	s.mu.Lock()
	s.silent = false
	if e := s.messages[id]; e != nil {
		e.rec.heard = time.Time{} // it is for this broker to record it
	}
	s.mu.Unlock()
	s.toRecordNow()
	return true, nil
}

// unrecorded logs, once until it works again, that a step could not be recorded. It is tried again.
func (s *Store) unrecorded(err error) {
	s.mu.Lock()
	logged := s.silent
	s.silent = true
	s.mu.Unlock()
	if !logged {
		s.cfg.Logf("a step of a message could not be recorded, and is tried again: %v", err)
	}
}
