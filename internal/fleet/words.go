package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
	"assent/internal/text/digest"
)

// words are what is destroyed of a message when it is forgotten: the text, and what was signed with it, by which a
// short text could be guessed. They are written once, before the message, under a key of Config.Texts.
type words struct {
	Prompt       string             `json:"prompt"`
	Signature    string             `json:"signature,omitempty"`
	Verification *hook.Verification `json:"verification,omitempty"`
	// Salt goes with the words, so that their digest, which stays, tells nobody anything.
	Salt string `json:"salt"`
	// At is when they were written: what no message names is removed after a while.
	At time.Time `json:"at"`

	digest string // of the value that they stood in
}

// orphaned is after how long words are removed that no message names: a broker was killed between the two, or another
// message had the id.
const orphaned = time.Hour

// place is where the words of a message are; the zero place: in its record, as in those of earlier releases.
type place struct {
	Words  string `json:"words"`  // key in Config.Texts
	Digest string `json:"digest"` // of the value of that key
}

// record is what the KV has of a message whose words are elsewhere. Releases that do not know this form leave it alone:
// nothing is handed over by them without its text.
type record struct {
	Message *hook.Message `json:"message"` // without its words
	place
}

// encode is what the KV is to have of m.
func encode(m hook.Message, at place) (value []byte, err error) {
	if at == (place{}) {
		value, err = json.Marshal(m)
	} else {
		m.Prompt, m.Signature, m.Verification = "", "", nil
		value, err = json.Marshal(record{&m, at})
	}
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return value, nil
}

func decode(value []byte) (m hook.Message, at place, err error) {
	var r record
	if err := json.Unmarshal(value, &r); err != nil {
		return m, at, err
	}
	if r.Message != nil {
		m = *r.Message
		if r.place != (place{}) { // whose digest says which words are its own
			m.Prompt, m.Signature, m.Verification = "", "", nil
		}
		return m, r.place, nil
	}
	return m, at, json.Unmarshal(value, &m)
}

// blank drops what must not be kept in memory any more of words that are forgotten. It does nothing to nil.
func (w *words) blank() {
	if w != nil {
		w.Prompt, w.Signature, w.Verification, w.Salt, w.digest = "", "", nil, "", ""
	}
}

// joinLocked gives a message its words, if they are here and it may have them.
func (s *Store) joinLocked(e *entry) {
	w := s.words[e.at.Words]
	switch {
	case w == nil:
	case e.m.Forgotten != nil:
		w.blank()
	case w.digest == e.at.Digest:
		e.m.Prompt, e.m.Signature, e.m.Verification = w.Prompt, w.Signature, w.Verification
	}
}

// absent says whether the words of a message are elsewhere, and have not come.
func (e *entry) absent() bool {
	return e.at != (place{}) && e.m.Forgotten == nil && e.m.Prompt == ""
}

// placeOf is where the words of a message are.
func (s *Store) placeOf(id string) (at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.messages[id]; e != nil {
		at = e.at
	}
	return at
}

