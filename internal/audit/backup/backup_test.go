package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"assent/internal/audit"
	"assent/internal/audit/backup"
	"assent/internal/hook"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

// keep has a broker's parts write a request that a rule denied, and returns what verifies it. meanwhile is called before they close.
func keep(t *testing.T, dir string, meanwhile func()) (opts audit.VerifyOptions) {
	t.Helper()
	streams, err := stream.Open(t.Context(), stream.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := streams.Close(); err != nil {
			t.Error(err)
		}
	}()
	key, err := tree.LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tree.Open(t.Context(), tree.Config{Store: streams, Key: key, Decode: stream.DecodeEntry})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	id, now := uuid.NewString(), time.Now().UTC()
	asked := hook.Record{ID: uuid.NewString(), RequestID: id, Step: hook.StepAsked, Time: now, Request: &hook.Request{ID: id, ToolName: "Bash", InputSHA256: strings.Repeat("0", 64), CreatedAt: now}}
	after, err := streams.Append(t.Context(), asked, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streams.Append(t.Context(), hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepDecided, Time: now, Outcome: hook.Denied, By: &hook.Approver{Kind: hook.KindRule, ID: "no"},
		Decision: &hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: asked.Request.InputSHA256},
	}, after); err != nil {
		t.Fatal(err)
	}
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	public, err := l.Public()
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	return audit.VerifyOptions{Keys: []note.Verifier{v}, Kept: []tree.Checkpoint{c}, Decode: stream.DecodeEntry}
}

// files are what is below a directory, and when it was changed.
func files(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err == nil {
			all[path] = fi.ModTime()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// What a broker left behind is verified as it would have been exported, and stays as it is.
func TestVerify(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	opts := keep(t, dir, func() {
		if _, err := backup.Verify(t.Context(), dir, audit.VerifyOptions{}); err == nil || !strings.Contains(err.Error(), "a broker works in "+dir) {
			t.Errorf("where a broker works: %v", err)
		}
	})
	before := files(t, dir)
	rep, err := backup.Verify(t.Context(), dir, opts)
	if err != nil || !rep.OK() || rep.Decisions != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	if after := files(t, dir); !reflect.DeepEqual(before, after) {
		t.Errorf("the backup was changed: %v, %v", before, after)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the copy is left: %v, %v", left, err)
	}
	more := opts
	more.Kept = []tree.Checkpoint{opts.Kept[0]}
	more.Kept[0].Size += 100
	if rep, err := backup.Verify(t.Context(), dir, more); err != nil || rep.OK() {
		t.Errorf("a checkpoint that was kept elsewhere has more, and it is %+v, %v", rep, err)
	}
}

// A directory that cannot be verified is an error that says why.
func TestVerifyWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := backup.Verify(t.Context(), dir, audit.VerifyOptions{}); err == nil || !strings.Contains(err.Error(), stream.ErrNoRecord.Error()) {
		t.Errorf("an empty directory: %v", err)
	}
	opts := keep(t, dir, nil)
	key := filepath.Join(dir, tree.KeyFile)
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Verify(t.Context(), dir, opts); err == nil || !strings.Contains(err.Error(), "kept without a tree") {
		t.Errorf("without a key: %v", err)
	}
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(dir, "nats/record/jetstream/*/streams/APPROVALS/msgs/*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(err, "there are no files of the record")
	}
	if err := os.Truncate(blocks[len(blocks)-1], 100); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Verify(t.Context(), dir, opts); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("half of it: %v", err)
	}
}
