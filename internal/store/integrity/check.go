package integrity

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Kept is what the lock of the state directory says of the mark.
type Kept struct {
	// Marks says that the last program that had the directory kept a mark. A release that knows of
	// none leaves a record that is ahead of it.
	Marks bool
	// Count is how many entries the mark had at least.
	Count uint64
}

// Result is what Check found.
type Result struct {
	// Damages are empty if the record is what the mark says, or may be.
	Damages []Damage
	// Adopted says that the record comes from a release without marks, and is taken as it is.
	Adopted bool

	store   Store
	kept    Kept
	mark    *state // never nil; empty if there is none that can be trusted
	trusted bool   // the mark is whole, or the record is taken as it is
	settled bool   // the engine stopped as it should: what can be read is on the disk
	written uint64 // the highest HeaderMark in the record
	sources []*found
}

// found is what Check saw of one stream.
type found struct {
	Source
	blocks []block
	ahead  []Entry // messages that the mark does not know yet
	bad    map[int][]span
	seen   []seen // messages, in the order of the files
	last   uint64
	lost   []*Entry
	gone   map[uint64]bool // said to be removed
	hurt   bool            // a damage is in this stream
}

// seen is where a message stands, for the message that is missing behind it.
type seen struct {
	seq        uint64
	block, end int
}

// slack is how much later than its time a message may have been entered.
const slack = 5 * time.Minute

// Check compares the record's files with the mark, and changes nothing.
func (s Store) Check(kept Kept) (*Result, error) {
	r := &Result{store: s, kept: kept}
	mark, err := s.read()
	var broken *brokenError
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !missing && !errors.As(err, &broken):
		return nil, err
	default:
		if mark == nil {
			mark = newState(s)
		}
		r.mark = mark
		for i, src := range s.Sources {
			f, err := r.look(i, src)
			if err != nil {
				return nil, err
			}
			r.sources = append(r.sources, f)
		}
		r.judgeMark(missing, broken, kept)
	}
	for i, f := range r.sources {
		r.judge(&r.mark.sources[i], f)
	}
	for _, d := range r.Damages {
		for _, f := range r.sources {
			f.hurt = f.hurt || d.Stream == f.Name
		}
	}
	r.settled = r.trusted && !r.Adopted && r.mark.closed
	return r, nil
}

// look reads one stream's blocks.
func (r *Result) look(i int, src Source) (*found, error) {
	f := &found{Source: src, bad: map[int][]span{}, gone: map[uint64]bool{}}
	mark := &r.mark.sources[i]
	var err error
	if f.blocks, err = src.list(); err != nil {
		return nil, err
	}
	for _, b := range f.blocks {
		data, err := os.ReadFile(b.path)
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		scan(data, blockHash(src.Name, b.index), func(rec record) {
			if rec.removed {
				f.gone[rec.seq] = true
				return
			}
			if rec.seq <= f.last { // as the server: sequences only rise
				return
			}
			f.last = rec.seq
			f.seen = append(f.seen, seen{rec.seq, b.index, rec.offset + len(rec.raw)})
			if !rec.message() {
				return
			}
			h := rec.headers()
			if n, err := strconv.ParseUint(h.Get(HeaderMark), 10, 64); err == nil {
				r.written = max(r.written, n)
			}
			leaf := Leaf(rec.seq, rec.subject, h, rec.body)
			if e := mark.live[rec.seq]; e != nil {
				e.found = e.Leaf == leaf
			} else if !mark.known.has(rec.seq) {
				f.ahead = append(f.ahead, Entry{Seq: rec.seq, Subject: rec.subject, Time: time.Unix(0, rec.ts), Leaf: leaf})
			}
		}, func(s span) { f.bad[b.index] = append(f.bad[b.index], s) })
	}
	f.ahead = slices.DeleteFunc(f.ahead, func(e Entry) bool {
		// Removed, or an older state of a key: what takes its place is entered.
		return f.gone[e.Seq] || mark.keys != nil && mark.keys[e.Subject] > e.Seq
	})
	return f, nil
}

// judgeMark says whether the mark can be believed.
func (r *Result) judgeMark(missing bool, broken *brokenError, kept Kept) {
	empty := true
	for _, f := range r.sources {
		empty = empty && len(f.seen) == 0
	}
	d := Damage{Kind: DamagedMark, File: FileName}
	switch {
	case missing && (kept.Marks || r.written > 0):
		d.What = "the mark of the record is missing"
	case missing:
		r.trusted, r.Adopted = true, !empty
		return
	case broken != nil:
		d.Offset, d.What = int64(broken.offset), "the mark of the record cannot be read from here on"
	case r.mark.count < max(kept.Count, r.written):
		d.Offset = r.mark.size
		d.What = fmt.Sprintf("the mark of the record ends here, with %d entries; it had %d", r.mark.count, max(kept.Count, r.written))
	default:
		r.trusted, r.Adopted = true, !kept.Marks
		return
	}
	r.Damages = append(r.Damages, d)
	r.mark = newState(r.store) // nothing in it is believed
}

