package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"assent/internal/hook"
)

// silentHost is after how long a message that a host has, and says nothing of, is lost.
const silentHost = 48 * time.Hour

// sweepEvery is how often messages that are over for long are removed.
const sweepEvery = time.Hour

// Run hands messages over, records what events proved and ends what has no time left, until ctx is done.
// It returns ctx's error.
func (s *Store) Run(ctx context.Context) error {
	if s.cfg.Record != nil {
		var recording sync.WaitGroup
		recording.Go(func() { s.recordSteps(ctx) })
		defer recording.Wait()
	}
	sweep := time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		if !now.Before(sweep) {
			s.sweep(ctx, now)
			sweep = now.Add(sweepEvery)
		}
		next := s.pass(ctx, now)
		if next.IsZero() || next.After(sweep) {
			next = sweep
		}
		timer := time.NewTimer(max(time.Until(next), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return ctx.Err()
}

// noSender is why a message is refused whose sender may not send any more.
const noSender = "its sender was removed"

// task is one thing that Run does.
type task struct {
	id      string
	session string
	from    []hook.MessageState
	to      hook.MessageState // empty: hand it over through the inbox, or look where it is
	look    bool
	why     string
	message hook.Message
}

// pass does what is to be done now, and returns when there is more to do; the zero time: not before news.
func (s *Store) pass(ctx context.Context, now time.Time) (next time.Time) {
	tasks, next := s.tasks(now)
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			return next
		}
		if t.to == "" {
			do := s.deliver
			if t.look {
				do = s.settle
			}
			if retry := do(ctx, t); !retry.IsZero() {
				sooner(retry)
			}
			continue
		}
		if _, err := s.advance(ctx, t.id, t.from, t.to, "", t.why); err != nil {
			s.unrecorded(err)
			sooner(now.Add(time.Second))
			continue
		}
		s.mu.Lock()
		if e := s.messages[t.id]; e != nil && e.due == t.to {
			e.due = ""
		}
		s.mu.Unlock()
	}
	return next
}

// tasks finds what is to be done at now, and when something comes due by itself.
func (s *Store) tasks(now time.Time) (tasks []task, next time.Time) {
	barred := s.barred()
	s.mu.Lock()
	defer s.mu.Unlock()
	due := func(t time.Time) bool {
		if !t.After(now) {
			return true
		}
		if next.IsZero() || t.Before(next) {
			next = t
		}
		return false
	}
	var all []*entry
	for _, e := range s.messages {
		if !e.m.State.Over() || e.due != "" || !e.seen.IsZero() && e.awaits() {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return inOrder(a.m, b.m) })
	busy := map[string]bool{} // sessions with a message whose receipt is waited for, or that is handed over now
	for _, e := range all {
		m := &e.m
		x := s.sessions[m.SessionID]
		if !e.seen.IsZero() && e.awaits() && due(e.seen.Add(seenTime)) {
			e.due = hook.MessageStarted
		}
		switch {
		case e.due != "":
			t := task{id: m.ID, from: before(e.due), to: e.due}
			if e.due == hook.MessageRefused || e.due == hook.MessageLost {
				t.why = "the session ended"
			}
			if e.due == hook.MessageEnded && (m.State == hook.MessageTaken || m.State == hook.MessageLost) {
				t.to, t.from = hook.MessageStarted, before(hook.MessageStarted) // step by step
			}
			tasks = append(tasks, t)
			busy[m.SessionID] = busy[m.SessionID] || e.due == hook.MessageStarted
		case toHost(m) && m.State != hook.MessageSent:
			// its host knows
		case m.State == hook.MessageTaken:
			busy[m.SessionID] = true
			since := m.Steps[len(m.Steps)-1].At
			if x != nil && x.working && s.cfg.Gone(x.origin) {
				x.working, x.idle = false, now // it was killed: nothing tells of the end of its turn
			}
			if s.looks(e) {
				if due(e.look()) {
					tasks = append(tasks, task{id: m.ID, session: m.SessionID, look: true, message: *m})
				}
				if !e.blind {
					continue // the transcript says what became of it
				}
			}
			if !e.turnOver.IsZero() {
				since = e.turnOver
			} else if x != nil && x.working && (m.Way != hook.WayStop || e.answered) {
				due(now.Add(receiptTime)) // at its next boundary, or when its turn is over; it is looked at again
				continue
			}
			if e.turnOver.IsZero() && x != nil && x.idle.After(since) {
				since = x.idle
			}
			if due(since.Add(receiptTime)) {
				tasks = append(tasks, task{id: m.ID, from: []hook.MessageState{hook.MessageTaken}, to: hook.MessageLost, why: noReceipt})
			}
		case m.State == hook.MessageSent && expired(m, now):
			tasks = append(tasks, task{id: m.ID, from: []hook.MessageState{hook.MessageSent}, to: hook.MessageExpired})
		case m.State == hook.MessageSent && !s.cfg.May(m.By):
			tasks = append(tasks, task{id: m.ID, from: []hook.MessageState{hook.MessageSent}, to: hook.MessageRefused, why: noSender})
		case m.State == hook.MessageSent && barred[m.ID] != "":
			tasks = append(tasks, task{id: m.ID, from: []hook.MessageState{hook.MessageSent}, to: hook.MessageRefused, why: barred[m.ID]})
		case toHost(m), m.State == hook.MessageSent && !s.inRecord(e):
			if at, err := time.Parse(time.RFC3339, m.ExpiresAt); err == nil {
				due(at) // until then its host may come, or the record
			}
		case m.State == hook.MessageSent && e.absent():
			if at, err := time.Parse(time.RFC3339, m.ExpiresAt); err == nil {
				due(at) // until then it may come
			}
		case m.State == hook.MessageSent && !busy[m.SessionID]:
			busy[m.SessionID] = true
			if at, err := time.Parse(time.RFC3339, m.ExpiresAt); err == nil {
				due(at)
			}
			if m.Submitter != s.cfg.Self || x != nil && (!due(x.retry) || !due(x.lastTaken.Add(apart))) || !due(s.inboxRoom(m.SessionID, now)) {
				continue
			}
			tasks = append(tasks, task{id: m.ID, session: m.SessionID, message: *m})
		}
	}
	return tasks, next
}

