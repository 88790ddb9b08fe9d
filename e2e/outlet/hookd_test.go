package outlet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assent/e2e/rig"
	"assent/e2e/rig/emitscript"
	"assent/e2e/rig/modelserver"
)

// serveHookd starts a broker with a hookd socket.
func serveHookd(t *testing.T, args ...string) *rig.Daemon {
	t.Helper()
	d := rig.NewDaemon(t)
	d.Args = append([]string{"--hookd-socket", d.Hookd()}, args...)
	d.Start()
	return d
}

// TestEmitToQuery is the whole way: emit, broker, RabbitMQ, ledger, query. Every field is checked
// that a service on RabbitMQ and a reader of the ledger get.
func TestEmitToQuery(t *testing.T) {
	t.Parallel()
	r := startRabbit(t)
	c := newConsumer(t, r)
	q := bind(t, r, "services", "tool.mutation.*")
	d := serveHookd(t, "--amqp-url", r.URL())
	root := d.Repository("project")
	d.Git(root, "remote", "add", "origin", "https://me:secret@example.com/project.git")
	head := d.Git(root, "rev-parse", "HEAD")
	other := d.Repository("other")
	input := `{"file_path":"` + root + `/src/main.rs","old_string":"a","new_string":"b\nc\n"}`

	began := time.Now()
	// As agents' settings have it: every tool is called "write" there, and the payload knows better.
	d.Emit(d.HookdEmit(), root, `{"session_id":"s1","cwd":"`+root+`","hook_event_name":"PostToolUse","tool_name":"Edit","tool_use_id":"t1","tool_input":`+input+`}`, "post_tool_use", "write")
	// The payload does not say the tool.
	d.Emit(rig.Program("assent-hook"), filepath.Join(root), `{"session_id":"s1","tool_input":`+input+`}`, "emit", "pre_tool_use", "write")
	d.Emit(d.HookdEmit(), other, `{"session_id":"s2","tool_name":"Bash","tool_input":{"command":"make"}}`, "post_tool_use_failure")
	d.Emit(d.HookdEmit(), root, `{"session_id":"s1","tool_name":"Read","tool_input":{"file_path":"x"}}`, "post_tool_use", "read")
	want := []string{"tool.mutation.edit post_tool_use", "tool.mutation.write pre_tool_use", "tool.mutation.bash post_tool_use_failure"}
	bare := ""
	if _, err := exec.LookPath("jq"); err == nil {
		if _, err := exec.LookPath("socat"); err == nil {
			bare = filepath.Join(d.Dir, "script")
			rig.Must(t, os.WriteFile(bare, []byte(emitscript.Text), 0o700))
			d.Git(root, "checkout", "-q", "-b", "feature/hookd")
			d.Emit(bare, d.Dir, `{"session_id":"s3","cwd":"`+root+`","tool_name":"Write","tool_use_id":"t4","tool_input":{"file_path":"`+root+`/x","content":"1\n"}}`, "post_tool_use", "edit")
			want = append(want, "tool.mutation.write post_tool_use")
		}
	}
	if bare == "" {
		t.Log("no jq or socat here: the script is left out")
	}

	got := q.all(t, len(want))
	var lines []string
	for _, m := range got {
		rig.Valid(t, "ToolMutationEvent", m.body)
		lines = append(lines, m.key+" "+m.doc.HookType)
	}
	if !slices.Equal(lines, want) {
		t.Fatalf("%q, want %q", lines, want)
	}
	var m map[string]any
	rig.Must(t, json.Unmarshal(got[0].body, &m))
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(m["timestamp"]))
	if err != nil || at.Before(began) || at.After(time.Now()) {
		t.Errorf("timestamp %v: %v", m["timestamp"], err)
	}
	host, err := os.Hostname()
	rig.Must(t, err)
	delete(m, "timestamp")
	if id, _ := m["event_id"].(string); len(id) != 36 {
		t.Errorf("event id %v", m["event_id"])
	}
	event := m["event_id"]
	delete(m, "event_id")
	var expected map[string]any
	rig.Must(t, json.Unmarshal([]byte(`{"event_type":"tool.mutation.edit","hook_type":"post_tool_use","tool_name":"edit","agent_id":"reviewer","session_id":"s1","tool_use_id":"t1","host":"`+host+`",
		"repo":{"git_root":"`+root+`","branch":"main","head_sha":"`+head+`","remote_url":"https://example.com/project.git"},
		"file_path":"`+root+`/src/main.rs","file_ext":"rs","lines_changed":2,"source_pid":4711,
		"raw_payload":{"session_id":"s1","cwd":"`+root+`","hook_event_name":"PostToolUse","tool_name":"Edit","tool_use_id":"t1","tool_input":`+input+`}}`), &expected))
	if a, b := fmt.Sprint(m), fmt.Sprint(expected); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}

	var rows []rig.LedgerRow
	rig.Eventually(t, rig.Soon, "the rows are in the ledgers", func() bool {
		rows = d.LedgerOrNone(root)
		return len(rows) == len(want)-1 && len(d.LedgerOrNone(other)) == 1
	})
	first := d.Ledger(root, "--since", "1h", "--payload")[0]
	if first.Event != event || first.Hook != "post_tool_use" || first.Tool != "edit" || first.Agent != "reviewer" || first.Session != "s1" || first.File != root+"/src/main.rs" ||
		first.Ext != "rs" || first.Lines == nil || *first.Lines != 2 || first.Branch != "main" || first.Head != head || !bytes.Contains(first.Payload, []byte(`"tool_use_id":"t1"`)) {
		t.Errorf("row %+v", first)
	}
	if pre := d.Ledger(root, "--hook-type", "pre_tool_use"); len(pre) != 1 || pre[0].Tool != "write" || pre[0].Agent != "reviewer" || pre[0].Head != head {
		t.Errorf("rows %+v", pre)
	}
	if bash := d.Ledger(other, "--hook-type", "post_tool_use_failure"); len(bash) != 1 || bash[0].Tool != "bash" || bash[0].File != "" || bash[0].Lines != nil || bash[0].Session != "s2" {
		t.Errorf("rows %+v", bash)
	}
	if bare != "" {
		// The script says neither agent nor repository; the broker found the latter.
		b := d.Ledger(root, "--branch", "feature/hookd")
		if len(b) != 1 || b[0].Tool != "write" || b[0].Agent != "unknown" || b[0].Head != head || b[0].File != root+"/x" || *b[0].Lines != 1 {
			t.Errorf("rows %+v", b)
		}
	}
	c.stop()
}