// judge compares one stream with what the mark says of it.
func (r *Result) judge(mark *sourceState, f *found) {
	horizon := mark.horizon
	if now := r.store.now(); f.MaxAge > 0 && r.Adopted && now.Add(-f.MaxAge).After(horizon) {
		horizon = now.Add(-f.MaxAge)
	}
	superseded := map[string]uint64{}
	if f.LastOnly {
		for _, e := range f.ahead {
			superseded[e.Subject] = e.Seq
		}
	}
	for _, e := range mark.sorted() {
		switch {
		case e.found && !f.gone[e.Seq]:
		case superseded[e.Subject] > e.Seq:
		case f.MaxAge > 0 && e.Time.Add(-slack).Before(horizon):
		case r.Adopted && !f.LastOnly: // forgotten by the release that kept no mark
		default:
			f.lost = append(f.lost, e)
			r.Damages = append(r.Damages, f.missing(r.store, e))
		}
	}
	// A bad end is what was being written. The engine cuts it off, and with it all that stands
	// behind it in the file.
	for i, b := range f.blocks {
		spans := f.bad[b.index]
		if len(spans) == 0 {
			continue
		}
		last := i == len(f.blocks)-1
		behind := f.lastBehind(b.index, spans[0])
		switch {
		case behind == 0 && last && !r.Adopted:
			continue
		case behind == 0 && last && torn(b.path, spans[0]):
			continue
		case r.trusted && !r.Adopted && last && !f.entered(mark, b.index, spans[0]):
			continue // nothing behind it was ever acknowledged
		}
		if slices.ContainsFunc(r.Damages, func(d Damage) bool {
			return d.path == b.path && d.Offset >= int64(spans[0].from) && d.Offset < int64(spans[0].to)
		}) {
			continue // said already, by what stood there
		}
		d := Damage{Kind: Unreadable, Stream: f.Name, What: fmt.Sprintf("%d bytes are no message", spans[0].to-spans[0].from)}
		d.at(r.store, b.path, int64(spans[0].from))
		r.Damages = append(r.Damages, d)
	}
}

// lastBehind is the last message of a block that stands behind a span, 0 if none does.
func (f *found) lastBehind(block int, s span) (seq uint64) {
	for _, m := range f.seen {
		if m.block == block && m.end > s.to {
			seq = m.seq
		}
	}
	return seq
}

// entered says whether the mark knows a message that stands behind a span.
func (f *found) entered(mark *sourceState, block int, s span) bool {
	return slices.ContainsFunc(f.seen, func(m seen) bool { return m.block == block && m.end > s.to && mark.known.has(m.seq) })
}

// torn says whether a span is the beginning of a record whose rest was never written.
func torn(path string, s span) bool {
	data, err := os.ReadFile(path)
	if err != nil || s.to != len(data) {
		return false
	}
	n, ok := claims(data[s.from:])
	return ok && n > s.to-s.from
}

// missing describes a message that is not there, or not as it was.
func (f *found) missing(s Store, e *Entry) Damage {
	d := Damage{Kind: Lost, Stream: f.Name, Seq: e.Seq, Subject: e.Subject, Time: e.Time}
	// Where it stood: behind the last message before it.
	index, end, after := 0, 0, -1
	at, there := slices.BinarySearchFunc(f.seen, e.Seq, func(m seen, seq uint64) int { return cmp.Compare(m.seq, seq) })
	if at > 0 {
		index, end = f.seen[at-1].block, f.seen[at-1].end
	}
	if there {
		d.What = "another message stands in its place"
		if f.gone[e.Seq] {
			d.What = "it is said to be removed, and nobody removed it"
		}
		at++
	}
	if at < len(f.seen) {
		after = f.seen[at].block
	}
	switch {
	case index == 0 && len(f.blocks) > 0 && f.blocks[0].index == 1:
		index = 1
	case index == 0, after > index+1:
		index, end = index+1, 0
	case after == index+1 && len(f.bad[index]) == 0 && len(f.bad[after]) > 0:
		index, end = after, 0
	}
	path := filepath.Join(f.Source.blocks(), fmt.Sprintf("%d.blk", index))
	for _, bad := range f.bad[index] {
		if bad.to > end { // the first bad place behind it
			end = max(bad.from, end)
			break
		}
	}
	d.at(s, path, int64(end))
	if d.What == "" {
		d.What = "it is gone"
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			d.What = "its file is gone"
		} else if len(f.bad[index]) > 0 {
			d.What = "it cannot be read"
		}
	}
	return d
}
