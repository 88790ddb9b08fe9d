package history

import (
	"context"
	"fmt"
	"slices"
)

// gap is a run of events that left the stream before history had read them.
type gap struct{ first, last uint64 }

// maxGaps is how many are remembered. Beyond it the oldest is forgotten, and the feeds of sessions
// without an event since then do not mention it.
const maxGaps = 100

func (w *writer) readGaps() error {
	rows, err := w.d.conn.QueryContext(context.Background(), "SELECT first, last FROM gaps ORDER BY first")
	if err != nil {
		return w.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var g gap
		if err := rows.Scan(&g.first, &g.last); err != nil {
			return w.wrap(err)
		}
		w.gaps = append(w.gaps, g)
	}
	return w.wrap(rows.Err())
}

// noteGap looks why event seq does not follow the last one. Events that a Forget took out of
// the middle of the stream are no loss.
func (w *writer) noteGap(seq uint64) error {
	oldest, _, err := w.cfg.EventBounds(context.Background())
	if err != nil {
		return fmt.Errorf("look for lost events: %w", err)
	}
	g := gap{w.cursor.event + 1, min(oldest, seq) - 1}
	if oldest == 0 || g.last < g.first {
		return nil
	}
	w.cfg.Logf("history: events %d to %d left the stream before they were read; the feeds say so", g.first, g.last)
	if w.gaps = append(w.gaps, g); len(w.gaps) > maxGaps {
		w.gaps = slices.Delete(w.gaps, 0, 1)
	}
	if err := w.d.exec("INSERT OR REPLACE INTO gaps (first, last) VALUES (?, ?)", g.first, g.last); err != nil {
		return w.wrap(err)
	}
	return w.wrap(w.d.exec("DELETE FROM gaps WHERE first < ?", w.gaps[0].first))
}

// lostBetween counts the events that were lost between two that were read. The session whose
// first event is the second has lost nothing.
func (w *writer) lostBetween(event, next uint64) (n uint64) {
	if event == 0 {
		return 0
	}
	for _, g := range w.gaps {
		if event < g.first && g.last < next {
			n += g.last - g.first + 1
		}
	}
	return n
}
