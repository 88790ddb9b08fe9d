package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

// git runs git in dir, without anybody's configuration.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with a commit, by its real name.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "repo")
	git(t, dir, "init", "-q", "-b", "main", root)
	git(t, root, "commit", "-q", "--allow-empty", "-m", "one")
	return root
}

var day = time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)

// mutation is the n-th of a work tree, a minute after the one before.
func mutation(root string, n int) hook.Mutation {
	file, ext, lines := fmt.Sprintf("%s/file%d.go", root, n%10), "go", int64(n)
	return hook.Mutation{
		EventID: fmt.Sprintf("event-%s-%d", filepath.Base(root), n), EventType: "tool.mutation.write", HookType: "post_tool_use", ToolName: "write",
		AgentID: "unknown", SessionID: "s", Repo: hook.RepoContext{GitRoot: root, Branch: "main", HeadSHA: strings.Repeat("a", 40)},
		FilePath: &file, FileExt: &ext, LinesChanged: &lines,
		RawPayload: hook.JSON(fmt.Sprintf(`{"n":%d}`, n)), Timestamp: day.Add(time.Duration(n) * time.Minute),
	}
}

func add(t testing.TB, root string, list ...hook.Mutation) {
	t.Helper()
	l, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Add(t.Context(), list), l.Close()); err != nil {
		t.Fatal(err)
	}
}

