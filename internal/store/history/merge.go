package history

import (
	"context"
	"fmt"
	"time"

	"assent/internal/hook"
)

// The one order of the two streams: event n, then the records whose After is n as they stand in
// APPROVALS, then event n+1. An After lower than one before it counts as that one. So an event
// can be folded when no record that stands before it can still come, and a record when all
// events it stands behind were read. Neither waits for a stream in which nothing happens:
// Settled says up to where records are to be waited for, EventBounds up to where events are.

// step is one event or record in that order. It is comparable.
type step struct {
	event  uint64 // sequence; 0 for a record
	record uint64
}

func (s step) String() string {
	if s.record != 0 {
		return fmt.Sprintf("record %d", s.record)
	}
	return fmt.Sprintf("event %d", s.event)
}

// merge puts the two streams in order. It belongs to one goroutine.
type merge struct {
	cfg     Config
	events  *queue[hook.Event]
	records *queue[hook.Record]

	// How far was taken from the queues.
	read  uint64 // event
	rec   uint64 // record
	after uint64 // greatest After of the records up to next
	// next is the record at the head of the queue whose After is counted in after already; 0
	// for none.
	next uint64

	// No record that stands before event settled will come behind record upTo.
	settled, upTo uint64
	// There is no event up to missing that was not read: a record that stands behind one of
	// them need not wait for it.
	missing uint64

	lastLogged string // the last complaint about the streams
}

// recheck is how long merge waits for what a stream promised before it asks the stream again:
// it may have been removed meanwhile.
const recheck = 200 * time.Millisecond

func newMerge(cfg Config, from cursor) *merge {
	return &merge{
		cfg: cfg,
		events: newQueue(func(e hook.Event) int {
			return 256 + len(e.Raw)
		}),
		records: newQueue(func(r hook.Record) int {
			n := 512
			if r.Request != nil {
				n += len(r.Request.Raw) + len(r.Request.ToolInput) + len(r.Request.Suggestions)
			}
			if d := r.Decision; d != nil {
				n += len(d.Message) + len(d.UpdatedInput) + len(d.UpdatedPermissions)
			}
			return n
		}),
		read: from.event, rec: from.record, after: from.after,
	}
}

// ready reports whether the next step can be folded at once, and which of the two it is. If
// not, wait waits for it.
func (m *merge) ready() (e hook.Event, r hook.Record, ok bool) {
	e, haveEvent := m.events.first()
	r, haveRecord := m.records.first()
	if haveRecord && m.next != r.Seq {
		if r.Seq <= m.rec { // the stream was put back
			m.after = 0
		}
		m.next, m.after = r.Seq, max(m.after, r.After)
	}
	switch {
	case haveEvent && haveRecord && m.after < e.Seq,
		!haveEvent && haveRecord && m.after <= max(m.read, m.missing):
		return hook.Event{}, r, true
	case haveEvent && haveRecord,
		haveEvent && m.settled >= e.Seq && m.rec >= m.upTo:
		return e, hook.Record{}, true
	}
	return hook.Event{}, hook.Record{}, false
}

// took says that the step that ready returned is folded.
func (m *merge) took(e hook.Event, r hook.Record) {
	if e.Seq == 0 {
		m.rec, m.next = r.Seq, 0
		m.records.drop()
		return
	}
	if e.Seq <= m.read { // the stream lost its end
		m.settled, m.missing = 0, 0
	}
	m.read = e.Seq
	m.events.drop()
}

// wait does what makes ready true, or waits until something new was read.
func (m *merge) wait(ctx context.Context, other <-chan struct{}) error {
	newest, haveEvent := m.events.last()
	_, haveRecord := m.records.first()
	if haveEvent && !haveRecord && m.settled < newest.Seq {
		upTo, err := m.cfg.Settled(ctx, newest.Seq)
		if err != nil {
			return m.away(ctx, err)
		}
		m.settled, m.upTo, m.lastLogged = newest.Seq, upTo, ""
		return nil
	}
	var again <-chan time.Time
	if haveEvent || haveRecord {
		t := time.NewTimer(recheck)
		defer t.Stop()
		again = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-m.events.wake:
	case <-m.records.wake:
	case <-other:
	case <-again:
		return m.ask(ctx)
	}
	return nil
}

// ask finds out whether what merge waits for is there at all.
func (m *merge) ask(ctx context.Context) error {
	if _, haveEvent := m.events.first(); haveEvent {
		m.settled = 0 // asks Settled again how far the records reach
		return nil
	}
	_, newest, err := m.cfg.EventBounds(ctx)
	if err != nil {
		return m.away(ctx, err)
	}
	if newest <= m.read {
		m.missing = m.after
	}
	m.lastLogged = ""
	return nil
}

// away waits a little for streams that do not answer. What is in the file can be read meanwhile.
func (m *merge) away(ctx context.Context, err error) error {
	if ctx.Err() == nil && err.Error() != m.lastLogged {
		m.lastLogged = err.Error()
		m.cfg.Logf("history: the streams do not answer, waiting for them: %v", err)
	}
	pause(ctx, recheck)
	return ctx.Err()
}
