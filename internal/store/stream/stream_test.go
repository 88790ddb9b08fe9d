package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		appendUntilKilled()
		return
	}
	os.Exit(leaktest.Main(m, leaktest.NATS()...))
}

// patience bounds a hang only, on a machine that others load.
const patience = time.Minute

// receive is what comes on c. A test that waits for what never comes fails, and does not hang.
func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("nothing came within %v", patience)
	}
	return v
}

// testLog collects what Logf hears; it may be used after the test has ended.
type testLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLog) Logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *testLog) has(part string) bool { return l.count(part) > 0 }

// count is how many lines have part in them.
func (l *testLog) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// show prints the lines if the test failed.
func (l *testLog) show(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Logf("log:\n%s", strings.Join(l.lines, "\n"))
		}
	})
}

// open opens a stream that is closed with the test.
func open(t testing.TB, cfg Config) *Stream {
	t.Helper()
	if cfg.Dir == "" && cfg.URL == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := Open(t.Context(), cfg)
	for end := time.Now().Add(patience); cfg.Replicas > 1 && errors.Is(err, context.DeadlineExceeded) && time.Now().Before(end); {
		s, err = Open(t.Context(), cfg) // a cluster on a busy machine has no leader of a stream for a while
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func asked(t testing.TB) hook.Record {
	t.Helper()
	id := uuid.NewString()
	raw := fmt.Appendf(nil, `{"session_id":"s", "hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input": {"command" : "echo <%s>" } }`, id)
	at := bytes.Index(raw, []byte(`{"command"`))
	return hook.Record{
		ID: uuid.NewString(), RequestID: id, Step: hook.StepAsked, Time: time.Now().UTC(),
		Request: &hook.Request{
			ID: id, SessionID: "s", ToolName: "Bash", Agent: "claude",
			ToolInput: raw[at : len(raw)-2], InputSHA256: "x", PayloadSHA256: "y",
			CreatedAt: time.Now().UTC(), Raw: raw,
		},
	}
}

func decided(requestID string) hook.Record {
	return hook.Record{
		ID: uuid.NewString(), RequestID: requestID, Step: hook.StepDecided, Time: time.Now().UTC(),
		Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: "x"},
	}
}

func mustAppend(t testing.TB, s *Stream, rec hook.Record, after uint64) uint64 {
	t.Helper()
	seq, err := again(func() (uint64, error) { return s.Append(t.Context(), rec, after) })
	if err != nil {
		t.Fatalf("append %s: %v", rec.Step, err)
	}
	return seq
}

// again writes until the stream is there to take it: on a machine that is held up an engine passes for
// silent, and is back soon. What comes twice has one id, and is stored once.
func again(write func() (uint64, error)) (uint64, error) {
	for end := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
		seq, err := write()
		if !errors.Is(err, broker.ErrUnavailable) || time.Now().After(end) {
			return seq, err
		}
	}
}

func TestOpenIsFastAndPrivate(t *testing.T) {
	log := &testLog{}
	log.show(t)
	dir := filepath.Join(t.TempDir(), "state")
	start := time.Now()
	s := open(t, Config{Dir: dir, Listen: "127.0.0.1:0", Logf: log.Logf})
	t.Logf("ready after %v", time.Since(start)) // a figure, not a condition: see BenchmarkOpen
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		// nats-server gives its own directories other modes; no way leads to them.
		if d.IsDir() && (path == dir || filepath.Dir(path) == dir || filepath.Base(path) == "events" || filepath.Base(path) == "record") && info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if name := d.Name(); (name == "lock" || name == "nats-info.json") && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(log.lines) > 0 {
		t.Errorf("a quiet start said %q", log.lines)
	}
}

func TestOpenLocked(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	_, err := Open(t.Context(), Config{Dir: s.cfg.Dir})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("second Open: %v, want a *LockedError with pid %d", err, os.Getpid())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, Config{Dir: s.cfg.Dir})
	if err := again.Healthy(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"nothing":        {Config{}, "neither"},
		"record alone":   {Config{Dir: "x", RecordURL: "nats://127.0.0.1:1"}, "events URL"},
		"no port":        {Config{Listen: "127.0.0.1"}, "HOST:PORT"},
		"port too large": {Config{Listen: "127.0.0.1:70000"}, "65535"},
		"everywhere":     {Config{Listen: "0.0.0.0:0"}, "loopback"},
		"no server":      {Config{URL: "nats://127.0.0.1:1"}, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.cfg.Dir == "" && name != "nothing" {
				tt.cfg.Dir = t.TempDir()
			}
			s, err := Open(t.Context(), tt.cfg)
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want something about %q", err, tt.want)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	s := open(t, Config{})
	tail := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		tail <- s.Tail(t.Context(), 0, func(hook.Record) {}, func() { close(ready) })
	}()
	receive(t, ready)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, tail); !errors.Is(err, ErrClosed) {
		t.Errorf("Tail returned %v", err)
	}
	if err := s.Healthy(); err == nil {
		t.Error("healthy after Close")
	}
	if _, err := s.Append(context.Background(), asked(t), 0); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("Append: %v", err)
	}
	if _, err := s.Publish(context.Background(), hook.Event{ID: "a", Type: "Stop"}); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("Publish: %v", err)
	}
	if _, err := s.LastEventSeq(context.Background()); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("LastEventSeq: %v", err)
	}
	if _, err := s.Records(context.Background(), "a"); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("Records: %v", err)
	}
}
