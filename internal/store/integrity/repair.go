package integrity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assent/internal/host/wholefile"
)

// Report is what Repair did.
type Report struct {
	// Damages names what was wrong. It is empty if nothing was.
	Damages []Damage `json:"damages"`
	// GivenUp are the keys whose last state is lost: tokens, devices and grants among them count no
	// more.
	GivenUp []string `json:"givenUp"`
	// Ended are the subjects of what was left open by the loss.
	Ended []string `json:"ended"`
	// Copies are the damaged files as they were, relative to the state directory.
	Copies []string `json:"copies"`
	// Count is how many entries the new mark has, 0 if there is none.
	Count uint64 `json:"-"`
}

// Repair makes the record what is left of it and the mark what the record is. Killed in the middle,
// it can be called again: until the new mark is in place the old one counts.
func (r *Result) Repair() (Report, error) {
	rep := Report{Damages: append([]Damage{}, r.Damages...), GivenUp: []string{}, Ended: []string{}, Copies: []string{}}
	if r.Err() == nil {
		return rep, nil
	}
	st := newState(r.store)
	st.count = max(r.mark.count, r.written, r.kept.Count) + 1
	var all []*salvaged
	for i := range r.sources {
		s, err := r.salvage(i)
		if err != nil {
			return rep, err
		}
		copies, err := r.aside(s)
		if err != nil {
			return rep, err
		}
		rep.Copies = append(rep.Copies, copies...)
		rep.GivenUp = append(rep.GivenUp, s.given...)
		for _, m := range s.ended {
			rep.Ended = append(rep.Ended, m.Subject)
		}
		st.sources[i] = s.state
		all = append(all, s)
	}
	copies, err := r.asideMark()
	if err != nil {
		return rep, err
	}
	rep.Copies = append(rep.Copies, copies...)
	for i, s := range all {
		if err := r.sources[i].install(s); err != nil {
			return rep, fmt.Errorf("repair %s: %w", r.sources[i].Name, err)
		}
	}
	file, err := r.store.replace(st)
	if err != nil {
		return rep, fmt.Errorf("repair the mark of the record: %w", err)
	}
	rep.Count = st.count
	return rep, errors.Join(file.Close(), os.RemoveAll(r.store.view()))
}

// install puts what is left in place. The last block comes first: it holds the sequences that must
// not be given again.
func (f *found) install(s *salvaged) error {
	dir := f.Source.blocks()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The server's own summary is of the files as they were.
	if err := os.Remove(filepath.Join(dir, "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := len(s.blocks) - 1; i >= 0; i-- {
		b := s.blocks[i]
		switch {
		case bytes.Equal(b.old, b.new):
		case len(b.new) == 0:
			if err := os.Remove(b.path); err != nil {
				return err
			}
		default:
			if err := rewrite(b.path, b.new); err != nil {
				return err
			}
		}
	}
	return wholefile.SyncDir(dir)
}

// Open makes the mark ready for an engine that is started next, on a record without damage. What the
// record has beyond the mark is put on the disk, and entered.
func (r *Result) Open() (*Mark, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if !r.settled {
		if err := r.store.Settle(); err != nil {
			return nil, err
		}
	}
	st := r.mark
	var news []frame
	for i, f := range r.sources {
		src := &st.sources[i]
		for _, e := range src.sorted() {
			if !e.found || f.gone[e.Seq] {
				news = append(news, frame{kind: frameRemoved, source: i, a: e.Seq})
			}
		}
		for _, e := range f.ahead {
			news = append(news, frame{kind: frameLeaf, source: i, a: e.Seq, time: e.Time, leaf: e.Leaf, text: e.Subject})
		}
		if f.MaxAge > 0 { // the engine removes them as soon as it starts
			news = append(news, frame{kind: frameHorizon, source: i, time: r.store.now().Add(-f.MaxAge)})
		}
	}
	news = append(news, frame{kind: frameOpened})
	if st.size > 0 {
		file, err := os.OpenFile(r.store.path(), os.O_RDWR, 0)
		if err == nil {
			err = file.Truncate(st.size)
		}
		if err != nil {
			return nil, fmt.Errorf("open the mark of the record: %w", err)
		}
		m := r.store.newMark(st, file)
		if err := m.commitAll(news); err != nil {
			return nil, errors.Join(err, m.Close(false))
		}
		return m, nil
	}
	for _, f := range news {
		if err := st.apply(f); err != nil {
			return nil, err
		}
	}
	st.count = max(st.count, r.written)
	file, err := r.store.replace(st)
	if err != nil {
		return nil, fmt.Errorf("make the mark of the record: %w", err)
	}
	return r.store.newMark(st, file), nil
}

// commitAll enters frames in one write.
func (m *Mark) commitAll(frames []frame) error {
	b := newBatch()
	b.frames = frames
	m.commit(b, m.write(frames))
	return b.err
}

// horizonAhead is how much earlier than its time Horizon says that a message may be gone: the engine
// looks by itself, and the mark has to be first.
const horizonAhead = 2 * time.Minute

// Horizon is the argument of Aged for messages that are kept for maxAge.
func (s Store) Horizon(maxAge time.Duration) time.Time { return s.now().Add(horizonAhead - maxAge) }
