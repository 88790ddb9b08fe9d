// Package reqcontext holds, in memory only, what a person should know beside the requests that wait:
// see hook.Context. It is the only place where the agent's words and the files' texts are kept. They
// leave it with the answers of the API, and when their request ends they are gone: none of it goes into
// the record, the streams, history or a log.
//
// # Concurrency
//
// A Store has no goroutine. Its methods may be called from any goroutine, Recorded under the broker's
// lock too: they do not block.
package reqcontext

import (
	"encoding/json"
	"sync"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

// MaxBytes is how much a Store holds unless New is told otherwise.
const MaxBytes = 64 << 20

// maxPart is the longest text of a file that stands in lists and on the WebSocket, in bytes. Whoever
// wants a longer one asks for its request by its id.
const maxPart = 8 << 10

// entryBytes is about what an entry takes beside its texts.
const entryBytes = 512

// Store is the context of the requests that wait at this broker. A nil *Store holds none.
type Store struct {
	max     int64
	started time.Time

	mu    sync.Mutex
	bytes int64             // guarded by mu: of all in of
	of    map[string]*entry // guarded by mu: by request

	// What there was no memory for: of a context the file's text, or all. Guarded by mu.
	droppedFiles, droppedAll uint64
}

// entry is one context. It never changes.
type entry struct {
	whole hook.Context
	part  []byte // as JSON, for lists
	bytes int64
}

// New returns an empty store for at most max bytes; 0 means MaxBytes.
func New(max int64) *Store {
	if max == 0 {
		max = MaxBytes
	}
	return &Store{max: max, started: time.Now(), of: map[string]*entry{}}
}

// Put keeps c for a request, unless there is one already, and reports whether it did. Where the store
// is full the file's text is left out, then everything; the context says so.
func (s *Store) Put(id string, c hook.Context) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[id] != nil {
		return false
	}
	e := newEntry(c)
	if s.bytes+e.bytes > s.max && c.Before != nil && c.Before.Text != nil {
		c.Before = &hook.Before{Why: hook.BeforeFull}
		e = newEntry(c)
		s.droppedFiles++
	}
	if s.bytes+e.bytes > s.max {
		s.droppedAll++
		e = newEntry(hook.Context{SaidWhy: hook.SaidFull}) // small, and there are no more than requests
	}
	s.bytes += e.bytes
	s.of[id] = e
	return true
}

func newEntry(c hook.Context) *entry {
	e := &entry{whole: c}
	part := c
	if b := c.Before; b != nil && b.Text != nil {
		if len(*b.Text) > maxPart {
			part.Before = &hook.Before{Why: hook.BeforePartial}
		}
		e.bytes += int64(len(*b.Text))
	}
	e.part = encode(&part)
	e.bytes += entryBytes + 2*int64(len(e.part)) // the same texts once more
	return e
}

// Drop forgets a request's context.
func (s *Store) Drop(id string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.of[id]; e != nil {
		s.bytes -= e.bytes
		delete(s.of, id)
	}
}

// Recorded forgets the context of a request that is over. It is meant for broker.Config.Recorded.
func (s *Store) Recorded(step hook.Step, v *broker.View) {
	if step == hook.StepDecided || step == hook.StepEnded {
		s.Drop(v.ID)
	}
}

// Held is how many contexts there are, and their bytes.
func (s *Store) Held() (n int, bytes int64) {
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of), s.bytes
}

// Dropped is what there was no memory for since the store was made: texts of files, and contexts as a whole.
// A context whose file was dropped first may be in both.
func (s *Store) Dropped() (files, all uint64) {
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.droppedFiles, s.droppedAll
}

// Whole is the context of v, with the text of its file; nil once v is over.
func (s *Store) Whole(v *broker.View) *hook.Context {
	if s == nil || v.State != broker.Pending {
		return nil
	}
	if e := s.find(v.ID); e != nil {
		c := e.whole
		return &c
	}
	return s.without(v)
}

// JSON is the context of v for lists and the WebSocket; nil once v is over. It must not be changed.
func (s *Store) JSON(v *broker.View) []byte {
	if s == nil || v.State != broker.Pending {
		return nil
	}
	if e := s.find(v.ID); e != nil {
		return e.part
	}
	return encode(s.without(v))
}

func (s *Store) find(id string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}

// without says of a request that waits why there is no context.
func (s *Store) without(v *broker.View) *hook.Context {
	c := &hook.Context{SaidWhy: hook.SaidUnknown}
	switch {
	case v.HeldElsewhere:
		c.SaidWhy = hook.SaidElsewhere
	case v.CreatedAt.Before(s.started):
		c.SaidWhy = hook.SaidLost
	default:
		return c
	}
	if v.Overwrites != nil && v.Overwrites.Exists {
		c.Before = &hook.Before{Why: hook.BeforeLost}
	}
	return c
}

// encode is c as JSON.
func encode(c *hook.Context) []byte {
	b, err := json.Marshal(c)
	if err != nil { // texts, numbers and a time of the years that JSON can write
		return nil
	}
	return b
}
