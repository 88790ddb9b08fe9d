package outlet

import (
	"bytes"
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

	"assent/e2e/rig"
	"assent/e2e/rig/rabbitmq"
)

// TestLedgers: two repositories and a linked work tree each have their own ledger, of the real
// hooks that ran in them, and git sees none of it.
func TestLedgers(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--ledger")
	one, two := d.Repository("one"), d.Repository("two")
	linked := filepath.Join(d.Dir, "linked")
	d.Git(one, "worktree", "add", "-q", "-b", "feature/hookd", linked)
	for i, root := range []string{one, two, linked} {
		if err := os.Mkdir(filepath.Join(root, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			d.Tell(filepath.Join(root, "src"), "PostToolUse", "Edit", fmt.Sprintf("%d-%d", i, n), fmt.Sprintf(`{"file_path":"%s/src/main.rs","old_string":"a","new_string":"b\nc\n"}`, root), "CLAUDE_AGENT_ID=agent"+strconv.Itoa(i))
		}
		d.Tell(root, "PreToolUse", "Bash", fmt.Sprintf("%d-b", i), `{"command":"ls"}`)
		d.Tell(root, "PostToolUse", "Read", fmt.Sprintf("%d-r", i), `{"file_path":"x"}`)
	}
	d.Tell(d.Dir, "PostToolUse", "Write", "nowhere", `{"file_path":"x","content":""}`)
	rig.Eventually(t, rig.Soon, "all is stored", func() bool { return d.Metric("assent_ledger_stored_total") == 12 })
	if n := d.Metric("assent_ledger_elsewhere_total"); n != 1 {
		t.Errorf("%v elsewhere, want 1", n)
	}
	for i, root := range []string{one, two, linked} {
		branch, head := d.Git(root, "branch", "--show-current"), d.Git(root, "rev-parse", "HEAD")
		rows := d.Ledger(root, "--since", "1h")
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
			if got := d.Ledger(root, args...); !slices.EqualFunc(got, rows, func(a, b rig.LedgerRow) bool { return a.Event == b.Event }) {
				t.Errorf("%v: %d rows", args, len(got))
			}
		}
		if got := d.Ledger(root, "--hook-type", "all", "--payload"); len(got) != 4 || !bytes.Contains(got[3].Payload, []byte(`"command":"ls"`)) {
			t.Errorf("%s: %d rows in all", root, len(got))
		}
		if got := d.Ledger(root, "--until", "1h"); len(got) != 0 {
			t.Errorf("%d rows are older than an hour", len(got))
		}
		if status := d.Git(root, "status", "--porcelain", "--untracked-files=all"); status != "" {
			t.Errorf("git status in %s: %s", root, status)
		}
	}
	rig.Valid(t, "LedgerSummary", []byte(d.Command("ledger", "stats", "--repo", one, "--json")))

	// Under its other name, in the directory.
	other := filepath.Join(d.Dir, "hookd-query")
	if err := os.Symlink(rig.Program("assent"), other); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(other, "--repo", ".", "--since", "1h")
	cmd.Dir, cmd.Env = filepath.Join(linked, "src"), d.Env()
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("\n")) != 4 || !bytes.Contains(out, []byte("feature/hookd")) {
		t.Errorf("hookd-query: %v\n%s", err, out)
	}
}

// TestLedgersKilled kills the broker again and again under load: the ledgers hold what the stream
// holds, each event once.
func TestLedgersKilled(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--ledger")
	w := newRepoWriters(t, d, 3)
	for i := range kills(t) {
		time.Sleep(time.Duration(i%10) * 30 * time.Millisecond) // at another point of its life each time
		d.Kill()
		d.Start()
	}
	w.stop()
	w.compare()
}