// TestEmitOnceBesideHooks: an agent's own hook and hookd-emit tell of the same call; it counts once.
func TestEmitOnceBesideHooks(t *testing.T) {
	t.Parallel()
	d := serveHookd(t, "--ledger")
	root := d.Repository("project")
	for n := range 10 {
		payload := mutation("s", n)
		hook := d.HookCommand(payload)
		hook.Dir = root
		if n%2 == 0 {
			d.Emit(d.HookdEmit(), root, string(payload), "post_tool_use")
		}
		if out, err := hook.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v, printed %q", err, out)
		}
		if n%2 == 1 {
			d.Emit(d.HookdEmit(), root, string(payload), "post_tool_use")
		}
	}
	d.Emit(d.HookdEmit(), root, string(mutation("s", 10)), "post_tool_use")
	rig.Eventually(t, rig.Soon, "the last is there", func() bool { return len(d.LedgerOrNone(root)) >= 11 })
	if rows := d.Ledger(root); len(rows) != 11 {
		t.Errorf("%d rows, want 11", len(rows))
	}
}

// TestEmitBurst: a hundred emitters at once and a burst of 10,000 envelopes, each on a connection
// of its own: none is lost, and those of one agent are in order.
func TestEmitBurst(t *testing.T) {
	d := serveHookd(t, "--ledger")
	emit, root := d.HookdEmit(), d.Repository("project")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for n := range 10 {
				d.Emit(emit, root, string(mutation(fmt.Sprintf("real%d", i), n)), "post_tool_use")
			}
		})
	}
	wg.Wait()
	const agents, each = 50, 200
	var refused atomic.Int64
	for i := range agents {
		wg.Go(func() {
			for n := range each {
				line := fmt.Sprintf(`{"event_type":"post_tool_use","tool_name":"write","payload":%s,"cwd":%q}`+"\n", mutation(fmt.Sprintf("burst%d", i), n), root)
				for {
					conn, err := net.Dial("unix", d.Hookd())
					if errors.Is(err, syscall.EAGAIN) { // the queue is full; hookd-emit waits, too
						refused.Add(1)
						time.Sleep(time.Millisecond)
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := conn.Write([]byte(line)); err != nil {
						t.Error(err)
					}
					conn.Close()
					break
				}
			}
		})
	}
	wg.Wait()
	rig.Eventually(t, 6*rig.Soon, "all is taken", func() bool { return d.Metric("assent_hookd_events_total") == 100+agents*each })
	if lost, bad := d.Metric("assent_hookd_lost_total"), d.Metric("assent_hookd_unreadable_total"); lost+bad != 0 {
		t.Errorf("%v lost, %v unreadable", lost, bad)
	}
	rig.Eventually(t, 6*rig.Soon, "all is stored", func() bool { return d.Metric("assent_ledger_stored_total") >= 100+agents*each })
	rows := d.Ledger(root, "--payload")
	next := map[string]int{}
	for _, r := range rows {
		var p struct {
			Input struct {
				N int `json:"n"`
			} `json:"tool_input"`
		}
		rig.Must(t, json.Unmarshal(r.Payload, &p))
		if p.Input.N != next[r.Session] {
			t.Fatalf("%s: %d came where %d was due", r.Session, p.Input.N, next[r.Session])
		}
		next[r.Session]++
	}
	total := 0
	for _, n := range next {
		total += n
	}
	if total != 100+agents*each || len(next) != 10+agents {
		t.Errorf("%d events of %d sessions are in the ledger", total, len(next))
	}
	t.Logf("%d connections found the queue full", refused.Load())
}

