package audit_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/store/tree"
)

// asked is the question to a broker whose record went on from that of before, nil for none: what GET /v1/audit/checkpoint answers.
func asked(t *testing.T, key *tree.Key, before *shelf, records []hook.Record) (s *shelf, ask func(context.Context, int64) (api.Checkpoint, error), keys []note.Verifier) {
	t.Helper()
	s = &shelf{}
	if before != nil {
		s.entries, s.blocks = slices.Clone(before.entries), slices.Clone(before.written())
	}
	for i := range records {
		s.entries = append(s.entries, entryOf(t, len(s.entries), &records[i]))
	}
	l, opts := exportTo(t, key, s, func() io.Writer { return io.Discard })
	return s, func(ctx context.Context, from int64) (got api.Checkpoint, err error) {
		c, err := l.Checkpoint(ctx)
		if err != nil {
			return got, err
		}
		got.Note = c.Note
		if got.Key, err = l.Public(); err != nil || from == 0 {
			return got, err
		}
		if from > c.Size {
			return got, &api.Problem{Status: 409, Reason: "older"}
		}
		proof, err := l.Consistency(ctx, c.Size, from)
		for _, h := range proof {
			got.Proof = append(got.Proof, h.String())
		}
		return got, err
	}, opts.Keys
}

// TestWatch: each new checkpoint is kept once, also by a later watch, and what a broker must not answer is an alarm.
func TestWatch(t *testing.T) {
	key, all := newKey(t), requests(6)
	first, _, _ := asked(t, key, nil, all[:2])
	then, short, keys := asked(t, key, first, all[2:6])
	_, long, _ := asked(t, key, then, all[6:])
	_, other, _ := asked(t, key, first, slices.Concat(all[4:], all[2:4])) // of the same length, rewritten
	file := filepath.Join(t.TempDir(), "kept.txt")
	ctx := t.Context()

	look := func(w *audit.Watch, size int64) {
		t.Helper()
		c, err := w.Look(ctx)
		if err != nil || (c == nil) != (size == 0) || c != nil && c.Size != size {
			t.Errorf("got %+v, %v, want a new checkpoint of %d leaves (0: none)", c, err, size)
		}
	}
	w := &audit.Watch{Ask: short, Keys: keys, File: file, Skew: time.Hour}
	if err := w.Load(); err != nil {
		t.Fatalf("no file yet: %v", err)
	}
	look(w, 7)
	look(w, 0)
	w.Ask = long
	look(w, 13)

	again := &audit.Watch{Ask: long, Keys: keys, File: file, Skew: time.Hour}
	if err := again.Load(); err != nil {
		t.Fatal(err)
	}
	look(again, 0)
	kept, err := audit.ReadKept(file, keys)
	if err != nil || len(kept) != 2 || kept[0].Size != 7 || kept[1].Size != 13 {
		t.Errorf("kept: %+v, %v", kept, err)
	}

	alarm := func(name, words string, w *audit.Watch) {
		t.Helper()
		_, err := w.Look(ctx)
		if a := (*audit.Alarm)(nil); !errors.As(err, &a) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an alarm with %q", name, err, words)
		}
	}
	again.Ask = short
	alarm("an older record", "older", again)
	again.Ask = other
	alarm("a rewritten record", "rewritten", again)
	again.Ask = func(ctx context.Context, from int64) (api.Checkpoint, error) {
		got, err := long(ctx, from)
		got.Stopped = "the disk is damaged"
		return got, err
	}
	alarm("a tree that has stopped", "the disk is damaged", again)
	again.Ask = func(ctx context.Context, from int64) (api.Checkpoint, error) {
		got, err := long(ctx, from)
		got.Note = strings.Replace(got.Note, "— ", "— x", 1)
		return got, err
	}
	alarm("a checkpoint that nobody signed", "signed", again)

	// Who has kept nothing cannot be told that it is older: a broker that says so is not believed, nor does it stop the program.
	fresh := &audit.Watch{Ask: func(context.Context, int64) (api.Checkpoint, error) {
		return api.Checkpoint{}, &api.Problem{Status: 409, Reason: "older"}
	}, Keys: keys, Skew: time.Hour}
	if _, err := fresh.Look(ctx); err == nil {
		t.Error("an older record than none")
	}

	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&audit.Watch{File: file, Keys: keys}).Load(); err == nil {
		t.Error("a file that is none of checkpoints is read")
	}
}
