package audit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/store/tree"
)

// fileShelf is a shelf whose entries and blocks are in files: of each, eight bytes stay in memory. Entries are added before the
// tree is opened.
type fileShelf struct {
	entries rows
	mu      sync.Mutex // of blocks
	blocks  rows
}

func newFileShelf(t testing.TB) *fileShelf {
	t.Helper()
	open := func(name string) rows {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return rows{file: f, ends: []int64{0}}
	}
	return &fileShelf{entries: open("entries"), blocks: open("blocks")}
}

// rows are byte strings in a file, one behind the other.
type rows struct {
	file *os.File
	ends []int64 // of each, and of none in front
}

func (r *rows) count() int { return len(r.ends) - 1 }

func (r *rows) add(b []byte) error {
	at := r.ends[len(r.ends)-1]
	_, err := r.file.WriteAt(b, at)
	r.ends = append(r.ends, at+int64(len(b)))
	return err
}

func (r *rows) row(i int) ([]byte, error) {
	b := make([]byte, r.ends[i+1]-r.ends[i])
	_, err := r.file.ReadAt(b, r.ends[i])
	return b, err
}

// stored is an entry as the file has it.
type stored struct {
	Subject string
	Header  map[string][]string
	Body    json.RawMessage
}

func (s *fileShelf) add(t testing.TB, rec *hook.Record) {
	t.Helper()
	e := entryOf(t, s.entries.count(), rec)
	text, err := json.Marshal(stored{e.Subject, e.Header, e.Body})
	if err == nil {
		err = s.entries.add(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *fileShelf) entry(i int) (tree.Entry, error) {
	text, err := s.entries.row(i)
	if err != nil {
		return tree.Entry{}, err
	}
	var e stored
	err = json.Unmarshal(text, &e)
	return tree.Entry{Seq: uint64(i + 1), Subject: e.Subject, Header: e.Header, Body: e.Body}, err
}

func (s *fileShelf) LastBlock(ctx context.Context) (uint64, []byte, error) {
	s.mu.Lock()
	n := uint64(s.blocks.count())
	s.mu.Unlock()
	if n == 0 {
		return 0, nil, tree.ErrNoBlock
	}
	b, err := s.Block(ctx, n)
	return n, b, err
}

func (s *fileShelf) Block(_ context.Context, n uint64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks.row(int(n - 1))
}

func (s *fileShelf) AppendBlock(_ context.Context, _ uint64, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks.add(b)
}

func (s *fileShelf) EntriesAfter(ctx context.Context, c follow.Cursor, fn func(tree.Entry, tree.Decode)) error {
	err := s.EntriesBetween(ctx, c.Seq+1, uint64(s.entries.count()), func(e tree.Entry) error {
		fn(e, nil)
		return nil
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *fileShelf) EntriesBetween(_ context.Context, from, to uint64, fn func(tree.Entry) error) error {
	for i := int(from) - 1; i < min(int(to), s.entries.count()); i++ { // none is missing
		e, err := s.entry(i)
		if err == nil {
			err = fn(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *fileShelf) EntriesOf(context.Context, string) ([]uint64, error) { return nil, nil }

func (s *fileShelf) RecordsNow(context.Context) (follow.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := follow.Stream{Made: time.Unix(1, 0)}
	if s.blocks.count() > 0 { // the tree begins in an empty record
		now.Last = uint64(s.entries.count())
	}
	return now, nil
}
