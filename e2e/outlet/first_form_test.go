package outlet

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"
	_ "modernc.org/sqlite"

	"assent/e2e/rig"
)

// firstForm is a ToolMutationEvent as programs wrote it before assent: these members and no others.
func firstForm(root, tool, payload string) []byte {
	b, err := json.Marshal(map[string]any{
		"event_type": "tool.mutation." + tool, "hook_type": "post_tool_use", "agent_id": "claude-abc123",
		"repo":      map[string]any{"git_root": root, "branch": "main", "head_sha": "9fceb02d0a", "remote_url": nil},
		"file_path": root + "/a.rs", "file_ext": "rs", "lines_changed": 2, "raw_payload": json.RawMessage(payload),
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z"), "source_pid": 4711,
	})
	if err != nil {
		panic(err)
	}
	return b
}

// TestLedgerOfTheFirstForm: a ledger that another program began is taken as it is and written on,
// from messages of that program's form (real RabbitMQ) and by the broker, which is told that each
// tool counts.
func TestLedgerOfTheFirstForm(t *testing.T) {
	t.Parallel()
	r := startRabbit(t)
	d := rig.Serve(t, "--ledger", "--mutation-tools", "*")
	root := d.Repository("shop")
	rig.Must(t, os.Mkdir(root+"/.hookd", 0o755))
	db, err := sql.Open("sqlite", root+"/.hookd/mutations.db")
	rig.Must(t, err)
	ddl, err := os.ReadFile("../../internal/outlet/ledger/testdata/first.sql")
	rig.Must(t, err)
	_, err = db.Exec(string(ddl) + `INSERT INTO mutations (event_type, hook_type, tool_name, agent_id, file_path, branch, head_sha, raw_payload, event_timestamp)
 VALUES ('tool.mutation.edit', 'post_tool_use', 'edit', 'unknown', '/old.rs', 'main', 'abc', '{}', '2026-02-06T15:04:05Z')`)
	rig.Must(t, errors.Join(err, db.Close()))
	tools := func() (names []string) {
		for _, row := range d.Ledger(root) {
			names = append(names, row.Tool)
		}
		slices.Sort(names)
		return names
	}
	if got := tools(); !slices.Equal(got, []string{"edit"}) {
		t.Errorf("before: %q", got)
	}

	c := newConsumer(t, r)
	conn, ch := dialRabbit(t, r)
	defer conn.Close()
	for _, body := range [][]byte{
		firstForm(root, "write", `{"session_id":"s1","tool_name":"Write","tool_use_id":"toolu_1"}`),
		firstForm(root, "write", `{"session_id":"s1","tool_name":"Write","tool_use_id":"toolu_1"}`), // the same call
		firstForm(root, "multiedit", `{"no":"ids"}`),
		firstForm("/no/such/place", "write", `{}`), // another machine's
	} {
		rig.Must(t, ch.PublishWithContext(t.Context(), "hookd.events", "tool.mutation.x", false, false, amqp.Publishing{Body: body}))
	}
	d.Tell(root, "PostToolUse", "Read", "toolu_2", `{"file_path":"a"}`)
	rig.Eventually(t, rig.Soon, "all to be in the ledger", func() bool { return slices.Equal(tools(), []string{"edit", "multiedit", "read", "write"}) })
	c.stop()
	if n := messages(t, r, c.queue+".failed"); n != 0 {
		t.Errorf("%d messages are set aside", n)
	}
	if said := c.out.Tail(1 << 20); !strings.Contains(said, "1 of other machines") {
		t.Errorf("the consumer said %s", said)
	}
}

// TestReaderTokenOfTheEnvironment: readers of the event stream connect with the broker's
// BD_DAEMON_TOKEN, over a restart, and with no other.
func TestReaderTokenOfTheEnvironment(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	const token = "coop-and-bd-share-this-one"
	d.More = []string{"BD_DAEMON_TOKEN=" + token}
	d.Start()
	for range 2 {
		nc, stream := rig.Connect(t, d)
		var info struct{ URL, Token string }
		b, err := os.ReadFile(filepath.Join(d.State, ".runtime", "nats-info.json"))
		rig.Must(t, errors.Join(err, json.Unmarshal(b, &info)))
		if info.Token != token {
			t.Errorf("nats-info.json has another token")
		}
		d.Hook([]byte(`{"session_id":"s","cwd":"/","hook_event_name":"Stop","stop_hook_active":false}`)).Wait()
		seen := rig.ConsumeOn(t, nc, stream)
		rig.Eventually(t, rig.Soon, "an event", func() bool { return len(seen.Take()) > 0 })
		if other, err := nats.Connect(info.URL, nats.Token("another")); err == nil {
			other.Close()
			t.Error("another token is taken")
		}
		if strings.Contains(d.Out.Tail(1<<20), token) {
			t.Error("the token is in the log")
		}
		d.Kill()
		d.Start()
	}
}