// TestHookdSocket: what a killed broker left is replaced, another program's is left alone, and a
// polite stop takes in what has come and takes the socket away.
func TestHookdSocket(t *testing.T) {
	t.Parallel()
	d := serveHookd(t)
	d.Kill()
	if _, err := os.Lstat(d.Hookd()); err != nil {
		t.Fatal(err)
	}
	d.Start()
	if fi, err := os.Lstat(d.Hookd()); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	for name, want := range map[string]string{"live": "another broker answers", "file": "is no socket", "own": "choose another"} {
		other := rig.NewDaemon(t)
		path := d.Hookd()
		switch name {
		case "file":
			path = filepath.Join(other.Dir, "file")
			rig.Must(t, os.WriteFile(path, []byte("mine"), 0o600))
		case "own":
			path = other.Socket
		}
		other.Args = []string{"--hookd-socket", path}
		other.Launch()
		<-other.Ended
		if code := other.Cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(other.Out.Tail(1000), want) || !strings.Contains(other.Out.Tail(1000), path) {
			t.Errorf("%s: code %d, said %s", name, code, other.Out.Tail(1000))
		}
	}
	const n = 200
	for i := range n {
		conn, err := net.Dial("unix", d.Hookd())
		rig.Must(t, err)
		_, err = fmt.Fprintf(conn, `{"event_type":"post_tool_use","tool_name":"write","payload":%s}`+"\n", mutation("s", i))
		rig.Must(t, err)
		conn.Close()
	}
	if code := d.Stop(); code != 0 {
		t.Errorf("the broker ended with code %d", code)
	}
	if _, err := os.Lstat(d.Hookd()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	cmd := exec.Command(d.HookdEmit(), "post_tool_use")
	cmd.Env, cmd.Stdin = append(d.Env(), "HOOKD_SOCKET="+d.Hookd()), bytes.NewReader(mutation("s", 0))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("without a socket: %v, printed %q", err, out)
	}
	d.Start()
	if got := d.Streamed(); len(got) != n {
		t.Errorf("%d of %d events were taken in before the stop", len(got), n)
	}
}

