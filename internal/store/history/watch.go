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

// watch gets new events of one session, or of all if session is empty.
type watch struct {
	c       chan []News
	session string
}

// A watch may be so many transactions behind; under load history commits 50 a second. What is
// larger than watchBytes is not handed out at all: that is a catching up, which is better read
// from the file.
const (
	watchRoom  = 64
	watchBytes = 1 << 20
)

// watchers are the open watches.
type watchers struct {
	mu   sync.Mutex
	open []*watch // guarded by mu
}

// Watch begins to watch one session, or all of them if session is empty. news brings its new events
// in order, and is closed when the watch has ended: by stop, because it fell behind, because the
// session was forgotten, or because the file is made anew. It never makes history wait. The slices are
// shared; do not change them. The caller calls stop, which may be called again.
//
// A feed is read like this:
//
//	news, stop := h.Watch(session)  // first, so that nothing is missed
//	events, err := h.Feed(...)      // until a page is empty
//	for batch := range news { ... } // passing over positions that are known
//	// and from the start again, behind the last position, when news is closed
func (h *History) Watch(session string) (news <-chan []News, stop func()) {
	w := &watch{c: make(chan []News, watchRoom), session: session}
	h.watchers.mu.Lock()
	defer h.watchers.mu.Unlock()
	h.watchers.open = append(h.watchers.open, w)
	return w.c, func() { h.watchers.stop(w) }
}

// stop ends one watch.
func (ws *watchers) stop(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.endLocked(func(x *watch) bool { return x == w })
}

// notify gives every watch its part of what is new.
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
	ws.endLocked(func(w *watch) bool {
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

// end ends the watches of a session and those of all sessions.
func (ws *watchers) end(session string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.endLocked(func(w *watch) bool { return w.session == session || w.session == "" })
}

// close ends every watch.
func (ws *watchers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.endLocked(func(*watch) bool { return true })
}

func (ws *watchers) endLocked(over func(*watch) bool) {
	ws.open = slices.DeleteFunc(ws.open, func(w *watch) bool {
		if !over(w) {
			return false
		}
		close(w.c)
		return true
	})
}
