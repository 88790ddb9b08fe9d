package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// A locked ledger is not waited for again and again: all others would wait too.
func TestLockedLedgerIsLeftAlone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mutations := map[string]hook.Mutation{}
	body := func(root, id string) []byte {
		mutations[id] = hook.Mutation{EventID: id, EventType: "tool.mutation.bash", HookType: hook.HookPostToolUse, ToolName: "bash", AgentID: "a",
			SessionID: "s", Repo: hook.RepoContext{GitRoot: root}, RawPayload: hook.JSON("{}"), Timestamp: time.Unix(1795273200, 0), Host: "here"}
		return []byte(id)
	}
	locked, good := filepath.Join(dir, "locked"), filepath.Join(dir, "good")
	for _, root := range []string{locked, good} {
		if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
			t.Skipf("needs git: %v %s", err, out)
		}
	}
	s := &Sink{wait: time.Millisecond, Host: "here", Decode: func(body []byte) (hook.Mutation, error) { return mutations[string(body)], nil }, Logf: t.Logf}
	if errs := s.Store(t.Context(), [][]byte{body(locked, "0")}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	db, err := sql.Open("sqlite", Path(locked))
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
			if errs := s.Store(t.Context(), [][]byte{body(locked, "l"+id), body(good, "g"+id)}); !errors.Is(errs[0], want) || errs[1] != nil {
				t.Errorf("%s: %v, want %v", id, errs, want)
			}
		}
		try("1", ErrBusy)
		time.Sleep(firstDelay)
		try("2", ErrBusy)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*firstDelay - time.Second)
		try("3", ErrBusy) // for nobody looked
		time.Sleep(time.Second)
		try("4", nil)
		if len(s.busy) > 0 {
			t.Errorf("%v", s.busy)
		}
	})
}

// Each message is stored, passed over or to be tried again, and each problem is logged once.
func TestSinkCounts(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Skipf("needs git: %v %s", err, out)
	}
	unreadable := errors.New("no JSON")
	mutations := map[string]hook.Mutation{}
	for id, m := range map[string]hook.Mutation{
		"here": {Host: "here", Repo: hook.RepoContext{GitRoot: root}}, "no host": {Repo: hook.RepoContext{GitRoot: root}},
		"elsewhere": {Host: "there", Repo: hook.RepoContext{GitRoot: root}}, "no repository": {Host: "here"},
		"gone": {Host: "here", Repo: hook.RepoContext{GitRoot: root + "/gone"}}, "gone, no host": {Repo: hook.RepoContext{GitRoot: root + "/gone"}},
	} {
		m.EventID, m.EventType, m.HookType, m.ToolName, m.AgentID, m.SessionID = id, "tool.mutation.bash", hook.HookPostToolUse, "bash", "a", "s"
		m.RawPayload, m.Timestamp = hook.JSON("{}"), time.Unix(1795273200, 0)
		mutations[id] = m
	}
	var log []string
	s := &Sink{
		Host: "here",
		Decode: func(body []byte) (hook.Mutation, error) {
			if m, ok := mutations[string(body)]; ok {
				return m, nil
			}
			return hook.Mutation{}, unreadable
		},
		Logf: func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) },
	}
	for range 2 {
		errs := s.Store(t.Context(), [][]byte{[]byte("here"), []byte("no host"), []byte("elsewhere"), []byte("no repository"), []byte("gone"), []byte("gone, no host"), []byte("\x1b")})
		for i, want := range []error{nil, nil, nil, nil, ErrGone, nil, unreadable} {
			if !errors.Is(errs[i], want) {
				t.Errorf("%d: %v, want %v", i, errs[i], want)
			}
		}
	}
	if s.Stored != 4 || s.Passed != 6 || s.Failed != 4 || len(log) != 2 {
		t.Errorf("%d stored, %d passed, %d failed, %q", s.Stored, s.Passed, s.Failed, log)
	}
}