// TestConsumersKilled kills RabbitMQ's reader, the broker and RabbitMQ itself in turns: the ledgers
// hold what the stream holds, each event once.
func TestConsumersKilled(t *testing.T) {
	t.Parallel()
	r := startRabbit(t)
	c := newConsumer(t, r)
	d := rig.Serve(t, "--amqp-url", r.URL())
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
			d.Kill()
			d.Start()
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
	t.Parallel()
	for _, from := range []string{"stream", "rabbitmq"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			var c *ledgerConsumer
			var d *rig.Daemon
			if from == "stream" {
				d = rig.Serve(t, "--ledger")
			} else {
				r := startRabbit(t)
				c = newConsumer(t, r)
				d = rig.Serve(t, "--amqp-url", r.URL())
			}
			good := d.Repository("good")
			broken := map[string]func() (fix func()){}
			roots := map[string]string{}
			for name, spoil := range map[string]func(root string) (fix func()){
				"vanished": func(root string) func() {
					rig.Must(t, os.Rename(root, root+".away"))
					return func() { rig.Must(t, os.Rename(root+".away", root)) }
				},
				"read-only": func(root string) func() { return readOnly(t, root) },
				"corrupt": func(root string) func() {
					db := root + "/.hookd/mutations.db"
					rig.Must(t, errors.Join(os.Mkdir(root+"/.hookd", 0o700), os.WriteFile(db, []byte(strings.Repeat("no database\n", 1000)), 0o600)))
					return func() { rig.Must(t, os.Remove(db)) }
				},
				"link": func(root string) func() {
					victim := filepath.Join(d.Dir, "victim")
					rig.Must(t, errors.Join(os.Mkdir(victim, 0o700), os.Symlink(victim, root+"/.hookd")))
					return func() {
						if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
							t.Errorf("written through the link: %v %v", left, err)
						}
						rig.Must(t, os.Remove(root+"/.hookd"))
					}
				},
			} {
				root := d.Repository(name)
				roots[name], broken[name] = root, func() func() { return spoil(root) }
			}
			var fixes []func()
			for name, root := range roots {
				// The hook finds the repository, and by the time its event is stored it is broken:
				// the headers are those of the hook.
				head := d.Git(root, "rev-parse", "HEAD")
				fixes = append(fixes, broken[name]())
				for n := range 3 {
					d.Post(root, head, mutation(name, n))
					d.Post(good, head, mutation("good-"+name, n))
				}
			}
			for _, bad := range []string{"{", `{"session_id":`, `{"hook_event_name":"PostToolUse","tool_name":7}`, `{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":"x"}`,
				`{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"content":"` + strings.Repeat("x", 10<<20) + `"}}`} {
				d.Post(good, "", []byte(bad))
			}
			d.Post(good, "", mutation("last", 0))
			rig.Eventually(t, 2*rig.Soon, "the others are stored", func() bool { return len(d.LedgerOrNone(good)) == 13 })
			log := &d.Out
			if c != nil {
				log = &c.out
			}
			for name, root := range roots {
				path := root + "/.hookd/mutations.db"
				rig.Eventually(t, rig.Soon, name+" is said", func() bool { return strings.Contains(log.Tail(1<<20), path) })
			}
			if c == nil {
				rig.Eventually(t, rig.Soon, "it is counted", func() bool {
					return d.Metric("assent_ledger_failed_total") == 12 && d.Metric("assent_ledger_waiting") == 4
				})
				if n := d.Metric("assent_ledger_unreadable_total"); n < 2 {
					t.Errorf("%v unreadable", n)
				}
			}
			for _, fix := range fixes {
				fix()
			}
			if c != nil {
				c.stop()
				c.start()
			} else if code := d.Stop(); code != 0 {
				t.Errorf("the broker ended with code %d", code)
			} else {
				d.Start()
			}
			for name, root := range roots {
				rig.Eventually(t, 2*rig.Soon, name+" has what it missed", func() bool { return len(d.LedgerOrNone(root)) == 3 })
			}
			if c == nil {
				rig.Eventually(t, rig.Soon, "none waits", func() bool { return d.Metric("assent_ledger_waiting") == 0 })
			}
		})
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
	rig.Must(t, err)
	return n
}

// readOnly makes a work tree read-only, for root too.
func readOnly(t *testing.T, root string) (fix func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		rig.Must(t, os.Chmod(root, 0o500))
		return func() { rig.Must(t, os.Chmod(root, 0o700)) }
	}
	if out, err := exec.Command("mount", "--bind", root, root).CombinedOutput(); err != nil {
		t.Skipf("root may write everywhere, and cannot mount here: %v\n%s", err, out)
	}
	mounted := true
	fix = func() {
		if mounted {
			mounted = false
			rig.Must(t, exec.Command("umount", "--lazy", root).Run())
		}
	}
	t.Cleanup(fix)
	rig.Must(t, exec.Command("mount", "-o", "remount,bind,ro", root).Run())
	return fix
}

// ledgerConsumer is an assent ledger consume under test.
type ledgerConsumer struct {
	t     *testing.T
	r     *rabbitmq.Server
	queue string
	out   rig.Output
	cmd   *exec.Cmd
}

// newConsumer starts one, whose queue is bound when it returns.
func newConsumer(t *testing.T, r *rabbitmq.Server) *ledgerConsumer {
	t.Helper()
	c := &ledgerConsumer{t: t, r: r, queue: "ledger-test"}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("the consumer said:\n%s", c.out.Tail(4000))
		}
	})
	c.start()
	rig.Eventually(t, rig.Soon, "the queue is bound", func() bool { return strings.Contains(c.out.Tail(1<<20), "reading from queue") })
	return c
}

func (c *ledgerConsumer) start() {
	c.t.Helper()
	c.cmd = exec.Command(rig.Program("assent"), "ledger", "consume", "--queue", c.queue)
	c.cmd.Env = []string{"HOME=" + c.t.TempDir(), "ASSENT_AMQP_URL=" + c.r.URL()}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	rig.Must(c.t, c.cmd.Start())
}

func (c *ledgerConsumer) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
}

// stop ends it politely.
func (c *ledgerConsumer) stop() {
	c.t.Helper()
	rig.Must(c.t, c.cmd.Process.Signal(syscall.SIGTERM))
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
	rig.Must(t, err)
	return q.Messages
}
