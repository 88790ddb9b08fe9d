package integrity

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// state is what the frames of a mark come to.
type state struct {
	chain   Hash
	count   uint64 // of all frames behind snapshots, ever
	closed  bool   // the engine stopped as it should, and was not started since
	size    int64  // of the part of the file that was read
	rest    int    // bytes behind it that are no frame
	sources []sourceState
}

// sourceState is how one stream stands.
type sourceState struct {
	live    map[uint64]*Entry
	keys    map[string]uint64 // of a bucket: subject → sequence of its live message
	known   tracker           // every sequence that was ever entered
	last    uint64            // the highest of them
	horizon time.Time         // older messages may be gone
}

func newState(s Store) *state {
	st := &state{sources: make([]sourceState, len(s.Sources))}
	for i, src := range s.Sources {
		st.sources[i].live = map[uint64]*Entry{}
		if src.LastOnly {
			st.sources[i].keys = map[string]uint64{}
		}
	}
	return st
}

// apply enters one frame.
func (st *state) apply(f frame) error {
	switch f.kind {
	case frameOpened, frameClosed:
		st.closed = f.kind == frameClosed
		return nil
	case frameBase, frameEnd:
		return nil
	}
	if f.source >= len(st.sources) {
		return fmt.Errorf("an entry of stream %d, which there is not", f.source)
	}
	src := &st.sources[f.source]
	switch f.kind {
	case frameSource:
		src.known.solid, src.last, src.horizon = f.a, f.b, f.time
	case frameLeaf:
		src.enter(Entry{Seq: f.a, Subject: f.text, Time: f.time, Leaf: f.leaf})
	case frameRemoved:
		src.remove(f.a)
	case frameFirst:
		for seq := range src.live {
			if seq < f.a {
				src.remove(seq)
			}
		}
	case frameHorizon:
		if f.time.After(src.horizon) {
			src.horizon = f.time
		}
	}
	return nil
}

// enter notes a message. In a bucket it takes the place of the older one of its key.
func (src *sourceState) enter(e Entry) {
	src.known.add(e.Seq)
	src.last = max(src.last, e.Seq)
	if src.keys != nil {
		before, ok := src.keys[e.Subject]
		if ok && before > e.Seq {
			return
		}
		if ok {
			delete(src.live, before)
		}
		src.keys[e.Subject] = e.Seq
	}
	src.live[e.Seq] = &e
}

func (src *sourceState) remove(seq uint64) {
	if e := src.live[seq]; e != nil {
		delete(src.live, seq)
		if src.keys != nil && src.keys[e.Subject] == seq {
			delete(src.keys, e.Subject)
		}
	}
}

// sorted returns the live entries, oldest first.
func (src *sourceState) sorted() []*Entry {
	seqs := slices.Sorted(maps.Keys(src.live))
	all := make([]*Entry, len(seqs))
	for i, seq := range seqs {
		all[i] = src.live[seq]
	}
	return all
}

// tracker is a set of numbers that mostly grows without gaps: all up to solid, and some above.
type tracker struct {
	solid uint64
	above map[uint64]struct{}
}

func (t *tracker) add(n uint64) {
	if t.has(n) {
		return
	}
	if t.above == nil {
		t.above = map[uint64]struct{}{}
	}
	t.above[n] = struct{}{}
	for {
		if _, ok := t.above[t.solid+1]; !ok {
			return
		}
		t.solid++
		delete(t.above, t.solid)
	}
}

func (t *tracker) has(n uint64) bool {
	if n <= t.solid {
		return true
	}
	_, ok := t.above[n]
	return ok
}

// read reads the mark. An error that is fs.ErrNotExist says that there is none; *brokenError that
// its snapshot, which was put in place whole, is not whole. Frames behind the snapshot end at the
// first that cannot be read: a power cut leaves such an end, and damage too; only the record tells
// them apart.
func (s Store) read() (*state, error) {
	data, err := os.ReadFile(s.path())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("read the mark of the record: %w", err)
	}
	return s.parse(data)
}

// brokenError says where a mark is damaged.
type brokenError struct{ offset int }

func (e *brokenError) Error() string {
	return fmt.Sprintf("the mark of the record cannot be read at byte %d", e.offset)
}

func (s Store) parse(data []byte) (*state, error) {
	if len(data) < len(fileMagic) || string(data[:len(fileMagic)]) != fileMagic {
		return nil, &brokenError{0}
	}
	st := newState(s)
	at := len(fileMagic)
	snapshot, begun, entries := true, false, uint64(0)
	for at < len(data) {
		f, size, err := unseal(data[at:], &st.chain)
		if err != nil {
			break
		}
		if begun != (f.kind != frameBase) || !snapshot && (f.kind == frameSource || f.kind == frameEnd) {
			return nil, &brokenError{at}
		}
		if err := st.apply(f); err != nil {
			return nil, &brokenError{at}
		}
		at += size
		switch {
		case f.kind == frameBase:
			begun, st.count = true, f.a
		case f.kind == frameEnd:
			if f.a != entries {
				return nil, &brokenError{at}
			}
			snapshot = false
		case snapshot:
			entries++
		default:
			st.count++
		}
	}
	if snapshot {
		return nil, &brokenError{at}
	}
	st.size, st.rest = int64(at), len(data)-at
	return st, nil
}

// snapshot is a file that says what st says.
func (st *state) snapshot() []byte {
	data := []byte(fileMagic)
	var chain Hash
	entries := uint64(0)
	put := func(f frame) {
		data = seal(data, &chain, f)
		entries++
	}
	data = seal(data, &chain, frame{kind: frameBase, a: st.count})
	for i := range st.sources {
		src := &st.sources[i]
		put(frame{kind: frameSource, source: i, a: src.known.solid, b: src.last, time: src.horizon})
		for _, e := range src.sorted() {
			put(frame{kind: frameLeaf, source: i, a: e.Seq, time: e.Time, leaf: e.Leaf, text: e.Subject})
		}
		for _, seq := range slices.Sorted(maps.Keys(src.known.above)) {
			if src.live[seq] == nil { // entered, and gone again
				put(frame{kind: frameLeaf, source: i, a: seq})
				put(frame{kind: frameRemoved, source: i, a: seq})
			}
		}
	}
	if st.closed {
		put(frame{kind: frameClosed})
	}
	data = seal(data, &chain, frame{kind: frameEnd, a: entries})
	st.chain, st.size, st.rest = chain, int64(len(data)), 0
	return data
}
