package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"assent/internal/feed"
	"assent/internal/hook"
)

// traces are what the streams hold of a session.
type traces struct {
	key      int64
	events   []uint64
	requests []string // and messages, by what the record calls them
}

// Forget removes a session up to now: its rows, its words in the index, its fold, a damaged file
// that was moved aside, and its messages in the streams. What the session does afterwards is a
// new session of the same name. ErrNotFound if history does not know it, ErrWaiting while a
// request of it waits.
//
// A Forget that failed can be called again: the rows go last.
func (h *History) Forget(ctx context.Context, session string) error {
	if h.cfg.Forget == nil {
		return errors.New("forget: the streams cannot be written")
	}
	if err := h.CaughtUp(ctx); err != nil {
		return fmt.Errorf("forget session %q: %w", session, err)
	}
	d, done, err := h.reading()
	if err != nil {
		return err
	}
	t, err := find(ctx, d.read, session)
	done()
	if err == nil {
		// The bulk of it, without keeping the writer.
		err = h.forgetInStreams(ctx, session, t)
	}
	if err != nil {
		return fmt.Errorf("forget session %q: %w", session, err)
	}
	if err := h.do(ctx, func(w *writer) error { return h.forget(ctx, w, session, t) }); err != nil {
		return fmt.Errorf("forget session %q: %w", session, err)
	}
	h.watchers.end(session)
	return nil
}

// MayForget returns the error that Forget would return at once.
func (h *History) MayForget(ctx context.Context, session string) error {
	if err := h.CaughtUp(ctx); err != nil {
		return fmt.Errorf("forget session %q: %w", session, err)
	}
	d, done, err := h.reading()
	if err != nil {
		return err
	}
	defer done()
	if _, err := find(ctx, d.read, session); err != nil {
		return fmt.Errorf("forget session %q: %w", session, err)
	}
	return nil
}

// forget is the part of Forget that writes. What was stored since gone was found goes too.
func (h *History) forget(ctx context.Context, w *writer, session string, gone traces) error {
	t, err := find(ctx, w.d.conn, session)
	if err != nil {
		return err
	}
	since := traces{
		events:   slices.DeleteFunc(t.events, func(seq uint64) bool { _, known := slices.BinarySearch(gone.events, seq); return known }),
		requests: slices.DeleteFunc(t.requests, func(id string) bool { _, known := slices.BinarySearch(gone.requests, id); return known }),
	}
	if err := h.forgetInStreams(ctx, session, since); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.drop(t.key); err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	h.unknown()
	if s := w.states.byKey[t.key]; s != nil {
		w.states.remove(s)
	}
	if err := h.allowed.load(w); err != nil {
		return err
	}
	// The rows are gone from the file itself only when the log beside it is empty.
	emptied, err := w.emptyLog()
	if err != nil {
		return err
	}
	if !emptied {
		w.cfg.Logf("history: a session was forgotten while somebody reads; its rows leave %s-wal within the hour", w.d.path)
	}
	if err := os.Remove(asidePath(w.d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the damaged file that was moved away: %w", err)
	}
	return nil
}

func (h *History) forgetInStreams(ctx context.Context, session string, t traces) error {
	return h.cfg.Forget(ctx, t.events, t.requests, func(e hook.Event) bool {
		p, _ := h.cfg.Decode(e.Agent, e.Type, e.Raw)
		return feed.SessionID(p) == session
	})
}

// find collects the traces of a session.
func find(ctx context.Context, from querier, session string) (t traces, err error) {
	rows, err := from.QueryContext(ctx, `SELECT key, coalesce(events.seq, 0), '' FROM sessions LEFT JOIN events ON events.session = key WHERE sessions.id = ?1
		UNION ALL SELECT key, requests.settled = 0, requests.id FROM sessions JOIN requests ON requests.session = key WHERE sessions.id = ?1
		UNION ALL SELECT key, 0, messages.id FROM sessions JOIN messages ON messages.session = sessions.id WHERE sessions.id = ?1`, session)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var n uint64
		var request string
		if err := rows.Scan(&t.key, &n, &request); err != nil {
			return t, err
		}
		switch {
		case request == "" && n > 0:
			t.events = append(t.events, n)
		case request != "" && n > 0:
			return t, ErrWaiting
		case request != "":
			t.requests = append(t.requests, request)
		}
	}
	if err := rows.Err(); err != nil {
		return t, err
	}
	if t.key == 0 {
		return t, ErrNotFound
	}
	slices.Sort(t.events)
	slices.Sort(t.requests)
	return t, nil
}
