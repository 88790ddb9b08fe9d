package integrity

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// salvaged is what is left of one stream.
type salvaged struct {
	blocks []salvagedBlock
	state  sourceState
	given  []string // keys that are given up
	ended  []Message
}

type salvagedBlock struct {
	path     string
	old, new []byte // old is nil for a block that is made
}

// salvage leaves out what cannot be read and what cannot be believed, and adds what the loss needs.
// It does the same each time it is called on the same files.
func (r *Result) salvage(i int) (*salvaged, error) {
	f, mark := r.sources[i], &r.mark.sources[i]
	out := &salvaged{}
	whole := newState(r.store)
	out.state = whole.sources[i]
	given := map[string]bool{}
	for _, e := range f.lost {
		given[e.Subject] = true
	}
	unnamed := !r.trusted || r.Adopted && len(f.bad) > 0
	var kept []Message
	last, index := uint64(0), 0
	for _, b := range f.blocks {
		old, err := os.ReadFile(b.path)
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		data := make([]byte, 0, len(old))
		scan(old, blockHash(f.Name, b.index), func(rec record) {
			if !rec.message() {
				// What was removed stays so, except for a removal that nobody asked for: its message is lost.
				data = append(data, rec.raw...)
				return
			}
			if rec.seq <= last {
				return
			}
			if !r.believes(mark, f, unnamed, &rec) {
				given[rec.subject] = true
				return
			}
			last = rec.seq
			data = append(data, rec.raw...)
			if f.gone[rec.seq] {
				return
			}
			e := Entry{Seq: rec.seq, Subject: rec.subject, Time: time.Unix(0, rec.ts), Leaf: rec.leaf()}
			if before := mark.live[rec.seq]; before != nil {
				e.Time = before.Time
			}
			out.state.enter(e)
			if f.Settle != nil {
				kept = append(kept, Message{Seq: rec.seq, Subject: rec.subject, Header: rec.headers(), Body: bytes.Clone(rec.body)})
			}
		}, func(span) {})
		out.blocks = append(out.blocks, salvagedBlock{b.path, old, data})
		index = b.index
	}
	end := max(f.last, mark.last)
	var added []byte
	path := filepath.Join(f.Source.blocks(), fmt.Sprintf("%d.blk", index+1))
	hh := blockHash(f.Name, index+1)
	if f.Settle != nil && (len(f.lost) > 0 || unnamed) {
		lost := make([]Entry, len(f.lost))
		for n, e := range f.lost {
			lost[n] = *e
		}
		out.ended = f.Settle(kept, lost, unnamed)
	}
	now := r.store.now()
	if last < end && len(out.ended) == 0 {
		added = appendRecord(added, hh, end, now.UnixNano(), "", nil) // its number is not given again
	}
	for n := range out.ended {
		m := &out.ended[n]
		end++
		m.Seq = end
		added = appendRecord(added, hh, end, now.UnixNano(), m.Subject, m.Body)
		out.state.enter(Entry{Seq: end, Subject: m.Subject, Time: now, Leaf: Leaf(end, m.Subject, nil, m.Body)})
	}
	if len(added) > 0 {
		out.blocks = append(out.blocks, salvagedBlock{path, nil, added})
	}
	out.state.known, out.state.last, out.state.horizon = tracker{solid: end}, end, mark.horizon
	for _, e := range out.state.live {
		delete(given, e.Subject)
	}
	if f.LastOnly {
		out.given = slices.Sorted(maps.Keys(given))
	}
	return out, nil
}

// believes says whether a message is kept. Of a bucket of keys only what the mark knows as the last
// state of a key is, and a removal that it does not know yet: a state that came back is none.
func (r *Result) believes(mark *sourceState, f *found, unnamed bool, rec *record) bool {
	e := mark.live[rec.seq]
	switch {
	case r.trusted && !f.hurt:
		return true // this stream is whole
	case e != nil:
		return e.Leaf == rec.leaf()
	case !f.LastOnly:
		return true
	case unnamed:
		return false
	case r.Adopted:
		return !mark.known.has(rec.seq)
	}
	return !mark.known.has(rec.seq) && rec.headers().Get("KV-Operation") != "" && rec.seq > mark.keys[rec.subject]
}

func (s Store) view() string { return filepath.Join(s.State, "damaged", "view") }

// View makes a directory that the engine may open, and returns it: what is left of a damaged record.
// The record's own files stay as they are, and those that are damaged are copied aside.
func (r *Result) View() (dir string, err error) {
	dir = r.store.view()
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	for i, f := range r.sources {
		s, err := r.salvage(i)
		if err == nil {
			_, err = r.aside(s)
		}
		if err == nil {
			err = f.show(s, r.store.Engine, dir)
		}
		if err != nil {
			return "", err
		}
	}
	_, err = r.asideMark()
	return dir, err
}

// show writes what is left of a stream where it stands below the engine's directory, but in dir.
func (f *found) show(s *salvaged, engine, dir string) error {
	rel, err := filepath.Rel(engine, f.Dir)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, rel)
	if err := os.MkdirAll(filepath.Join(to, "msgs"), 0o700); err != nil {
		return err
	}
	for _, meta := range []string{"meta.inf", "meta.sum"} {
		if data, err := os.ReadFile(filepath.Join(f.Dir, meta)); err == nil {
			if err := os.WriteFile(filepath.Join(to, meta), data, 0o600); err != nil {
				return err
			}
		}
	}
	for _, b := range s.blocks {
		if err := os.WriteFile(filepath.Join(to, "msgs", filepath.Base(b.path)), b.new, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// aside copies the blocks that would be changed, and returns the copies.
func (r *Result) aside(s *salvaged) (copies []string, err error) {
	for _, b := range s.blocks {
		if b.old == nil || bytes.Equal(b.old, b.new) {
			continue
		}
		to, err := r.store.copyAside(b.path, b.old)
		if err != nil {
			return nil, err
		}
		copies = append(copies, to)
	}
	return copies, nil
}

func (r *Result) asideMark() (copies []string, err error) {
	data, err := os.ReadFile(r.store.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	to, err := r.store.copyAside(r.store.path(), data)
	return []string{to}, err
}

// copyAside copies a file into the directory damaged, under its own name and a part of its hash: a
// second start on the same damage makes no second copy. It returns the copy's name, relative to the
// state directory.
func (s Store) copyAside(path string, data []byte) (string, error) {
	rel, err := filepath.Rel(s.State, path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	rel = filepath.Join("damaged", fmt.Sprintf("%s.%x", rel, sum[:4]))
	to := filepath.Join(s.State, rel)
	if info, err := os.Stat(to); err == nil && info.Size() == int64(len(data)) {
		return filepath.ToSlash(rel), nil
	}
	if err := copySynced(path, to); err != nil {
		return "", fmt.Errorf("copy a damaged file aside: %w", err)
	}
	return filepath.ToSlash(rel), nil
}
