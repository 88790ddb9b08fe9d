package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/e2e/rabbitmq"
)

// TestLedgers: two repositories and a linked work tree each have their own ledger, of the real
// hooks that ran in them, and git sees none of it.
func TestLedgers(t *testing.T) {
	t.Parallel()
	d := serve(t, "--ledger")
	one, two := d.repository("one"), d.repository("two")
	linked := filepath.Join(d.dir, "linked")
	d.git(one, "worktree", "add", "-q", "-b", "feature/hookd", linked)
	for i, root := range []string{one, two, linked} {
		if err := os.Mkdir(filepath.Join(root, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			d.tell(filepath.Join(root, "src"), "PostToolUse", "Edit", fmt.Sprintf("%d-%d", i, n), fmt.Sprintf(`{"file_path":"%s/src/main.rs","old_string":"a","new_string":"b\nc\n"}`, root), "CLAUDE_AGENT_ID=agent"+strconv.Itoa(i))
		}
		d.tell(root, "PreToolUse", "Bash", fmt.Sprintf("%d-b", i), `{"command":"ls"}`)
		d.tell(root, "PostToolUse", "Read", fmt.Sprintf("%d-r", i), `{"file_path":"x"}`)
	}
	d.tell(d.dir, "PostToolUse", "Write", "nowhere", `{"file_path":"x","content":""}`)
	eventually(t, soon, "all is stored", func() bool { return d.metric("assent_ledger_stored_total") == 12 })
	if n := d.metric("assent_ledger_elsewhere_total"); n != 1 {
		t.Errorf("%v elsewhere, want 1", n)
	}
	for i, root := range []string{one, two, linked} {
		branch, head := d.git(root, "branch", "--show-current"), d.git(root, "rev-parse", "HEAD")
		rows := d.ledger(root, "--since", "1h")
		if len(rows) != 3 {
			t.Fatalf("%s has %d rows", root, len(rows))
		}
		for _, r := range rows {
			if r.Tool != "edit" || r.Hook != "post_tool_use" || r.Agent != "agent"+strconv.Itoa(i) || r.Branch != branch || r.Head != head ||
				r.File != root+"/src/main.rs" || r.Ext != "rs" || r.Lines == nil || *r.Lines != 2 || r.Session != "s" {
				t.Errorf("%+v", r)
			}
		}
		for _, args := range [][]string{{"--file", "src/main.rs"}, {"--branch", branch}, {"--agent", "agent" + strconv.Itoa(i)}, {"--tool", "Edit"}} {
			if got := d.ledger(root, args...); !slices.EqualFunc(got, rows, func(a, b ledgerRow) bool { return a.Event == b.Event }) {
				t.Errorf("%v: %d rows", args, len(got))
			}
		}
		if got := d.ledger(root, "--hook-type", "all", "--payload"); len(got) != 4 || !bytes.Contains(got[3].Payload, []byte(`"command":"ls"`)) {
			t.Errorf("%s: %d rows in all", root, len(got))
		}
		if got := d.ledger(root, "--until", "1h"); len(got) != 0 {
			t.Errorf("%d rows are older than an hour", len(got))
		}
		if status := d.git(root, "status", "--porcelain", "--untracked-files=all"); status != "" {
			t.Errorf("git status in %s: %s", root, status)
		}
	}
	valid(t, "LedgerSummary", []byte(d.command("ledger", "stats", "--repo", one, "--json")))

	// Under its other name, in the directory.
	other := filepath.Join(d.dir, "hookd-query")
	if err := os.Symlink(program("assent"), other); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(other, "--repo", ".", "--since", "1h")
	cmd.Dir, cmd.Env = filepath.Join(linked, "src"), d.env()
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("\n")) != 4 || !bytes.Contains(out, []byte("feature/hookd")) {
		t.Errorf("hookd-query: %v\n%s", err, out)
	}
}

// TestLedgersKilled kills the broker again and again under load: the ledgers hold what the stream
// holds, each event once.
func TestLedgersKilled(t *testing.T) {
	d := serve(t, "--ledger")
	w := newRepoWriters(t, d, 3)
	for i := range kills(t) {
		time.Sleep(time.Duration(i%10) * 30 * time.Millisecond) // at another point of its life each time
		d.kill()
		d.start()
	}
	w.stop()
	w.compare()
}

