package fleet

import (
	"context"
	"time"

	"assent/internal/hook"
)

// Send records a message, with the members ID, Agent, SessionID, Kind, Prompt, ExpiresAt, By and what its
// sender signed, and has it handed over. The same message again is no error: it returns what became of it.
//
// A *hook.FieldError says what is wrong with it; a *WriterError that an agent of a host has the session; ErrStopped that
// nothing is sent now; ErrUnreachable that there is no way to the session now;
// ErrDuplicate, ErrTooMany and ErrUnavailable see there. Nothing is recorded then, but for
// ErrUnavailable, which may not know: the same message can be sent again.
func (s *Store) Send(ctx context.Context, m hook.Message) (hook.Message, error) {
	if err := check(&m, time.Now().UTC()); err != nil {
		return hook.Message{}, err
	}
	if have, err := s.whole(ctx, m.ID); err == nil {
		return same(have, m)
	}
	if s.cfg.Stopped() {
		return hook.Message{}, ErrStopped
	}
	if who := s.hostedBy(m.SessionID); who != "" {
		return hook.Message{}, &WriterError{who}
	}
	if err := s.makeRoom(ctx, len(m.Prompt)); err != nil {
		return hook.Message{}, err
	}
	line, err := s.dial(ctx, m.SessionID)
	if line != nil {
		line.Close()
	}
	if m.Submitter, err = s.admit(m.SessionID, err == nil); err != nil {
		return hook.Message{}, err
	}
	return s.record(ctx, m)
}

// same returns have if m is the same message.
func same(have, m hook.Message) (hook.Message, error) {
	if have.SessionID != m.SessionID || have.Prompt != m.Prompt || have.Agent != m.Agent || have.By.ID != m.By.ID || have.ExpiresAt != m.ExpiresAt ||
		have.Kind != m.Kind || have.HostID != m.HostID || !sameOptions(have.Options, m.Options) {
		return hook.Message{}, ErrDuplicate
	}
	return have, nil
}

func sameOptions(a, b *hook.MessageOptions) bool {
	var none hook.MessageOptions
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	return *a == *b
}

// check returns what is wrong with a message to a live session. One that does not say when it expires gets a time.
func check(m *hook.Message, now time.Time) error {
	if m.Kind != hook.MessagePrompt {
		return hook.BadField("kind", `want "prompt": resume and cancel are for agents that assent started`)
	}
	if m.Options != nil {
		return hook.BadField("options", "are for agents that assent started")
	}
	if m.HostID != "" {
		return hook.BadField("hostId", "is for agents of hosts")
	}
	if m.SessionID == "" || len(m.SessionID) > 256 {
		return hook.BadField("sessionId", "want the id of a session")
	}
	if err := checkText(m.Prompt); err != nil {
		return err
	}
	return checkTime(m, now)
}

// checkTime returns what is wrong with the id and the time of a message, and gives it a time if it has none.
func checkTime(m *hook.Message, now time.Time) error {
	if !hook.PlainToken(m.ID) {
		return hook.BadField("id", "want a UUID")
	}
	if m.ExpiresAt == "" {
		m.ExpiresAt = now.Add(DefaultExpiry).Format(time.RFC3339)
	}
	at, err := time.Parse(time.RFC3339, m.ExpiresAt)
	switch {
	case err != nil:
		return hook.BadField("expiresAt", "want a time in RFC 3339")
	case !at.After(now):
		return hook.BadField("expiresAt", "is over")
	case at.After(now.Add(MaxExpiry)):
		return hook.BadField("expiresAt", "is more than a day ahead")
	}
	return nil
}

// expired reports whether the time of a message is over. One whose time cannot be read has none.
func expired(m *hook.Message, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, m.ExpiresAt)
	return err != nil || !at.After(now)
}

// clocks is by how much the clocks of brokers may differ that share a record, and one clock from itself once it was set right.
const clocks = 5 * time.Minute

// past reports whether the time of a message is over by any broker's clock: from then on it cannot be sent again, wherever
// that is tried. As long as it can, its id has to stay taken.
func past(m *hook.Message, now time.Time) bool { return expired(m, now.Add(-clocks)) }

// admit says whether there is a way to the session and room in its queue, and whom its events come from.
func (s *Store) admit(id string, inbox bool) (submitter string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	switch {
	case inbox:
		submitter = s.cfg.Self
	case x == nil || !x.working || x.submitter == "" || s.cfg.Gone(x.origin):
		return "", ErrUnreachable
	default:
		submitter = x.submitter
	}
	waiting := 0
	for _, e := range s.messages {
		if e.m.SessionID == id && e.m.State == hook.MessageSent {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return "", ErrTooMany
	}
	return submitter, nil
}

// makeRoom removes the oldest messages that are over until one with a text of n bytes can be kept: those first
// whose time is over, then the texts of others, and these as a whole only where there are too many.
func (s *Store) makeRoom(ctx context.Context, n int) error {
	for {
		now := time.Now()
		s.mu.Lock()
		many, size := len(s.messages) >= maxKept, n
		for _, e := range s.messages {
			size += len(e.m.Prompt)
		}
		var first *entry
		good := false // that it could be sent again
		for _, e := range s.messages {
			if !e.m.State.Over() || e.due != "" {
				continue
			}
			again := !past(&e.m, now)
			if again && !many && e.m.Prompt == "" {
				continue
			}
			if first == nil || good && !again || good == again && inOrder(e.m, first.m) < 0 {
				first, good = e, again
			}
		}
		id := ""
		if first != nil {
			id = first.m.ID
		}
		s.mu.Unlock()
		var err error
		switch {
		case !many && size <= s.cfg.bytes:
			return nil
		case id == "":
			return ErrTooMany
		case good && !many:
			err = s.blank(ctx, id, nil)
		default:
			err = s.remove(ctx, id)
		}
		if err != nil {
			return err
		}
	}
}

// TakeBack ends a message that nobody has taken yet. ErrTaken: it was handed over; ErrNotFound.
func (s *Store) TakeBack(ctx context.Context, id string) (hook.Message, error) {
	if _, err := s.Message(id); err != nil {
		return hook.Message{}, err
	}
	done, err := s.advance(ctx, id, []hook.MessageState{hook.MessageSent}, hook.MessageRefused, "", "taken back")
	if err != nil {
		return hook.Message{}, err
	}
	m, err := s.Message(id)
	if err == nil && !done && m.State != hook.MessageRefused {
		err = ErrTaken
	}
	return m, err
}
