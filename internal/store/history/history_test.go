package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/hook"
	"assent/internal/store/stream"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Main(m, leaktest.NATS()...))
}

// patience is how long a test waits for something that must happen. It is no measurement.
const patience = 60 * time.Second

// forgetIn is Forget of streams over whose record there is no tree.
func forgetIn(s *stream.Stream) func(context.Context, []uint64, []string, func(hook.Event) bool) error {
	return func(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error {
		return s.Forget(ctx, events, requests, isIts, nil)
	}
}

// rig is a history on real streams.
type rig struct {
	t       testing.TB
	dir     string
	streams *stream.Stream
	cfg     Config

	h    *History
	stop func()

	mu   sync.Mutex
	said []string // guarded by mu
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	var err error
	if r.streams, err = stream.Open(t.Context(), stream.Config{Dir: r.dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.halt()
		if err := r.streams.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Logf("log:\n%s", strings.Join(r.said, "\n"))
		}
	})
	r.cfg = Config{
		Path:   filepath.Join(r.dir, "history.db"),
		Events: r.streams.EventsAfter, Records: r.streams.RecordsAfter, EventsNow: r.streams.EventsNow, RecordsNow: r.streams.RecordsNow,
		Settled: r.streams.Settled, EventBounds: r.streams.EventBounds, Forget: forgetIn(r.streams),
		Decode: decode, Logf: r.logf,
	}
	return r
}

func decode(agent, event string, raw []byte) (hook.Payload, hook.Detail) {
	p, _ := agents.Reader(agent).Decode(event, raw)
	return p, agents.Reader(agent).Detail(event, raw)
}

func (r *rig) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *rig) saidSo(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.said, "\n"), part)
}

// start begins a history on the file.
func (r *rig) start() *History {
	r.t.Helper()
	h, err := Open(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	r.h = h
	r.stop = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run ended with %v", err)
		}
	}
	return h
}

func (r *rig) halt() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

func (r *rig) catchUp() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := r.h.CaughtUp(ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) publish(e hook.Event) uint64 {
	r.t.Helper()
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	if e.Agent == "" {
		e.Agent = "claude"
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	seq, err := again(func() (uint64, error) { return r.streams.Publish(r.t.Context(), e) })
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

// again writes until the streams are there to take it: on a machine that is held up they pass for
// silent, and are back soon. What comes twice has one id, and is stored once.
func again(write func() (uint64, error)) (uint64, error) {
	for end := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
		seq, err := write()
		if !errors.Is(err, broker.ErrUnavailable) || time.Now().After(end) {
			return seq, err
		}
	}
}

// event publishes a payload with members as JSON, such as `"prompt":"hello"`.
func (r *rig) event(session, typ, members string) uint64 {
	r.t.Helper()
	if members != "" {
		members = "," + members
	}
	return r.publish(hook.Event{Type: typ, Raw: fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":%q,"cwd":"/home/dev/app"%s}`, session, typ, members)})
}

// request publishes a PermissionRequest and records that it was asked.
func (r *rig) request(session, command string) (id string, asked uint64) {
	r.t.Helper()
	id = uuid.NewString()
	input := fmt.Sprintf(`{"command":%q}`, command)
	raw := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":%s}`, session, input)
	seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
	return id, r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
		ID: id, SessionID: session, ToolName: "Bash", ToolInput: hook.JSON(input), Agent: "claude", Raw: raw,
		CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(),
	}}, 0)
}

func (r *rig) append(rec hook.Record, after uint64) uint64 {
	r.t.Helper()
	rec.ID, rec.Time = uuid.NewString(), time.Now().UTC()
	seq, err := again(func() (uint64, error) { return r.streams.Append(r.t.Context(), rec, after) })
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

func (r *rig) decide(id string, asked uint64, message string) uint64 {
	r.t.Helper()
	d := &hook.Decision{Behavior: hook.BehaviorAllow}
	outcome := hook.Allowed
	if message != "" {
		d, outcome = &hook.Decision{Behavior: hook.BehaviorDeny, Message: message}, hook.Denied
	}
	return r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: outcome, Decision: d, By: &hook.Approver{Kind: "device", Name: "phone"}}, asked)
}

// dump is every row of the file.
func (r *rig) dump() []string {
	r.t.Helper()
	db, err := sql.Open("sqlite", dsn(r.cfg.Path, "rw"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	var out []string
	for _, table := range []string{"cursor", "sessions", "feed", "raw", "gaps", "events", "requests", "decisions", "messages"} {
		rows, err := db.Query("SELECT * FROM " + table + " ORDER BY 1, 2")
		if err != nil {
			r.t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				r.t.Fatal(err)
			}
			line := table
			for i, v := range values {
				if b, ok := v.([]byte); ok && len(b) > 0 && (columns[i] == "body" || columns[i] == "fold" || columns[i] == "info") {
					if v, err = unpack(b); err != nil {
						r.t.Fatal(err)
					}
				}
				line += fmt.Sprintf("\t%s=%s", columns[i], fmt.Sprint(text(v)))
			}
			out = append(out, line)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := db.Exec("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)"); err != nil {
		r.t.Errorf("the index does not fit the rows: %v", err)
	}
	return out
}

func text(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

func (r *rig) removeFile() {
	r.t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(r.cfg.Path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Fatal(err)
		}
	}
}

// sameRows compares two dumps.
func sameRows(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("row %d of %d and %d differs:\n got %s\nwant %s", i, len(got), len(want), g, w)
		}
	}
}

// TestRevokedKey: the entry of a key that was revoked is about no session, nor is that of a device that had a request on its screen,
// and what comes behind them is kept as ever.
func TestRevokedKey(t *testing.T) {
	r := newRig(t)
	h := r.start()
	r.event("one", "UserPromptSubmit", `"prompt":"mend the bicycle"`)
	r.append(hook.Record{RequestID: hook.KeyEntry("UOAyR2k"), Step: hook.StepRevoked, By: &hook.Approver{Kind: hook.KindOwner}, Revoked: &hook.RevokedKey{DeviceID: "d", DeviceName: "phone"}}, 0)
	r.append(hook.Record{RequestID: hook.ShownEntry("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), Step: hook.StepShown, By: &hook.Approver{Kind: hook.KindDevice, ID: "d", Name: "phone"}}, 0)
	r.event("two", "UserPromptSubmit", `"prompt":"ring the bell"`)
	r.catchUp()
	list, err := h.Sessions(t.Context(), SessionCursor{}, 10)
	if err != nil || len(list) != 2 {
		t.Errorf("there are %+v, %v", list, err)
	}
}
