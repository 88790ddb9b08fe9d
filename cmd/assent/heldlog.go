package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap/zapcore"
)

// heldLog keeps what a broker logs while somebody is led through steps at the same terminal: a line
// of a log in the middle of a question helps nobody. Its zero value holds.
type heldLog struct {
	mu       sync.Mutex
	held     []heldEntry // guarded by mu
	released bool        // guarded by mu; entries go to their core at once
}

// maxHeld bounds the entries that are kept; of more the oldest go to the log at once.
const maxHeld = 100

type heldEntry struct {
	core   zapcore.Core
	entry  zapcore.Entry
	fields []zapcore.Field
}

// wrap is for zap.WrapCore.
func (h *heldLog) wrap(core zapcore.Core) zapcore.Core { return heldCore{core, h} }

// take returns what was held so far, as sentences without a stop, and holds on.
func (h *heldLog) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sentences []string
	for _, e := range h.held {
		fields := zapcore.NewMapObjectEncoder()
		for _, f := range e.fields {
			f.AddTo(fields)
		}
		text := e.entry.Message
		for _, name := range slices.Sorted(maps.Keys(fields.Fields)) {
			text += fmt.Sprintf(", %s: %v", name, fields.Fields[name])
		}
		sentences = append(sentences, text)
	}
	h.held = nil
	return sentences
}

// release lets everything through, what was held first. It is harmless twice.
func (h *heldLog) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.held {
		_ = e.core.Write(e.entry, e.fields) // there is nowhere else to report that a log cannot be written
	}
	h.held, h.released = nil, true
}

// heldCore is a core whose entries go through a heldLog.
type heldCore struct {
	zapcore.Core
	log *heldLog
}

func (c heldCore) With(fields []zapcore.Field) zapcore.Core {
	return heldCore{c.Core.With(fields), c.log}
}

// Check asks the core inside, which may leave out what comes too often, but adds itself.
func (c heldCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Core.Check(e, nil) == nil {
		return ce
	}
	return ce.AddCore(e, c)
}

func (c heldCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.log.released {
		return c.Core.Write(e, fields)
	}
	c.log.held = append(c.log.held, heldEntry{c.Core, e, fields})
	if len(c.log.held) <= maxHeld {
		return nil
	}
	oldest := c.log.held[0]
	c.log.held = c.log.held[1:]
	return oldest.core.Write(oldest.entry, oldest.fields)
}
