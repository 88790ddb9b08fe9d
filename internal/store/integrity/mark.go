package integrity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assent/internal/host/wholefile"
)

// ErrClosed is the error of a Mark that was closed.
var ErrClosed = errors.New("the mark of the record is closed")

// Mark writes the mark of a record. Make one with Result.Open.
type Mark struct {
	store Store
	wake  chan struct{} // holds one
	done  chan struct{} // closed when the writer has ended

	mu sync.Mutex
	// Guarded by mu.
	sources []queue
	open    *batch // what the next write takes; never nil
	count   uint64 // of frames that are on the disk
	failed  error  // of the last write; nothing is written until Fix
	closing bool

	writing sync.Mutex // held while the file is written or replaced
	// Guarded by writing.
	file     *os.File
	chain    Hash
	size     int64 // of what is whole in the file
	snapshot int64 // size when the file was made anew last
}

// queue says of one stream what is entered.
type queue struct {
	known tracker           // on the disk
	soon  map[uint64]*batch // entered, not on the disk yet
	first uint64            // what stands before it is gone for its age
}

// batch is what one write puts on the disk.
type batch struct {
	frames []frame
	done   chan struct{} // closed when err is set
	err    error
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// compactAt is how much a mark may grow beyond twice its size before it is written anew.
const compactAt = 4 << 20

func (s Store) newMark(st *state, file *os.File) *Mark {
	m := &Mark{
		store: s, wake: make(chan struct{}, 1), done: make(chan struct{}), open: newBatch(), count: st.count,
		file: file, chain: st.chain, size: st.size, snapshot: st.size,
	}
	for i := range st.sources {
		m.sources = append(m.sources, queue{known: st.sources[i].known, soon: map[uint64]*batch{}})
	}
	go m.run()
	return m
}

// Count is how many entries are on the disk; it is what HeaderMark tells.
func (m *Mark) Count() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Failed is nil while the mark takes entries.
func (m *Mark) Failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// Ensure returns nil when a message of a stream is entered and on the disk. Many calls share one
// write. leaf is called only for a message that was not entered before.
func (m *Mark) Ensure(ctx context.Context, source int, seq uint64, subject string, leaf func() Hash) error {
	m.mu.Lock()
	q := &m.sources[source]
	if q.known.has(seq) {
		m.mu.Unlock()
		return nil
	}
	b := q.soon[seq]
	if b == nil {
		var err error
		b, err = m.addLocked(frame{kind: frameLeaf, source: source, a: seq, time: m.store.now(), leaf: leaf(), text: subject})
		if err != nil {
			m.mu.Unlock()
			return err
		}
		q.soon[seq] = b
	}
	m.mu.Unlock()
	return b.wait(ctx)
}

// Remove enters that messages are going to be removed. Nobody misses them from then on.
func (m *Mark) Remove(ctx context.Context, source int, seqs ...uint64) error {
	if len(seqs) == 0 {
		return nil
	}
	m.mu.Lock()
	var b *batch
	var err error
	for _, seq := range seqs {
		if b, err = m.addLocked(frame{kind: frameRemoved, source: source, a: seq}); err != nil {
			break
		}
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return b.wait(ctx)
}

// Aged enters that messages older than before may be gone for their age, and that those in front of
// the sequence first are.
func (m *Mark) Aged(ctx context.Context, source int, before time.Time, first uint64) error {
	m.mu.Lock()
	q := &m.sources[source]
	b, err := m.addLocked(frame{kind: frameHorizon, source: source, time: before})
	if err == nil && first > q.first {
		if b, err = m.addLocked(frame{kind: frameFirst, source: source, a: first}); err == nil {
			q.first = first
		}
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return b.wait(ctx)
}

func (m *Mark) addLocked(f frame) (*batch, error) {
	switch {
	case m.closing:
		return nil, ErrClosed
	case m.failed != nil:
		return nil, m.failed
	}
	m.open.frames = append(m.open.frames, f)
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return m.open, nil
}

func (b *batch) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the writer.
func (m *Mark) run() {
	defer close(m.done)
	for range m.wake {
		m.mu.Lock()
		b, end := m.open, m.closing
		m.open = newBatch()
		m.mu.Unlock()
		if len(b.frames) > 0 {
			m.commit(b, m.write(b.frames))
		}
		if end {
			return
		}
	}
}

// commit wakes the callers that wait for b.
func (m *Mark) commit(b *batch, err error) {
	m.mu.Lock()
	if err != nil {
		err = fmt.Errorf("write the mark of the record: %w", err)
		m.failed = err
		m.open.err = err // nobody adds to it any more
		b.frames = append(b.frames, m.open.frames...)
		close(m.open.done)
		m.open = newBatch()
	} else {
		m.count += uint64(len(b.frames))
	}
	for _, f := range b.frames {
		if f.kind == frameLeaf {
			q := &m.sources[f.source]
			delete(q.soon, f.a)
			if err == nil {
				q.known.add(f.a)
			}
		}
	}
	b.err = err
	close(b.done)
	m.mu.Unlock()
}

// write puts frames on the disk.
func (m *Mark) write(frames []frame) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.size > 2*m.snapshot+compactAt {
		if err := m.renew(); err != nil {
			return err
		}
	}
	chain := m.chain
	var text []byte
	for _, f := range frames {
		text = seal(text, &chain, f)
	}
	if _, err := m.file.WriteAt(text, m.size); err != nil {
		return err
	}
	if err := syncData(m.file); err != nil {
		return err
	}
	m.chain, m.size = chain, m.size+int64(len(text))
	return nil
}

// renew replaces the file by one without what is gone. What a failed write left in the file and can
// be read stays: the record has it.
func (m *Mark) renew() error {
	st, err := m.store.read()
	if err != nil {
		return err
	}
	m.mu.Lock()
	count := m.count
	m.mu.Unlock()
	if st.count < count {
		return fmt.Errorf("%s holds %d entries, and should hold %d", m.store.path(), st.count, count)
	}
	file, err := m.store.replace(st)
	if err != nil {
		return err
	}
	_ = m.file.Close()
	m.file, m.chain, m.size, m.snapshot = file, st.chain, st.size, st.size
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count = st.count
	for i := range m.sources {
		m.sources[i].known = st.sources[i].known
	}
	return nil
}

// Fix makes a mark that failed take entries again: the file is written anew, since after a failed
// sync nobody knows what of it is on the disk.
func (m *Mark) Fix() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.Failed() == nil {
		return nil
	}
	if err := m.renew(); err != nil {
		return fmt.Errorf("write the mark of the record anew: %w", err)
	}
	m.mu.Lock()
	m.failed = nil
	m.mu.Unlock()
	return nil
}

// Close ends the writer, and says in the file that the engine has stopped as it should if it has.
func (m *Mark) Close(clean bool) error {
	m.mu.Lock()
	var err error
	if clean {
		_, err = m.addLocked(frame{kind: frameClosed})
	}
	m.closing = true
	select {
	case m.wake <- struct{}{}:
	default:
	}
	m.mu.Unlock()
	<-m.done
	return errors.Join(err, m.Failed(), m.file.Close())
}

// replace puts st in place as the mark, and returns the file for appending.
func (s Store) replace(st *state) (*os.File, error) {
	path := s.path()
	tmp := path + ".new"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(st.snapshot())
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = wholefile.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(tmp)
		return nil, err
	}
	return file, nil
}
