package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/store/retry"
)

// Every step of a message is an entry of the record, and so of the tree over it: whoever verifies that knows who sent what to
// which agent, and when it was handed over, without a word of the broker. That it was sent is recorded before the KV has it,
// and nothing is handed over of which the record does not say so. The steps that follow come after their write to the KV, which
// says which broker made them: they are read from there, so any broker can record them, also one that begins later. The id of
// such an entry is made of the message and the step's place, and it goes behind the one before by compare-and-set: it stands
// there once.

// Record is the record of requests, as far as messages stand in it.
type Record interface {
	// Records returns what stands in it under an id, the oldest first.
	Records(ctx context.Context, id string) ([]hook.Record, error)
	// Append adds rec behind what has the sequence after under its id, 0 for nothing, and fails where that is not the last.
	Append(ctx context.Context, rec hook.Record, after uint64) (seq uint64, err error)
}

const (
	// recordTime bounds the record of the steps of one message.
	recordTime = 30 * time.Second
	// othersTime is how long the broker that made a step has to record it, before others do.
	othersTime = 5 * time.Second
)

// errUnread says that the record does not answer.
var errUnread = errors.New("the record cannot be read")

// recorded is what is known of a message in the record. Guarded by Store.mu.
type recorded struct {
	looked bool   // the rest is known
	none   bool   // it has no entries, and gets none: a release of before handed it over, or they were removed
	steps  int    // how many of its steps stand there
	last   uint64 // sequence of the last entry
	heard  time.Time
}

// recordSent records that a message was sent. ErrDuplicate: another one was, with this id, or this one long ago; ErrUnavailable.
func (s *Store) recordSent(ctx context.Context, m *hook.Message) error {
	if s.cfg.Record == nil {
		return nil
	}
	rec := sentRecord(m)
	seq, err := s.cfg.Record.Append(ctx, rec, 0)
	if err != nil {
		// Somebody may have been first, perhaps this very message in a call that nobody heard the end of.
		if seq, err = s.sentBefore(ctx, m, rec.ID, err); err != nil || seq == 0 {
			return err
		}
	}
	s.mu.Lock()
	s.sent[m.ID] = recorded{looked: true, steps: 1, last: seq}
	s.mu.Unlock()
	return nil
}

// sentBefore is the entry that says that a message was sent, where it could not be appended because of cause; 0 where the KV has a
// message of this id, and says what it is.
func (s *Store) sentBefore(ctx context.Context, m *hook.Message, id string, cause error) (seq uint64, err error) {
	recs, err := s.cfg.Record.Records(context.WithoutCancel(ctx), hook.MessageRecord(m.ID))
	if err != nil || len(recs) == 0 {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}
	if _, _, err := s.cfg.KV.Get(context.WithoutCancel(ctx), prefix+m.ID); err == nil {
		return 0, nil // another broker took it, and the news of that is on its way
	}
	first := &recs[0]
	switch {
	case first.ID == id:
	case len(recs) > 1, first.Message == nil || first.Message.Sent == nil, first.By == nil || first.By.ID != m.By.ID,
		!sameSent(*first.Message.Sent, auth.SentOf(*m)):
		return 0, ErrDuplicate // what was handed over already is not handed over again, whatever the KV has lost
	}
	return first.Seq, nil
}

// sameSent says whether two are one message: it may have been signed twice.
func sameSent(a, b hook.SentMessage) bool {
	return a.Agent == b.Agent && a.SessionID == b.SessionID && a.HostID == b.HostID && a.Kind == b.Kind && a.PromptSHA256 == b.PromptSHA256 &&
		a.ExpiresAt == b.ExpiresAt && sameOptions(a.Options, b.Options)
}

// sameOutside is sameSent of all that stands in the KV.
func sameOutside(a, b *hook.Message) bool {
	return a.Agent == b.Agent && a.SessionID == b.SessionID && a.HostID == b.HostID && a.Kind == b.Kind && a.ExpiresAt == b.ExpiresAt && sameOptions(a.Options, b.Options)
}

// sentRecord is the entry of a message that is sent now.
func sentRecord(m *hook.Message) hook.Record {
	rec := stepRecord(m, 0)
	rec.ID, rec.Time = uuid.NewString(), time.Now().UTC() // another one with the message's id is another entry
	sent, by := auth.SentOf(*m), m.By
	rec.Message.Sent, rec.By = &sent, &by
	return rec
}

// stepRecord is the entry of a step of a message, by whichever broker.
func stepRecord(m *hook.Message, n int) hook.Record {
	step := m.Steps[n]
	e := hook.MessageEntry{N: n, At: step.At}
	switch step.State {
	case hook.MessageTaken:
		e.Way = m.Way
	case hook.MessageEnded:
		e.Outcome = m.Outcome
	}
	id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "assent message %s step %d", m.ID, n))
	return hook.Record{ID: id.String(), RequestID: hook.MessageRecord(m.ID), Step: step.State.RecordStep(), Time: time.Now().UTC(), Reason: step.Why, Message: &e}
}

// inRecord says whether the record has that the message was sent: nothing is handed over before. Store.mu is held.
func (s *Store) inRecord(e *entry) bool {
	return s.cfg.Record == nil || e.rec.looked && !e.rec.none
}

// isRecorded says whether the record has all of a message that it is to have. Store.mu is held.
func (s *Store) isRecorded(e *entry) bool {
	return s.cfg.Record == nil || e.rec.none || e.rec.looked && e.rec.steps >= len(e.m.Steps)
}

// toRecordNow has recordSteps look at once.
func (s *Store) toRecordNow() {
	select {
	case s.toRecord <- struct{}{}:
	default:
	}
}