// applyWords takes what Config.Texts has under one key.
func (s *Store) applyWords(key string, value []byte, _ uint64) func() {
	var w words
	if value != nil && json.Unmarshal(value, &w) != nil {
		s.cfg.Logf("the text of a message is unreadable in the store, and left alone: %s", key)
		return nil
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
	s.mu.Lock()
	defer s.mu.Unlock()
	if value == nil {
		delete(s.words, key)
		return nil
	}
	w.digest = digest.Of(value)
	s.words[key] = &w
	e := s.messages[id]
	if e == nil || e.at.Words != key {
		return nil
	}
	s.joinLocked(e)
	if e.m.Prompt == "" {
		return nil
	}
	s.news++
	e.news = s.news
	s.wakeUp()
	s.toRecordNow()
	return s.changed
}

// keep writes the words of a message, if it has any and there is a place for them.
func (s *Store) keep(ctx context.Context, m *hook.Message) (place, error) {
	if s.texts == nil || m.Prompt == "" {
		return place{}, nil
	}
	value, err := json.Marshal(words{Prompt: m.Prompt, Signature: m.Signature, Verification: m.Verification, Salt: rand.Text(), At: time.Now().UTC()})
	if err != nil {
		return place{}, fmt.Errorf("encode the text of a message: %w", err)
	}
	key := prefix + m.ID + "." + rand.Text() // nobody else writes there, whoever has the same id
	rev, err := s.cfg.Texts.Create(ctx, key, value)
	if err != nil {
		return place{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.texts.Offer(key, value, rev)
	return place{key, digest.Of(value)}, nil
}

// whole is Message, which reads the words itself if the news of them is still on its way.
func (s *Store) whole(ctx context.Context, id string) (hook.Message, error) {
	key := ""
	s.mu.Lock()
	if e := s.messages[id]; e != nil && e.absent() {
		key = e.at.Words
	}
	s.mu.Unlock()
	if key != "" && s.texts != nil {
		if value, rev, err := s.cfg.Texts.Get(ctx, key); err == nil {
			s.texts.Offer(key, value, rev)
		}
	}
	return s.Message(id)
}

// erase destroys words. Those that are not there are no error.
func (s *Store) erase(ctx context.Context, at place) error {
	if at == (place{}) {
		return nil
	}
	if s.texts == nil {
		return fmt.Errorf("%w: the NATS server does not let the broker reach the texts of messages", ErrUnavailable)
	}
	if _, err := s.cfg.Texts.Delete(ctx, at.Words); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.texts.Offer(at.Words, nil, 0)
	return nil
}

// leftWords are words that a broker did not come to erase: of messages that were forgotten, and of none.
func (s *Store) leftWords(now time.Time) (left []place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, w := range s.words {
		id, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
		e := s.messages[id]
		named := e != nil && e.at.Words == key
		if named && e.m.Forgotten != nil || !named && now.Sub(w.At) > orphaned {
			left = append(left, place{Words: key})
		}
	}
	return left
}

// Forget removes the messages of a session, and ends those that are on their way. Of one that could be sent
// again, because its time is not over, all but its words stays so long.
func (s *Store) Forget(ctx context.Context, session string) error {
	var errs []error
	var ids []string
	now := time.Now()
	for _, m := range s.Messages(session) {
		ids = append(ids, m.ID)
		if past(&m, now) {
			errs = append(errs, s.remove(ctx, m.ID))
		} else {
			errs = append(errs, s.blank(ctx, m.ID, nil))
		}
	}
	return errors.Join(append(errs, s.forgetEntries(ctx, ids...))...)
}

// ForgetMessage removes the words of one message, because by wants it; what happened to the message stays as long as
// without that. One that nobody has taken is refused so. ErrWorking: its turn is not over; ErrNotFound; ErrUnavailable: the
// same can be asked for again.
func (s *Store) ForgetMessage(ctx context.Context, id string, by hook.Approver) (hook.Message, error) {
	if _, err := s.Message(id); err != nil {
		return hook.Message{}, err
	}
	if err := s.blank(ctx, id, &by); err != nil {
		return hook.Message{}, err
	}
	return s.Message(id)
}

// blank removes the words of a message, and ends it. Its id stays taken: who has what a device once signed
// could send it again, and have it handed over a second time. by is who wants that of this one message; nil: it goes
// with its session, or makes room.
func (s *Store) blank(ctx context.Context, id string, by *hook.Approver) error {
	const attempts = 5 // against its own steps
	var last error
	for range attempts {
		s.mu.Lock()
		e := s.messages[id]
		if e == nil {
			s.mu.Unlock()
			return nil
		}
		m, at, rev := e.m, e.at, e.rev
		done := m.Forgotten != nil || m.Prompt == "" && at == (place{})
		s.mu.Unlock()
		if done {
			return s.rid(ctx, id, at) // it may have been given up between the two
		}
		if by != nil && (m.State == hook.MessageTaken || m.State == hook.MessageStarted) {
			return ErrWorking
		}
		m.Prompt, m.Signature, m.Verification, m.Write = "", "", nil, rand.Text()
		m.Forgotten = &hook.Forgotten{At: time.Now().UTC(), By: by}
		if to := over[m.State]; to != "" {
			m.State = to
			m.Steps = append(slices.Clone(m.Steps), hook.MessageStep{State: to, At: m.Forgotten.At, Why: "forgotten"})
		}
		value, err := encode(m, at)
		if err != nil {
			return err
		}
		newRev, err := s.cfg.KV.Update(ctx, prefix+id, value, rev)
		if err == nil {
			s.kv.Offer(prefix+id, value, newRev)
			return s.rid(ctx, id, at)
		}
		last = err
		if value, rev, err = s.cfg.KV.Get(ctx, prefix+id); err == nil {
			s.kv.Offer(prefix+id, value, rev) // a step came first
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, last)
}

// rid destroys the words of a message that was blanked and, where somebody wanted that of this one message, what the record has
// of it: its signature, by which a short text could be guessed.
func (s *Store) rid(ctx context.Context, id string, at place) error {
	if err := s.erase(ctx, at); err != nil || s.cfg.Record == nil {
		return err
	}
	s.mu.Lock()
	e := s.messages[id]
	wanted := e != nil && e.rids()
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	if err := s.recordOne(ctx, id); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// over is how a message ends whose session, or text, is no more.
var over = map[hook.MessageState]hook.MessageState{ // read-only
	hook.MessageSent: hook.MessageRefused, hook.MessageTaken: hook.MessageLost, hook.MessageStarted: hook.MessageEnded,
}

// remove removes a message, and then its words.
func (s *Store) remove(ctx context.Context, id string) error {
	at := s.placeOf(id)
	rev, err := s.cfg.KV.Delete(ctx, prefix+id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.kv.Offer(prefix+id, nil, rev)
	return s.erase(ctx, at)
}
