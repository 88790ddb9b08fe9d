package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assent/e2e/rig"
)

// docBlock returns the block of code in docs/nats.md that contains a text, from its first line
// to its last.
func docBlock(t *testing.T, language, contains string) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "nats.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(doc), "```"+language+"\n")[1:] {
		if block, _, ok := strings.Cut(part, "```"); ok && strings.Contains(block, contains) {
			return block
		}
	}
	t.Fatalf("docs/nats.md has no block of %s with %q", language, contains)
	return ""
}

// buildDocProgram builds the reader that docs/nats.md shows, as a stranger's program: it knows
// nats.go and nats-info.json.
func buildDocProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(docBlock(t, "go", "func main")), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "reader")
	if b, err := exec.Command("go", "build", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("the program of docs/nats.md does not build: %v\n%s", err, b)
	}
	return out
}

// stranger starts the program of docs/nats.md with a place of its own in the stream.
func stranger(t *testing.T, program, info, name string) *rig.Lines {
	t.Helper()
	cmd := exec.Command(program, info, name)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	return rig.StartLines(t, cmd)
}

// event is a line of the program of docs/nats.md.
type event struct {
	seq              uint64
	subject, id, raw string
}

var errNoEvent = errors.New("no event")

func parseEvent(line string) (e event, err error) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 {
		return e, errNoEvent
	}
	if e.seq, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
		return e, errNoEvent
	}
	e.subject, e.id = parts[1], parts[2]
	e.raw, err = strconv.Unquote(parts[3])
	return e, err
}

func parseEvents(t *testing.T, lines []string) []event {
	t.Helper()
	es := make([]event, len(lines))
	for i, line := range lines {
		var err error
		if es[i], err = parseEvent(line); err != nil {
			t.Fatalf("line %d: %v: %s", i, err, line)
		}
	}
	return es
}

// sessions is a number of agents at work: each runs one hook after the other.
type sessions struct {
	t    *testing.T
	d    *rig.Daemon
	wg   sync.WaitGroup
	mu   sync.Mutex
	sent map[string][]string // guarded by mu; payloads by session, in the order of their hooks
	n    int                 // guarded by mu; hooks that have ended
}

// run lets n sessions run hooks each; it returns at once.
func runSessions(t *testing.T, d *rig.Daemon, n, hooks int) *sessions {
	s := &sessions{t: t, d: d, sent: map[string][]string{}}
	for i := range n {
		session := fmt.Sprintf("session-%d", i)
		s.wg.Go(func() {
			for k := range hooks {
				s.hook(session, k)
			}
		})
	}
	return s
}

// hook runs one hook with a payload of its own.
func (s *sessions) hook(session string, k int) {
	types := []string{"PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "Stop"}
	// Bytes that any decoding and encoding on the way would change.
	p := fmt.Sprintf("{\"session_id\" : %q,\r\n \"hook_event_name\":%q, \"n\": %d, \"é\":\"<\xff&>\\u00e9\", \"f\":1.50e2}\n", session, types[k%len(types)], k)
	out, err := s.d.HookCommand([]byte(p)).CombinedOutput()
	if err != nil || len(out) > 0 {
		s.t.Errorf("hook %d of %s: %v, printed %q", k, session, err, out)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[session] = append(s.sent[session], p)
	s.n++
}

// ended waits until so many hooks have ended.
func (s *sessions) ended(n int) {
	s.t.Helper()
	rig.Eventually(s.t, 3*rig.Soon, fmt.Sprintf("%d hooks have ended", n), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.n >= n
	})
}

// check compares what a reader got with what the hooks sent: every payload byte for byte, each
// once, in order within its session, under one id of its own, on its subject.
func (s *sessions) check(got []event) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]int{}
	ids := map[string]bool{}
	last := uint64(0)
	for _, e := range got {
		var p struct {
			Session string `json:"session_id"`
			Type    string `json:"hook_event_name"`
		}
		if err := json.Unmarshal([]byte(e.raw), &p); err != nil {
			s.t.Fatalf("event %d: %v", e.seq, err)
		}
		k := next[p.Session]
		next[p.Session]++
		switch sent := s.sent[p.Session]; {
		case k >= len(sent):
			s.t.Errorf("event %d of %s: one too many: %q", e.seq, p.Session, e.raw)
		case e.raw != sent[k]:
			s.t.Errorf("event %d is number %d of %s and says %q, want %q", e.seq, k, p.Session, e.raw, sent[k])
		}
		if e.subject != "hooks."+p.Type || e.id == "" || ids[e.id] || e.seq <= last {
			s.t.Errorf("event %d behind %d: subject %s, id %s", e.seq, last, e.subject, e.id)
		}
		ids[e.id], last = true, e.seq
	}
	for session, sent := range s.sent {
		if next[session] != len(sent) {
			s.t.Errorf("%s: %d events of %d", session, next[session], len(sent))
		}
	}
}
