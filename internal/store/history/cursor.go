package history

import (
	"context"
	"fmt"
	"time"

	"assent/internal/feed"
	"assent/internal/store/follow"
)

// cursor is up to where the two streams are in the file.
type cursor struct {
	event   uint64 // sequence of the last event that is in the file
	record  uint64 // of the last record
	after   uint64 // greatest After of the records so far
	clock   int64  // greatest time of the events so far, in milliseconds since 1970, not beyond now
	eventIn int64  // when the stream of events was made, in nanoseconds since 1970; 0: not known
	// recordIn is when that of the records was made.
	recordIn int64
}

func (c cursor) events() follow.Cursor  { return c.in(c.event, c.eventIn) }
func (c cursor) records() follow.Cursor { return c.in(c.record, c.recordIn) }

func (c cursor) in(seq uint64, made int64) follow.Cursor {
	f := follow.Cursor{Seq: seq}
	switch {
	case made != 0:
		f.Made = time.Unix(0, made)
	case c.clock != 0: // the layouts before 9 do not say; the last event came when the stream was there
		f.Stored = time.UnixMilli(c.clock + 1)
	}
	return f
}

func (w *writer) loadCursor() error {
	c := &w.cursor
	return w.d.conn.QueryRowContext(context.Background(), "SELECT event, record, after, clock, event_stream, record_stream FROM cursor").
		Scan(&c.event, &c.record, &c.after, &c.clock, &c.eventIn, &c.recordIn)
}

// saveCursor belongs to the transaction that stores what the cursor stands behind.
func (w *writer) saveCursor() error {
	c := w.cursor
	return w.run(w.do.cursor, c.event, c.record, c.after, c.clock, feed.Version, c.eventIn, c.recordIn)
}

// resume finds where to go on in both streams, and waits until they answer. What is in the file can be
// read meanwhile.
func (h *History) resume(ctx context.Context, w *writer) error {
	for lastLogged := ""; ; pause(ctx, recheck) {
		if err := h.between(ctx, w); err != nil {
			return err
		}
		events, err := h.cfg.EventsNow(ctx)
		if err == nil {
			var records follow.Stream
			if records, err = h.cfg.RecordsNow(ctx); err == nil {
				return w.resume(events, records)
			}
		}
		if ctx.Err() == nil && err.Error() != lastLogged {
			lastLogged = err.Error()
			h.cfg.Logf("history: the streams do not answer, waiting for them: %v", err)
		}
	}
}

// resume moves the cursor to where the streams as they are go on. What the file has of a stream that
// was made anew stays, and is not taken for what the new one says.
func (w *writer) resume(events, records follow.Stream) error {
	was := w.cursor
	event, foundEvents := was.events().Resume(events)
	record, foundRecords := was.records().Resume(records)
	if foundRecords == follow.Shorter { // it loses nothing by itself: it was put back, and goes on with others
		record.Seq = 0
	}
	for _, text := range []string{
		foundEvents.Explain("the event stream", was.events(), events),
		foundRecords.Explain("the record", was.records(), records),
	} {
		if text != "" {
			w.cfg.Logf("history: %s", text)
		}
	}
	w.cursor.event, w.cursor.eventIn = event.Seq, event.Made.UnixNano()
	w.cursor.record, w.cursor.recordIn = record.Seq, record.Made.UnixNano()
	if foundEvents == follow.Anew || record.Seq < was.record {
		w.cursor.after = 0
	}
	if w.cursor == was {
		return nil
	}
	if err := w.begin(); err != nil {
		return err
	}
	if foundEvents == follow.Anew {
		w.states.init() // they hold sequences
		w.gaps = nil
		for _, text := range []string{
			"DELETE FROM events",
			"DELETE FROM gaps",
			"UPDATE sessions SET event = 0",
			"UPDATE cursor SET former = (SELECT coalesce(max(id), 0) FROM feed)",
		} {
			if err := w.d.exec(text); err != nil {
				return fmt.Errorf("begin in another stream: %w", w.wrap(err))
			}
		}
	}
	if err := w.saveCursor(); err != nil {
		return err
	}
	return w.end()
}