func rows(t testing.TB, root string, f Filter) (list []Row) {
	t.Helper()
	if err := Query(t.Context(), root, f, func(r Row) error {
		list = append(list, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(list []Row) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.EventID)
	}
	return ids
}

func TestAddAndQuery(t *testing.T) {
	root := repository(t)
	m := mutation(root, 1)
	bash := mutation(root, 2)
	bash.EventType, bash.ToolName, bash.HookType = "tool.mutation.bash", "bash", "pre_tool_use"
	bash.FilePath, bash.FileExt, bash.LinesChanged = nil, nil, nil
	bash.Repo.Branch, bash.Repo.HeadSHA = "", "" // detached, unborn
	add(t, root, m, bash)
	got := rows(t, root, Filter{Payload: true})
	if len(got) != 2 {
		t.Fatalf("%d rows", len(got))
	}
	r := got[0]
	if r.ID != 1 || r.EventID != m.EventID || r.EventType != m.EventType || r.HookType != m.HookType || r.ToolName != "write" || r.AgentID != "unknown" ||
		r.SessionID != "s" || *r.FilePath != *m.FilePath || *r.FileExt != "go" || *r.LinesChanged != 1 || r.Branch != "main" || r.HeadSHA != m.Repo.HeadSHA ||
		r.Timestamp != "2026-02-06T12:01:00.000Z" || r.RawPayload != `{"n":1}` {
		t.Errorf("%+v", r)
	}
	if _, err := time.Parse(time.DateTime, r.ReceivedAt); err != nil {
		t.Error(err)
	}
	if b := got[1]; b.FilePath != nil || b.FileExt != nil || b.LinesChanged != nil || b.Branch != "" || b.HeadSHA != "" {
		t.Errorf("%+v", b)
	}
	// The columns and the first columns of the indexes are those that other readers know.
	db, err := sql.Open("sqlite", "file:"+Path(root)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`SELECT group_concat(name) FROM pragma_table_info('mutations')`,
		`SELECT group_concat(l.name || ':' || i.name) FROM (SELECT name FROM pragma_index_list('mutations') ORDER BY name) l, pragma_index_info(l.name) i WHERE i.seqno = 0`,
	} {
		var got string
		if err := db.QueryRow(q).Scan(&got); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"id,event_type,hook_type,tool_name,agent_id,file_path,file_ext,lines_changed,branch,head_sha,raw_payload,event_timestamp,received_at",
			"idx_mutations_agent:agent_id,idx_mutations_branch:branch,idx_mutations_event:event_id,idx_mutations_file:file_path,idx_mutations_hook:hook_type,idx_mutations_timestamp:event_timestamp,idx_mutations_tool:tool_name",
		} {
			if strings.HasPrefix(want, "id,") == strings.HasPrefix(got, "id,") && !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	if fi, err := os.Stat(Path(root)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

func TestExactlyOnce(t *testing.T) {
	root := repository(t)
	add(t, root, mutation(root, 1), mutation(root, 2), mutation(root, 1))
	add(t, root, mutation(root, 2), mutation(root, 3))
	if got := ids(rows(t, root, Filter{})); !slices.Equal(got, []string{"event-repo-1", "event-repo-2", "event-repo-3"}) {
		t.Errorf("%v", got)
	}
}

func TestAddIsAllOrNothing(t *testing.T) {
	root := repository(t)
	l, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Add(ctx, []hook.Mutation{mutation(root, 1)}); err == nil {
		t.Error("no error")
	}
	if got := rows(t, root, Filter{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestFilters(t *testing.T) {
	root := repository(t)
	var list []hook.Mutation
	for n := range 60 {
		m := mutation(root, n)
		if n%2 == 0 {
			m.AgentID = "claude-abc123"
		}
		if n%3 == 0 {
			m.ToolName, m.EventType = "edit", "tool.mutation.edit"
		}
		if n%4 == 0 {
			m.HookType = "pre_tool_use"
		}
		if n >= 30 {
			m.Repo.Branch = "feature/hookd"
		}
		list = append(list, m)
	}
	slices.Reverse(list) // late ones come in any order
	add(t, root, list...)
	for name, f := range map[string]Filter{
		"all":      {},
		"since":    {Since: day.Add(40 * time.Minute)},
		"until":    {Until: day.Add(40 * time.Minute)},
		"between":  {Since: day.Add(10 * time.Minute), Until: day.Add(50 * time.Minute), Branch: "main"},
		"file":     {Files: []string{root + "/file3.go"}},
		"files":    {Files: []string{"no", root + "/file3.go", root + "/file4.go"}},
		"agent":    {Agent: "claude-abc123"},
		"branch":   {Branch: "feature/hookd"},
		"tool":     {Tool: "edit"},
		"hook":     {HookType: "post_tool_use"},
		"together": {Agent: "claude-abc123", Branch: "feature/hookd", Tool: "write", HookType: "post_tool_use", Since: day},
		"newest":   {Newest: 7, Tool: "edit"},
		"newest 2": {Newest: 100},
		"none":     {Agent: "' OR 1=1 --"},
		"far":      {Since: time.Unix(1<<40, 0)},
		"long ago": {Since: time.Unix(-1<<40, 0), Until: day.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, m := range slices.Backward(list) { // by time
				if (f.Since.IsZero() || !m.Timestamp.Before(f.Since)) && (f.Until.IsZero() || m.Timestamp.Before(f.Until)) &&
					(len(f.Files) == 0 || slices.Contains(f.Files, *m.FilePath)) && (f.Agent == "" || f.Agent == m.AgentID) &&
					(f.Branch == "" || f.Branch == m.Repo.Branch) && (f.Tool == "" || f.Tool == m.ToolName) && (f.HookType == "" || f.HookType == m.HookType) {
					want = append(want, m.EventID)
				}
			}
			if f.Newest > 0 {
				want = want[max(0, len(want)-f.Newest):]
			}
			if got := ids(rows(t, root, f)); !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// Pages must neither skip nor repeat rows of one moment.
func TestManyRowsOfOneMoment(t *testing.T) {
	root := repository(t)
	var list []hook.Mutation
	for n := range pageRows + 10 {
		m := mutation(root, n)
		m.Timestamp = day
		list = append(list, m)
	}
	add(t, root, list...)
	if got := rows(t, root, Filter{}); len(got) != len(list) || got[0].ID != 1 || got[pageRows].ID != pageRows+1 {
		t.Errorf("%d rows", len(got))
	}
	stop := errors.New("enough")
	n := 0
	if err := Query(t.Context(), root, Filter{}, func(Row) error { n++; return stop }); !errors.Is(err, stop) || n != 1 || err.Error() != "enough" {
		t.Errorf("%v after %d rows", err, n)
	}
}

func TestSummarize(t *testing.T) {
	root := repository(t)
	for n := range 12 {
		m := mutation(root, n)
		if n == 0 {
			m.FilePath = nil
		}
		add(t, root, m)
	}
	s, err := Summarize(t.Context(), root, time.Time{}, time.Time{})
	if err != nil || s.Rows != 12 || s.Bytes == 0 || s.First != "2026-02-06T12:00:00.000Z" || s.Last != "2026-02-06T12:11:00.000Z" ||
		!slices.Equal(s.Tools, []Count{{"write", 12}}) || len(s.Files) != 10 || s.Files[0] != (Count{root + "/file1.go", 2}) {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = Summarize(t.Context(), root, day.Add(time.Hour), time.Time{}); err != nil || s.Rows != 0 || s.Files == nil {
		t.Errorf("%+v %v", s, err)
	}
}

func TestNoLedgerYet(t *testing.T) {
	root := repository(t)
	if err := Query(t.Context(), root, Filter{}, nil); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(root, ".hookd")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a query made something: %v", err)
	}
}