// recordSteps writes the entries of steps, until ctx is done. What fails is tried again for as long as the message is kept, at
// most once a minute.
func (s *Store) recordSteps(ctx context.Context) {
	retry.Loop(ctx, s.toRecord, s.recordDue, func(err error) {
		s.cfg.Logf("steps of messages could not be recorded yet; trying again: %v", err)
	})
}

// recordDue records what is to be recorded now. wait is when there will be more; 0: not before news.
func (s *Store) recordDue(ctx context.Context) (wait time.Duration, err error) {
	now := time.Now()
	var due []string
	s.mu.Lock()
	for id, e := range s.messages {
		r := &e.rec
		if r.none || r.looked && r.steps >= len(e.m.Steps) && !e.rids() {
			continue
		}
		if d := r.heard.Add(othersTime).Sub(now); r.looked && d > 0 { // its own broker does it
			if wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		due = append(due, id)
	}
	first := func(id string) *hook.Message { return &s.messages[id].m }
	slices.SortFunc(due, func(a, b string) int { // who waits for it comes first
		x, y := first(a), first(b)
		if x.State.Over() != y.State.Over() {
			if y.State.Over() {
				return -1
			}
			return 1
		}
		return inOrder(*x, *y)
	})
	s.mu.Unlock()
	var errs []error
	for unread := 0; len(due) > 0 && unread < 3 && ctx.Err() == nil; due = due[1:] {
		err := s.recordOne(ctx, due[0])
		if errors.Is(err, errUnread) {
			unread++ // it is the record that does not work, and not one message
		}
		errs = append(errs, err)
	}
	return wait, errors.Join(errs...)
}

// rids says whether somebody wanted the words of this message gone, so that its entries go, too. Store.mu is held.
func (e *entry) rids() bool { return e.m.Forgotten != nil && e.m.Forgotten.By != nil }

// recordOne writes the entries that are missing of a message, and removes all where it is to be forgotten.
func (s *Store) recordOne(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	const attempts = 5 // against other brokers
	var last error
	for failed := 0; failed < attempts; {
		s.mu.Lock()
		e := s.messages[id]
		if e == nil {
			s.mu.Unlock()
			return nil
		}
		m, r, rids, absent := e.m, e.rec, e.rids(), e.absent()
		s.mu.Unlock()
		switch {
		case r.none, r.looked && r.steps >= len(m.Steps) && !rids:
			return nil
		case r.looked && r.steps >= len(m.Steps):
			return s.forgetEntries(ctx, id)
		case r.looked:
			seq, err := s.cfg.Record.Append(ctx, stepRecord(&m, r.steps), r.last)
			if err != nil {
				failed, last, r.looked = failed+1, err, false // what stands there says what happened
			} else {
				r.steps, r.last = r.steps+1, seq
			}
			s.setRecorded(id, r)
		case m.State == hook.MessageSent && absent:
			return nil // its words are on their way, and wake it
		default:
			found, err := s.lookUp(ctx, &m)
			if err != nil {
				failed, last = failed+1, err
				continue
			}
			if found.heard = r.heard; !found.looked {
				return nil
			}
			s.setRecorded(id, found)
		}
	}
	return last
}

// lookUp reads what the record has of a message. Of one that a broker of before took and nobody has handed over, it is
// recorded now that it was sent.
func (s *Store) lookUp(ctx context.Context, m *hook.Message) (r recorded, err error) {
	recs, err := s.cfg.Record.Records(ctx, hook.MessageRecord(m.ID))
	if err != nil {
		return r, fmt.Errorf("%w: %w", errUnread, err)
	}
	r = standing(recs)
	switch {
	case m.State != hook.MessageSent:
		r.none = len(recs) == 0
	case len(recs) > 0:
		if e := recs[0].Message; e == nil || e.Sent == nil || !sameSent(*e.Sent, auth.SentOf(*m)) {
			s.cfg.Logf("the message %s is not the one that was recorded under its id; it is handed to nobody", m.ID)
			r.none = true
		}
	case m.Recorded:
		r.none = true // it was removed by a broker that was killed before it had ended the message: it is sent neither now nor a second time
	case !s.cfg.May(m.By):
		r.looked = false // it is refused, and then there is nothing to record
	default:
		if r.last, err = s.cfg.Record.Append(ctx, sentRecord(m), 0); err != nil {
			return recorded{}, err
		}
		r.steps = 1
	}
	return r, nil
}

// standing is what entries of a message say.
func standing(recs []hook.Record) recorded {
	r := recorded{looked: true}
	for i := range recs {
		if recs[i].Message != nil {
			r.steps = max(r.steps, recs[i].Message.N+1)
		}
		r.last = recs[i].Seq
	}
	return r
}

// setRecorded takes what is known of a message in the record, and tells who waits for that.
func (s *Store) setRecorded(id string, r recorded) {
	s.mu.Lock()
	e := s.messages[id]
	var tell func()
	if e != nil {
		had := s.inRecord(e)
		e.rec = r
		if !had && s.inRecord(e) && e.m.State == hook.MessageSent {
			tell = s.changed // its host may be handed it now
			s.wakeUp()
		}
	}
	s.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// forgetEntries removes the entries of messages from the record. Those that are not there are no error.
func (s *Store) forgetEntries(ctx context.Context, ids ...string) error {
	if s.cfg.Record == nil || s.cfg.ForgetEntries == nil || len(ids) == 0 {
		return nil
	}
	under := make([]string, len(ids))
	for i, id := range ids {
		under[i] = hook.MessageRecord(id)
	}
	if err := s.cfg.ForgetEntries(ctx, under); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if e := s.messages[id]; e != nil {
			e.rec = recorded{looked: true, none: true}
		}
	}
	return nil
}
