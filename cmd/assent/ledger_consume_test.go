package main

import (
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/outlet/ledger"
)

// A locked ledger is not waited for again and again: all others would wait too.
func TestLockedLedgerIsLeftAlone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	body := func(root, id string) []byte {
		b, err := claude.EncodeMutation(hook.Mutation{EventID: id, EventType: "tool.mutation.bash", HookType: hook.HookPostToolUse, ToolName: "bash", AgentID: "a",
			SessionID: "s", Repo: hook.RepoContext{GitRoot: root}, RawPayload: hook.JSON("{}"), Timestamp: time.Unix(1795273200, 0), Host: "here"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	locked, good := filepath.Join(dir, "locked"), filepath.Join(dir, "good")
	for _, root := range []string{locked, good} {
		if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
			t.Skipf("needs git: %v %s", err, out)
		}
	}
	s := &ledgerSink{host: "here", said: map[string]string{}, rest: map[string]rest{}, logf: t.Logf}
	if errs := s.store(t.Context(), [][]byte{body(locked, "0")}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	db, err := sql.Open("sqlite", ledger.Path(locked))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		try := func(id string, want error) {
			t.Helper()
			if errs := s.store(t.Context(), [][]byte{body(locked, "l"+id), body(good, "g"+id)}); !errors.Is(errs[0], want) || errs[1] != nil {
				t.Errorf("%s: %v, want %v", id, errs, want)
			}
		}
		try("1", ledger.ErrBusy)
		time.Sleep(restFirst)
		try("2", ledger.ErrBusy)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*restFirst - time.Second)
		try("3", ledger.ErrBusy) // for nobody looked
		time.Sleep(time.Second)
		try("4", nil)
		if len(s.rest) > 0 {
			t.Errorf("%v", s.rest)
		}
	})
}
