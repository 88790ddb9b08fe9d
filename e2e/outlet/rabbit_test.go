package outlet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	"assent/e2e/rig"
	"assent/e2e/rig/rabbitmq"
)

// TestRabbitMQAway stops RabbitMQ while agents work and starts it again: no hook notices, and
// afterwards every event is there once and each session's in order. How long it is away says
// ASSENT_E2E_OUTAGE; the promise is a minute at 300 events a second.
func TestRabbitMQAway(t *testing.T) {
	t.Parallel()
	outage := 4 * time.Second
	if text := os.Getenv("ASSENT_E2E_OUTAGE"); text != "" {
		var err error
		if outage, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r := startRabbit(t)
	q := bind(t, r, "away", "tool.mutation.#")
	d := rig.Serve(t, "--amqp-url", r.URL())
	rig.Eventually(t, rig.Soon, "the broker is connected", func() bool { return d.Metric("assent_amqp_connected") == 1 })

	w := newWriters(t, d, 6, 50)
	w.goesOn()
	r.Stop()
	begun := time.Now()
	rig.Eventually(t, rig.Soon, "the broker notices", func() bool { return d.Metric("assent_amqp_connected") == 0 })
	time.Sleep(outage - time.Since(begun))
	if lag := d.Metric("assent_amqp_lag_events"); lag < 1 {
		t.Errorf("while RabbitMQ is away the lag is %v", lag)
	}
	start(t, r)
	away := time.Since(begun)
	w.goesOn()
	w.stop()
	rate := float64(w.total()) / time.Since(w.begun).Seconds()
	rig.Eventually(t, 3*rig.Soon, "all is passed on", func() bool { return d.Metric("assent_amqp_lag_events") == 0 })
	t.Logf("RabbitMQ was away for %v; %d events, %.0f a second", away.Round(time.Second/10), w.total(), rate)
	w.check(q.all(t, w.total()))
}

// TestRabbitMQKilled kills, in turns and under load, the broker and RabbitMQ: whoever drops the
// message ids it has seen gets each event once, and each session's in order. ASSENT_E2E_KILLS says
// how often the broker is killed.
func TestRabbitMQKilled(t *testing.T) {
	t.Parallel()
	kills := 6
	if text := os.Getenv("ASSENT_E2E_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := startRabbit(t)
	q := bind(t, r, "killed", "tool.mutation.#")
	d := rig.Serve(t, "--amqp-url", r.URL())
	w := newWriters(t, d, 4, 75)
	w.wg.Go(w.hooks) // one more session, of real hooks, which spool while the broker is away
	for i := range kills {
		// At another point of its life each time: while it connects, catches up, follows.
		time.Sleep(time.Duration(i%6) * 100 * time.Millisecond)
		d.Kill()
		d.Start()
		if i%3 == 1 {
			r.Kill()
			start(t, r)
		}
	}
	w.stop()
	// The spool of the real hooks is read when the broker sees it.
	var got []delivery
	rig.Eventually(t, 6*rig.Soon, "all is passed on", func() bool {
		got = append(got, q.some(t)...)
		ids := map[string]bool{}
		for _, m := range got {
			ids[m.id] = true
		}
		return len(ids) >= w.total()
	})
	t.Logf("%d events, %d messages", w.total(), len(got))
	w.check(got)
	if code := d.Stop(); code != 0 {
		t.Errorf("the broker ended with code %d", code)
	}
	if rest := q.some(t); len(rest) > 0 {
		t.Errorf("a stop that is polite repeated %d messages", len(rest))
	}
}

// TestRabbitMQOfRealHooks: what a service on RabbitMQ gets of the hooks of one call, and that
// nothing else is sent there.
func TestRabbitMQOfRealHooks(t *testing.T) {
	t.Parallel()
	r := startRabbit(t)
	q := bind(t, r, "hooks", "tool.mutation.*")
	d := rig.Serve(t)
	d.Hook(mutation("before", 1)).Wait() // nobody asked for RabbitMQ yet
	d.Stop()
	d.Args = []string{"--amqp-url", r.URL()}
	d.Start()
	for _, p := range [][]byte{
		[]byte(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Edit","tool_use_id":"t1","tool_input":{"file_path":"/r/a.go","new_string":"x\n"}}`),
		[]byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit","tool_use_id":"t1","tool_input":{"file_path":"/r/a.go","new_string":"x\n"}}`),
		[]byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit","tool_use_id":"t1","tool_input":{"file_path":"/r/a.go","new_string":"x\n"}}`),
		[]byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_use_id":"t2","tool_input":{"file_path":"/r/a.go"}}`),
		[]byte(`{"session_id":"s","hook_event_name":"Stop"}`),
		[]byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":7}`),
		[]byte(`not JSON`),
		[]byte(`{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"mcp__db.x__run","tool_use_id":"t3","tool_input":{}}`),
	} {
		cmd := d.HookCommand(p)
		cmd.Env = append(cmd.Env, "CLAUDE_AGENT_ID=reviewer", "CLAUDE_PID=4711")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v, printed %q", err, out)
		}
	}
	got := q.all(t, 3)
	var lines []string
	for _, m := range got {
		rig.Valid(t, "ToolMutationEvent", m.body)
		lines = append(lines, m.key+" "+m.doc.HookType+" "+m.doc.AgentID+" "+strconv.Itoa(m.doc.SourcePID))
	}
	want := []string{"tool.mutation.edit pre_tool_use reviewer 4711", "tool.mutation.edit post_tool_use reviewer 4711", "tool.mutation.mcp__db_x__run post_tool_use_failure reviewer 4711"}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", lines, want)
	}
	rig.Eventually(t, rig.Soon, "all is passed by", func() bool { return d.Metric("assent_amqp_lag_events") == 0 })
	if n := d.Metric("assent_amqp_repeated_total"); n != 1 {
		t.Errorf("%v repeated, want 1", n)
	}
	if n := d.Metric("assent_amqp_unreadable_total"); n != 1 {
		t.Errorf("%v unreadable, want 1", n)
	}
}

// startRabbit starts a RabbitMQ of the test's own.
func startRabbit(t *testing.T) *rabbitmq.Server {
	t.Helper()
	rig.Need(t, "rabbitmq")
	r, err := rabbitmq.New(rig.TempDir(t), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	start(t, r)
	return r
}

func start(t *testing.T, r *rabbitmq.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// queue is a durable queue that a service bound to the exchange.
type queue struct {
	r    *rabbitmq.Server
	name string
}

// delivery is a message as a service gets it.
type delivery struct {
	id, key string
	body    []byte
	doc     struct {
		EventID   string `json:"event_id"`
		HookType  string `json:"hook_type"`
		AgentID   string `json:"agent_id"`
		SessionID string `json:"session_id"`
		SourcePID int    `json:"source_pid"`
		Lines     *int   `json:"lines_changed"`
		Payload   struct {
			Input struct {
				N int `json:"n"`
			} `json:"tool_input"`
		} `json:"raw_payload"`
	}
}

func bind(t *testing.T, r *rabbitmq.Server, name, key string) queue {
	t.Helper()
	conn, ch := dialRabbit(t, r)
	defer conn.Close()
	if err := ch.ExchangeDeclare("hookd.events", "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(name, key, "hookd.events", false, nil); err != nil {
		t.Fatal(err)
	}
	return queue{r, name}
}

func dialRabbit(t *testing.T, r *rabbitmq.Server) (*amqp.Connection, *amqp.Channel) {
	t.Helper()
	conn, err := amqp.Dial(r.URL())
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Log())
	}
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return conn, ch
}

// some takes what is in the queue.
func (q queue) some(t *testing.T) (got []delivery) {
	t.Helper()
	conn, ch := dialRabbit(t, q.r)
	defer conn.Close()
	for {
		m, ok, err := ch.Get(q.name, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		d := delivery{id: m.MessageId, key: m.RoutingKey, body: m.Body}
		if err := json.Unmarshal(m.Body, &d.doc); err != nil {
			t.Fatalf("%v in %s", err, m.Body)
		}
		if d.id != d.doc.EventID || m.DeliveryMode != amqp.Persistent || m.ContentType != "application/json" {
			t.Errorf("message %+v", m)
		}
		got = append(got, d)
	}
}

// all takes messages until n with different ids have come.
func (q queue) all(t *testing.T, n int) (got []delivery) {
	t.Helper()
	ids := map[string]bool{}
	rig.Eventually(t, 3*rig.Soon, fmt.Sprintf("%d messages", n), func() bool {
		for _, m := range q.some(t) {
			ids[m.id] = true
			got = append(got, m)
		}
		return len(ids) >= n
	})
	return got
}

// writers are agents at work: each is a session that writes a file again and again.
type writers struct {
	t      *testing.T
	d      *rig.Daemon
	ctx    context.Context
	cancel context.CancelFunc
	begun  time.Time
	wg     sync.WaitGroup
	mu     sync.Mutex
	sent   map[string]int // guarded by mu; events of each session
}

// newWriters starts sessions that each tell of rate events a second, one after the other. The
// transport is that of assent-hook without its process.
func newWriters(t *testing.T, d *rig.Daemon, sessions, rate int) *writers {
	w := &writers{t: t, d: d, sent: map[string]int{}, begun: time.Now()}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() { w.stop() })
	for i := range sessions {
		w.wg.Go(func() { w.post(fmt.Sprintf("s%d", i), rate) })
	}
	return w
}

func (w *writers) post(session string, rate int) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.d.Socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: rig.Soon}
	begun := time.Now()
	for n := 0; ; n++ {
		due := begun.Add(time.Duration(n) * time.Second / time.Duration(rate))
		select {
		case <-time.After(time.Until(due)):
		case <-w.ctx.Done():
			return
		}
		id, body := uuid.NewString(), mutation(session, n)
		for !w.posted(client, id, body) {
			time.Sleep(5 * time.Millisecond) // while the broker is away
		}
		w.mu.Lock()
		w.sent[session] = n + 1
		w.mu.Unlock()
	}
}

