package torture

import (
	"fmt"
	"sync"
	"time"

	"assent/hookclient"
	"assent/internal/hook"
)

// asked is a request, and what its hook was told. The times are those of history.now.
type asked struct {
	id        string
	at, ended int64
	timeout   time.Duration
	onTimeout hook.Fallback
	socket    bool
	over      bool // ended is set
	left      bool // the hook went away by itself
	answer    hookclient.Answer
}

// result is what an approver was told.
type result int

const (
	won result = iota
	lost
	unknown
	unheard // nothing was tried
)

// decision is one try of an approver.
type decision struct {
	id, by         string
	outcome        hook.Outcome
	call, returned int64
	result         result
	winner         string // of a lost one
}

func (d *decision) value() string { return string(d.outcome) + "/" + d.by }

// history is what happened, as clients saw it.
type history struct {
	began time.Time

	mu         sync.Mutex
	asked      []*asked              // guarded by mu, as all below
	waits      int                   // hooks
	decisions  map[string][]decision // by request
	sent       map[int]int           // sessions of events: how many
	violations []string
	more       int // violations that were not kept
	notes      []string
}

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

func (h *history) begins(q *asked) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
	h.waits++
}

func (h *history) ends(q *asked, a hookclient.Answer, left bool) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	q.ended, q.over, q.answer, q.left = now, true, a, left
	h.waits--
}

func (h *history) waitingNow() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waits
}

func (h *history) decided(d decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decisions == nil {
		h.decisions = map[string][]decision{}
	}
	h.decisions[d.id] = append(h.decisions[d.id], d)
}

// isUnknown reports whether the last that this approver heard of the request is that nobody knows.
func (h *history) isUnknown(id, by string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := unheard
	for _, d := range h.decisions[id] {
		if d.by == by {
			last = d.result
		}
	}
	return last == unknown || last == unheard
}

// saidBefore is what the approver said of the request the first time.
func (h *history) saidBefore(id, by string) hook.Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.decisions[id] {
		if d.by == by {
			return d.outcome
		}
	}
	return hook.Denied
}

func (h *history) told(session, i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sent == nil {
		h.sent = map[int]int{}
	}
	h.sent[session] = i + 1
}

func (h *history) violate(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.violations) >= maxViolations {
		h.more++
		return
	}
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

// note keeps what the nemesis did, for the reader of a violation.
func (h *history) note(format string, args ...any) {
	at := time.Duration(h.now()).Round(10 * time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprintf("%8v  ", at)+fmt.Sprintf(format, args...))
}

// summary is a line of progress.
func (h *history) summary() string {
	at := time.Duration(h.now()).Round(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	tries := 0
	for _, list := range h.decisions {
		tries += len(list)
	}
	last := ""
	if len(h.notes) > 0 {
		last = "; last: " + h.notes[len(h.notes)-1][10:]
	}
	return fmt.Sprintf("%v: %d requests, %d wait, %d decisions tried, %d violations%s", at, len(h.asked), h.waits, tries, len(h.violations), last)
}