// TestConsumersKilled kills RabbitMQ's reader, the broker and RabbitMQ itself in turns: the ledgers
// hold what the stream holds, each event once.
func TestConsumersKilled(t *testing.T) {
	r := startRabbit(t)
	c := newConsumer(t, r)
	d := serve(t, "--amqp-url", r.URL())
	w := newRepoWriters(t, d, 3)
	for i := range kills(t) {
		time.Sleep(time.Duration(i%10) * 30 * time.Millisecond)
		switch {
		case i%10 == 7:
			r.Kill()
			start(t, r)
		case i%2 == 0:
			c.kill()
			c.start()
		default:
			d.kill()
			d.start()
		}
	}
	w.stop()
	w.compare()
	c.stop()
	if n := messages(t, r, c.queue+".failed"); n != 0 {
		t.Errorf("%d messages are set aside", n)
	}
}

// TestBrokenLedgers: what is wrong with one repository holds up no other, is counted and said with
// its path, writes nothing elsewhere, and what was missed is there when it is fixed; from the
// event stream and from RabbitMQ alike.
func TestBrokenLedgers(t *testing.T) {
	for _, from := range []string{"stream", "rabbitmq"} {
		t.Run(from, func(t *testing.T) {
			var c *ledgerConsumer
			var d *daemon
			if from == "stream" {
				d = serve(t, "--ledger")
			} else {
				r := startRabbit(t)
				c = newConsumer(t, r)
				d = serve(t, "--amqp-url", r.URL())
			}
			good := d.repository("good")
			broken := map[string]func() (fix func()){}
			roots := map[string]string{}
			for name, spoil := range map[string]func(root string) (fix func()){
				"vanished": func(root string) func() {
					must(t, os.Rename(root, root+".away"))
					return func() { must(t, os.Rename(root+".away", root)) }
				},
				"read-only": func(root string) func() { return readOnly(t, root) },
				"corrupt": func(root string) func() {
					db := root + "/.hookd/mutations.db"
					must(t, errors.Join(os.Mkdir(root+"/.hookd", 0o700), os.WriteFile(db, []byte(strings.Repeat("no database\n", 1000)), 0o600)))
					return func() { must(t, os.Remove(db)) }
				},
				"link": func(root string) func() {
					victim := filepath.Join(d.dir, "victim")
					must(t, errors.Join(os.Mkdir(victim, 0o700), os.Symlink(victim, root+"/.hookd")))
					return func() {
						if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
							t.Errorf("written through the link: %v %v", left, err)
						}
						must(t, os.Remove(root+"/.hookd"))
					}
				},
			} {
				root := d.repository(name)
				roots[name], broken[name] = root, func() func() { return spoil(root) }
			}
			var fixes []func()
			for name, root := range roots {
				// The hook finds the repository, and by the time its event is stored it is broken:
				// the headers are those of the hook.
				head := d.git(root, "rev-parse", "HEAD")
				fixes = append(fixes, broken[name]())
				for n := range 3 {
					d.post(root, head, mutation(name, n))
					d.post(good, head, mutation("good-"+name, n))
				}
			}
			for _, bad := range []string{"{", `{"session_id":`, `{"hook_event_name":"PostToolUse","tool_name":7}`, `{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":"x"}`,
				`{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"content":"` + strings.Repeat("x", 10<<20) + `"}}`} {
				d.post(good, "", []byte(bad))
			}
			d.post(good, "", mutation("last", 0))
			eventually(t, 2*soon, "the others are stored", func() bool { return len(d.ledgerOrNone(good)) == 13 })
			log := &d.out
			if c != nil {
				log = &c.out
			}
			for name, root := range roots {
				path := root + "/.hookd/mutations.db"
				eventually(t, soon, name+" is said", func() bool { return strings.Contains(log.tail(1<<20), path) })
			}
			if c == nil {
				eventually(t, soon, "it is counted", func() bool {
					return d.metric("assent_ledger_failed_total") == 12 && d.metric("assent_ledger_waiting") == 4
				})
				if n := d.metric("assent_ledger_unreadable_total"); n < 2 {
					t.Errorf("%v unreadable", n)
				}
			}
			for _, fix := range fixes {
				fix()
			}
			if c != nil {
				c.stop()
				c.start()
			} else if code := d.stop(); code != 0 {
				t.Errorf("the broker ended with code %d", code)
			} else {
				d.start()
			}
			for name, root := range roots {
				eventually(t, 2*soon, name+" has what it missed", func() bool { return len(d.ledgerOrNone(root)) == 3 })
			}
			if c == nil {
				eventually(t, soon, "none waits", func() bool { return d.metric("assent_ledger_waiting") == 0 })
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kills is how often a test kills; the promise, ASSENT_E2E_KILLS=20, takes a while.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ASSENT_E2E_KILLS")
	if text == "" {
		return 8
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// readOnly makes a work tree read-only, for root too.
func readOnly(t *testing.T, root string) (fix func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		must(t, os.Chmod(root, 0o500))
		return func() { must(t, os.Chmod(root, 0o700)) }
	}
	if out, err := exec.Command("mount", "--bind", root, root).CombinedOutput(); err != nil {
		t.Skipf("root may write everywhere, and cannot mount here: %v\n%s", err, out)
	}
	mounted := true
	fix = func() {
		if mounted {
			mounted = false
			must(t, exec.Command("umount", "--lazy", root).Run())
		}
	}
	t.Cleanup(fix)
	must(t, exec.Command("mount", "-o", "remount,bind,ro", root).Run())
	return fix
}

// repository makes a git repository with a commit and returns its root by its real name.
func (d *daemon) repository(name string) string {
	d.t.Helper()
	dir, err := filepath.EvalSymlinks(d.dir)
	must(d.t, err)
	root := filepath.Join(dir, name)
	d.git(dir, "init", "-q", "-b", "main", root)
	d.git(root, "commit", "-q", "--allow-empty", "-m", "one")
	return root
}

// git runs git as the agent's user would.
func (d *daemon) git(dir string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(d.env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tell runs a hook in dir.
func (d *daemon) tell(dir, event, tool, id, input string, env ...string) {
	d.t.Helper()
	cmd := d.hookCommand(fmt.Appendf(nil, `{"session_id":"s","cwd":%q,"hook_event_name":%q,"tool_name":%q,"tool_use_id":%q,"tool_input":%s}`, dir, event, tool, id, input))
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		d.t.Fatalf("hook: %v, printed %q", err, out)
	}
}

// ledgerRow is what the tests read of a LedgerRow.
type ledgerRow struct {
	Event   string          `json:"event_id"`
	Hook    string          `json:"hook_type"`
	Tool    string          `json:"tool_name"`
	Agent   string          `json:"agent_id"`
	Session string          `json:"session_id"`
	File    string          `json:"file_path"`
	Ext     string          `json:"file_ext"`
	Lines   *int            `json:"lines_changed"`
	Branch  string          `json:"branch"`
	Head    string          `json:"head_sha"`
	Payload json.RawMessage `json:"raw_payload"`
}

// ledger queries a ledger; it must be there.
func (d *daemon) ledger(root string, args ...string) []ledgerRow {
	d.t.Helper()
	return d.parseRows(d.command(append([]string{"ledger", "query", "--repo", root, "--json"}, args...)...))
}

// ledgerOrNone is every row of a ledger that may not be there yet.
func (d *daemon) ledgerOrNone(root string) []ledgerRow {
	d.t.Helper()
	cmd := exec.Command(program("assent"), "ledger", "query", "--repo", root, "--json", "--hook-type", "all", "--state-dir", d.state)
	cmd.Env = d.env()
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return d.parseRows(string(out))
}

func (d *daemon) parseRows(text string) []ledgerRow {
	d.t.Helper()
	var docs []json.RawMessage
	if err := json.Unmarshal([]byte(text), &docs); err != nil {
		d.t.Fatalf("%v in %s", err, text)
	}
	rows := make([]ledgerRow, len(docs))
	for i, doc := range docs {
		if i < 20 { // to validate thousands takes long
			valid(d.t, "LedgerRow", doc)
		}
		must(d.t, json.Unmarshal(doc, &rows[i]))
	}
	return rows
}

// ledgerConsumer is an assent ledger consume under test.
type ledgerConsumer struct {
	t     *testing.T
	r     *rabbitmq.Server
	queue string
	out   output
	cmd   *exec.Cmd
}

// newConsumer starts one, whose queue is bound when it returns.
func newConsumer(t *testing.T, r *rabbitmq.Server) *ledgerConsumer {
	t.Helper()
	c := &ledgerConsumer{t: t, r: r, queue: "ledger-test"}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("the consumer said:\n%s", c.out.tail(4000))
		}
	})
	c.start()
	eventually(t, soon, "the queue is bound", func() bool { return strings.Contains(c.out.tail(1<<20), "reading from queue") })
	return c
}

func (c *ledgerConsumer) start() {
	c.t.Helper()
	c.cmd = exec.Command(program("assent"), "ledger", "consume", "--queue", c.queue)
	c.cmd.Env = []string{"HOME=" + c.t.TempDir(), "ASSENT_AMQP_URL=" + c.r.URL()}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	must(c.t, c.cmd.Start())
}

func (c *ledgerConsumer) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
}

// stop ends it politely.
func (c *ledgerConsumer) stop() {
	c.t.Helper()
	must(c.t, c.cmd.Process.Signal(syscall.SIGTERM))
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the consumer ended: %v", err)
	}
}

// messages is how many are in a queue.
func messages(t *testing.T, r *rabbitmq.Server, queue string) int {
	t.Helper()
	conn, ch := dialRabbit(t, r)
	defer conn.Close()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	must(t, err)
	return q.Messages
}
