package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assent/internal/agent/claude"
)

var began = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)

func op(operation, content string, at time.Time) string {
	return entry(map[string]any{"type": "queue-operation", "operation": operation, "timestamp": at, "content": content})
}

func user(content any) string {
	return entry(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}, "timestamp": began})
}

func entry(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func write(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	project := filepath.Join(dir, "projects", "-home-dev-app")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "s1.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each line that the real client writes of a text says where it is, and no line that only quotes it.
func TestLook(t *testing.T) {
	text, other := claude.InboxText("Anna, by assent #a", "run \"it\""), claude.InboxText("Anna, by assent #b", "run \"it\"")
	in := "Another Claude session sent a message:\n" + text + "\n\nThis came from another Claude session"
	live := Process{Live: true, Began: began}
	at, late := began.Add(time.Minute), time.Now()
	for _, c := range []struct {
		name  string
		lines string
		p     Process
		want  Standing
	}{
		{"nothing", user("hello"), live, Absent},
		{"the same words of another message", op("enqueue", other, at) + user(other), live, Absent},
		{"in the queue", op("enqueue", text, at), live, Queued},
		{"in the queue, and no process", op("enqueue", text, at), Process{}, Gone},
		{"in the queue of an earlier process", op("enqueue", text, began.Add(-time.Second)), live, Gone},
		{"taken out of the queue", op("enqueue", text, at) + op("popAll", text, at), live, Gone},
		{"just taken out of the queue", op("enqueue", text, at) + op("remove", text, late), live, Queued},
		{"put there again", op("enqueue", text, at) + op("remove", text, at) + op("enqueue", text, at), live, Queued},
		{"read", op("enqueue", text, at) + entry(map[string]any{"type": "queue-operation", "operation": "dequeue"}) + user(in), live, Read},
		{"read, and the process ended", user(in), Process{}, Read},
		{"read in blocks", user([]any{map[string]any{"type": "text", "text": in}}), live, Read},
		{"read while a turn ran", entry(map[string]any{"type": "attachment", "attachment": map[string]any{"type": "queued_command", "prompt": in}}), live, Read},
		{"quoted by a tool", user([]any{map[string]any{"type": "tool_result", "content": in}}), live, Absent},
		{"quoted by the agent", entry(map[string]any{"type": "assistant", "message": map[string]any{"content": in}}), live, Absent},
		{"half a line", op("enqueue", text, at)[:40], live, Absent},
		{"a key twice", `{"type":"queue-operation","type":"queue-operation","operation":"enqueue","content":` + string(mustJSON(text)) + "}\n", live, Absent},
	} {
		got, err := Look(write(t, user("hello")+c.lines), "s1", text, c.p)
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func mustJSON(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
}

// Nothing follows where there is no transcript, and no path out of the directory is followed.
func TestNoTranscript(t *testing.T) {
	dir := write(t, "")
	link := filepath.Join(dir, "projects", "-home-dev-app", "s2.jsonl")
	if err := os.Symlink("s1.jsonl", link); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"none", "../projects/-home-dev-app/s1", "*", "", "s2"} {
		if got, err := Look(dir, session, "x", Process{Live: true}); err == nil || got != Unknown {
			t.Errorf("%q: %v, %v", session, got, err)
		}
	}
}

// Whatever stands in a transcript, reading it ends, and what it cannot prove it does not say.
func FuzzLook(f *testing.F) {
	text := claude.InboxText("Anna, by assent #a", "x")
	f.Add([]byte(op("enqueue", text, began)))
	f.Add([]byte(user(text)))
	f.Add([]byte(fmt.Sprintf(`{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":%s}]}}`, mustJSON(text))))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m mark
		if err := m.lines(bytes.NewReader(b), text); err != nil {
			t.Fatal(err)
		}
		if m.taken && !m.inQueue {
			t.Errorf("%+v", m)
		}
	})
}