// posted reports whether the broker took the event.
func (w *writers) posted(client *http.Client, id string, body []byte) bool {
	req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return true
	}
	req.Header.Set("Assent-Request-Id", id)
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return err == nil && res.StatusCode == http.StatusNoContent
}

// hooks is a session of real hooks, one after the other.
func (w *writers) hooks() {
	for n := 0; w.ctx.Err() == nil; n++ {
		if out, err := w.d.HookCommand(mutation("hooks", n)).CombinedOutput(); err != nil || len(out) != 0 {
			w.t.Errorf("hook %d: %v, printed %q", n, err, out)
		}
		w.mu.Lock()
		w.sent["hooks"] = n + 1
		w.mu.Unlock()
	}
}

// mutation is the payload of the n-th write of a session.
func mutation(session string, n int) []byte {
	return fmt.Appendf(nil, `{"session_id":%q,"cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"Write","tool_use_id":"toolu_%s_%d",`+
		`"tool_input":{"file_path":"/tmp/f.go","content":"line\nline\n","n":%d},"tool_response":{}}`, session, session, n, n)
}

// stop ends the sessions, each after the event it is at.
func (w *writers) stop() {
	w.cancel()
	w.wg.Wait()
}

// goesOn waits until 100 more events were told.
func (w *writers) goesOn() {
	w.t.Helper()
	told := w.total()
	rig.Eventually(w.t, rig.Soon, "events go on", func() bool { return w.total() >= told+100 })
}

func (w *writers) total() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sent := range w.sent {
		n += sent
	}
	return n
}

// check: without those whose id came before, the messages of each session are its events, in order.
func (w *writers) check(got []delivery) {
	w.t.Helper()
	seen, next := map[string]bool{}, map[string]int{}
	for _, m := range got {
		if seen[m.id] {
			continue
		}
		seen[m.id] = true
		s := m.doc.SessionID
		if n := m.doc.Payload.Input.N; n != next[s] {
			w.t.Fatalf("session %s: event %d came where %d was due", s, n, next[s])
		}
		next[s]++
		if m.key != "tool.mutation.write" || m.doc.Lines == nil || *m.doc.Lines != 2 {
			w.t.Fatalf("%s: %s", m.key, m.body)
		}
	}
	for s, sent := range w.sent {
		if next[s] != sent {
			w.t.Errorf("session %s: %d events came of %d", s, next[s], sent)
		}
	}
}
