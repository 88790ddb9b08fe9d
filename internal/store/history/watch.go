package history

import (
	"slices"
	"sync"
)

// News is one new event of a session's feed.
type News struct {
	Session string
	Event   Event
}

// A Watch gets new events of one session, or of all. It never makes history wait: one that falls
// behind is ended, and goes on from the database. So a client reads the feed like this:
//
//	w := h.Watch(session)          // first, so that nothing is missed
//	events, err := h.Feed(...)     // until a page is empty
//	for batch := range w.C { ... } // passing over positions that it has
//	// and from the start again, behind its last position, when C is closed
type Watch struct {
	// C brings events in order, and is closed when the Watch is ended: by Close, because it
	// fell behind, because the session was forgotten, or because the file is made anew. The
	// slices are shared; do not change them.
	C <-chan []News

	c       chan []News
	session string
	all     *watchers
}

// A Watch may be so many transactions behind; under load history commits 50 a second. What is
// larger than watchBytes is not handed out at all: that is a catching up, which is better read
// from the file.
const (
	watchRoom  = 64
	watchBytes = 1 << 20
)

// watchers are the open Watches.
type watchers struct {
	mu   sync.Mutex
	open []*Watch // guarded by mu
}

// Watch begins to watch one session, or all of them if session is empty. The caller closes it.
func (h *History) Watch(session string) *Watch {
	c := make(chan []News, watchRoom)
	w := &Watch{C: c, c: c, session: session, all: &h.watchers}
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.all.open = append(w.all.open, w)
	return w
}

// Close ends the Watch. It may be called again.
func (w *Watch) Close() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.all.endLocked(func(x *Watch) bool { return x == w })
}

// notify gives every Watch its part of what is new.
func (ws *watchers) notify(news []News) {
	if len(news) == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.open) == 0 {
		return
	}
	size := 0
	for _, n := range news {
		size += len(n.Event.JSON)
	}
	bySession := map[string][]News{"": news}
	for _, n := range news {
		bySession[n.Session] = append(bySession[n.Session], n)
	}
	ws.endLocked(func(w *Watch) bool {
		mine := bySession[w.session]
		if len(mine) == 0 {
			return false
		}
		if size > watchBytes {
			return true
		}
		select {
		case w.c <- mine:
			return false
		default:
			return true
		}
	})
}

// end ends the Watches of a session and those of all sessions.
func (ws *watchers) end(session string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.endLocked(func(w *Watch) bool { return w.session == session || w.session == "" })
}

// close ends every Watch.
func (ws *watchers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.endLocked(func(*Watch) bool { return true })
}

func (ws *watchers) endLocked(over func(*Watch) bool) {
	ws.open = slices.DeleteFunc(ws.open, func(w *Watch) bool {
		if !over(w) {
			return false
		}
		close(w.c)
		return true
	})
}