// TestHookdHostile: what is no envelope is counted, named with the path, and kept; the next one is
// unharmed, and nothing of it is taken for an agent's event.
func TestHookdHostile(t *testing.T) {
	t.Parallel()
	d := serveHookd(t, "--ledger")
	root := d.Repository("project")
	send := func(text string) {
		t.Helper()
		conn, err := net.Dial("unix", d.Hookd())
		rig.Must(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		rig.Must(t, err)
	}
	good := func(n int) {
		send(fmt.Sprintf(`{"event_type":"post_tool_use","tool_name":"write","payload":%s,"cwd":"%s"}`+"\n", mutation("good", n), root))
	}
	bad := []string{
		"not JSON\n", `{"event_type":"post_tool_use","payload":{"tool`, `{"event_type":7,"payload":[]}` + "\n",
		`{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}` + "\n",
		`{"event_type":"PermissionRequest","tool_name":"Bash","payload":{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}}` + "\n",
		strings.Repeat("[", 100_000) + "\n",
	}
	for n, text := range bad {
		send(text)
		good(n)
	}
	send(`{"event_type":"post_tool_use","tool_name":"write","payload":{"tool_name":"Write","tool_input":{"content":"` + strings.Repeat("y", 10<<20) + `"}},"cwd":"` + root + `"}` + "\n")
	send(`{"event_type":"post_tool_use","tool_name":"write","payload":"text","cwd":"` + root + `"}` + "\n")
	good(len(bad))
	d.Emit(d.HookdEmit(), root, "\xffnot JSON\n\x1b[2J", "post_tool_use", "write")
	rig.Eventually(t, rig.Soon, "the good ones are stored", func() bool { return len(d.LedgerOrNone(root)) == len(bad)+1 })
	rig.Eventually(t, rig.Soon, "the bad ones are counted", func() bool {
		return d.Metric("assent_hookd_unreadable_total") == float64(len(bad)) && d.Metric("assent_ledger_unreadable_total") == 3
	})
	if said := d.Out.Tail(1 << 20); !strings.Contains(said, "hookd socket "+d.Hookd()) || strings.Contains(said, "\x1b[2J") {
		t.Errorf("the broker said %s", said)
	}
	if n := len(d.Streamed()); n != 2*len(bad)+4 {
		t.Errorf("%d events are in the stream", n)
	}
	if p := d.Pending(); len(p) > 0 {
		t.Errorf("requests came about: %+v", p)
	}
}

// TestClaudeEmits: what the real client writes and edits stands in the ledger once, with hookd-emit
// beside assent's own hooks; and its feed tells each call once.
func TestClaudeEmits(t *testing.T) {
	t.Parallel()
	a := rig.NewAgent(t)
	a.Stop()
	a.Args = []string{"--ledger", "--hookd-socket", a.Hookd()}
	a.Start()
	work := a.Config.Work()
	rig.Must(t, os.MkdirAll(filepath.Join(work, ".claude"), 0o700))
	a.Git(work, "init", "-q", "-b", "main")
	a.Git(work, "commit", "-q", "--allow-empty", "-m", "one")
	root, head := a.Git(work, "rev-parse", "--show-toplevel"), a.Git(work, "rev-parse", "HEAD")
	command := func(args string) []any {
		line := "HOOKD_SOCKET='" + a.Hookd() + "' HOOKD_DEBUG=1 '" + a.HookdEmit() + "' " + args + " 2>>'" + a.Dir + "/emit.log'"
		return []any{map[string]any{"type": "command", "command": line}}
	}
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{
		"PostToolUse": []any{
			map[string]any{"matcher": "Write|Edit|MultiEdit", "hooks": command("post_tool_use write")},
			map[string]any{"matcher": "Bash", "hooks": command("post_tool_use bash")},
		},
		"PreToolUse": []any{map[string]any{"matcher": ".*", "hooks": command("pre_tool_use $TOOL_NAME")}},
	}})
	rig.Must(t, err)
	rig.Must(t, os.WriteFile(filepath.Join(work, ".claude/settings.json"), settings, 0o600))
	file := root + "/notes.md"
	run := a.Headless(
		[]modelserver.Use{{Name: "Write", Input: map[string]any{"file_path": file, "content": "one\ntwo\n"}}},
		[]modelserver.Use{{Name: "Edit", Input: map[string]any{"file_path": file, "old_string": "two", "new_string": "2\n3\n4"}}},
		[]modelserver.Use{a.Touch("made")})
	for range 3 {
		r := a.WaitPending(1)[0]
		a.Allow(r)
		a.Until(r.ID, "is over", func(r rig.Request) bool { return r.State == "ended" })
	}
	a.Result(run)
	if said, err := os.ReadFile(a.Dir + "/emit.log"); err != nil || len(said) > 0 {
		t.Errorf("hookd-emit said %q, %v", said, err)
	}
	rig.Eventually(t, rig.Soon, "both ways are through", func() bool { return a.Metric("assent_hookd_events_total") == 6 })
	var rows []rig.LedgerRow
	rig.Eventually(t, rig.Soon, "six steps in the ledger", func() bool {
		rows = a.LedgerOrNone(root)
		return len(rows) >= 6
	})
	rows = a.Ledger(root)
	if len(rows) != 3 || len(a.Ledger(root, "--hook-type", "all")) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range []struct {
		tool, file string
		lines      int
	}{{"write", file, 2}, {"edit", file, 2}, {"bash", "", -1}} {
		r, lines := rows[i], -1
		if r.Lines != nil {
			lines = *r.Lines
		}
		if r.Tool != want.tool || r.File != want.file || lines != want.lines || r.Branch != "main" || r.Head != head {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	calls := map[string]int{}
	for _, doc := range a.WholeFeed(rows[0].Session) {
		var ev struct{ Kind string }
		rig.Must(t, json.Unmarshal(doc, &ev))
		calls[ev.Kind]++
	}
	if calls["tool.pre"] != 3 || calls["tool.post"] != 3 {
		t.Errorf("the feed has %v", calls)
	}
	emitted := 0
	for _, e := range a.Streamed() {
		if e.Emitted {
			emitted++
		}
	}
	if emitted != 6 {
		t.Errorf("%d of the stream's events came from hookd-emit", emitted)
	}
}