// before are the states from which a step leads to another.
func before(to hook.MessageState) []hook.MessageState {
	switch to {
	case hook.MessageStarted:
		return []hook.MessageState{hook.MessageTaken, hook.MessageLost}
	case hook.MessageEnded:
		return []hook.MessageState{hook.MessageStarted}
	case hook.MessageLost:
		return []hook.MessageState{hook.MessageTaken}
	}
	return []hook.MessageState{hook.MessageSent}
}

// dial connects to the inbox of a session.
func (s *Store) dial(ctx context.Context, session string) (Line, error) {
	if s.cfg.Inbox == nil {
		return nil, ErrUnreachable
	}
	return s.cfg.Inbox(ctx, session)
}

// deliver hands a message over through the session's inbox, if it has one. It returns when that is to be
// tried again; the zero time: not by itself. The step is recorded first: a message may be lost then, never
// doubled.
func (s *Store) deliver(ctx context.Context, t task) (retry time.Time) {
	line, err := s.dial(ctx, t.session)
	if err != nil {
		retry = time.Now().Add(retryTime)
		s.mu.Lock()
		s.sessionLocked(t.session).retry = retry
		s.mu.Unlock()
		return retry
	}
	if s.bar(&t.message) != "" { // Run says so of it at once
		line.Close()
		s.wakeUp()
		return retry
	}
	taken, err := s.advance(ctx, t.id, []hook.MessageState{hook.MessageSent}, hook.MessageTaken, hook.WayInbox, "")
	if err != nil {
		s.unrecorded(err)
		retry = time.Now().Add(time.Second)
	}
	if !taken {
		line.Close()
		return retry
	}
	s.mu.Lock()
	s.sessionLocked(t.session).lastTaken = time.Now()
	s.mu.Unlock()
	if err := line.Send(t.id, content(&t.message)); err != nil {
		s.cfg.Logf("a message may not have reached its session: %v", err)
	}
	return retry
}

// remains says whether nothing is left of a message that is over but that it cannot be sent again, and that is certain
// without it by now.
func (e *entry) remains(now time.Time) bool {
	if e.m.Prompt != "" || !past(&e.m, now) {
		return false
	}
	if f := e.m.Forgotten; f != nil {
		return f.By == nil
	}
	return !e.absent()
}

// sweep removes messages that have been over for long, and those without a text that nobody can send again.
func (s *Store) sweep(ctx context.Context, now time.Time) {
	s.mu.Lock()
	var old, silent []string
	for id, e := range s.messages {
		if toHost(&e.m) && !e.m.State.Over() && e.m.State != hook.MessageSent && now.Sub(e.m.Steps[len(e.m.Steps)-1].At) > silentHost {
			silent = append(silent, id)
		}
		age := now.Sub(e.m.Steps[len(e.m.Steps)-1].At)
		if e.m.State.Over() && (age > keep || e.remains(now)) && (age > 2*keep || s.isRecorded(e)) {
			old = append(old, id)
		}
	}
	s.mu.Unlock()
	for _, id := range silent {
		if _, err := s.advance(ctx, id, []hook.MessageState{hook.MessageTaken, hook.MessageStarted}, hook.MessageLost, "", "its host said nothing more"); err != nil {
			s.unrecorded(err)
		}
	}
	for _, id := range old {
		if err := s.remove(ctx, id); err != nil {
			s.cfg.Logf("old messages could not be removed: %v", err)
			return
		}
	}
	for _, at := range s.leftWords(now) {
		if err := s.erase(ctx, at); err != nil {
			s.cfg.Logf("the texts of messages that were forgotten could not be removed: %v", err)
			return
		}
	}
}
