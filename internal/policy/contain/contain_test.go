package contain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/store/kvmirror/kvtest"
)

const program = "/usr/local/bin/assent-contain"

// request is one of a session whose shell is known.
func request(t *testing.T, command string) *hook.Request {
	t.Helper()
	dir := t.TempDir()
	snapshots := filepath.Join(dir, "shell-snapshots")
	if err := os.Mkdir(snapshots, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(snapshots, "snapshot-bash-1-a.sh"), []byte("alias -- ll='ls -l'\nfunction grep {\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"command": command, "description": "d"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "transcript_path": filepath.Join(dir, "projects", "p", "s.jsonl"), "tool_name": "Bash", "tool_input": json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	return &hook.Request{
		ID: "r1", SessionID: "s", Agent: "claude", CWD: "/home/dev/project/sub", ToolName: "Bash", ToolInput: input, Raw: raw, Contain: true, Submitter: "user:1@h",
		Origin: hook.Origin{ProjectDir: "/home/dev/project"},
	}
}

func TestRewrite(t *testing.T) {
	g := &Gate{Program: program, Self: "user:1@h"}
	input, why := g.Rewrite(request(t, "cat 'a'"), &hook.Verdict{Programs: []string{"cat"}})
	if why != "" {
		t.Fatal(why)
	}
	original, line, ok := contained.Unwrap(input)
	if want := `'` + program + `' read --project '/home/dev/project' --shell bash -- 'cat '\''a'\'''`; !ok || line != want {
		t.Errorf("line %s, want %s", line, want)
	}
	if text, _ := contained.TextOf(original); text != "cat 'a'" {
		t.Errorf("original %s", original)
	}
}

func TestRewriteWithMore(t *testing.T) {
	g := &Gate{Program: program, Self: "user:1@h"}
	input, why := g.Rewrite(request(t, "cat a"), &hook.Verdict{Programs: []string{"cat"}, ContainReads: []string{"/home/dev/lib"}, ContainEnv: []string{"GOFLAGS"}})
	_, line, ok := contained.Unwrap(input)
	if want := `'` + program + `' read --project '/home/dev/project' --read '/home/dev/lib' --env GOFLAGS --shell bash -- 'cat a'`; !ok || line != want || why != "" {
		t.Errorf("line %s, want %s (%s)", line, want, why)
	}
	if input, why := g.Rewrite(request(t, "cat a"), &hook.Verdict{Programs: []string{"cat"}, ContainReads: []string{"lib"}}); input != nil || why == "" {
		t.Errorf("%s", input)
	}
}

func TestRewriteRefuses(t *testing.T) {
	for name, change := range map[string]func(*Gate, *hook.Request, *[]string){
		"no program":         func(g *Gate, _ *hook.Request, _ *[]string) { g.Program = "" },
		"a hook that cannot": func(_ *Gate, r *hook.Request, _ *[]string) { r.Contain = false },
		"another user":       func(_ *Gate, r *hook.Request, _ *[]string) { r.Submitter = "user:2@h" },
		"nobody knows who":   func(g *Gate, r *hook.Request, _ *[]string) { g.Self, r.Submitter = "", "" },
		"an alias":           func(_ *Gate, _ *hook.Request, p *[]string) { *p = []string{"cat", "ll"} },
		"grep -r": func(_ *Gate, r *hook.Request, p *[]string) {
			*r, *p = *request(t, `cat a | grep '-r' x .`), []string{"cat", "grep"}
		},
		"no transcript":       func(_ *Gate, r *hook.Request, _ *[]string) { r.Raw = []byte("{}") },
		"a transcript beside": func(_ *Gate, r *hook.Request, _ *[]string) { r.Raw = []byte(`{"transcript_path":"/tmp/x/y/z.jsonl"}`) },
		"two commands": func(_ *Gate, r *hook.Request, _ *[]string) {
			r.ToolInput = []byte(`{"command":"cat a","command":"cat b"}`)
		},
		"a relative project": func(_ *Gate, r *hook.Request, _ *[]string) { r.ProjectDir = "project" },
		"everything":         func(_ *Gate, r *hook.Request, _ *[]string) { r.ProjectDir = "/" },
		"a long command": func(_ *Gate, r *hook.Request, _ *[]string) {
			r.ToolInput = []byte(`{"command":"` + strings.Repeat("a", contained.MaxCommand) + `"}`)
		},
	} {
		g, r, programs := &Gate{Program: program, Self: "user:1@h"}, request(t, "cat a"), []string{"cat"}
		change(g, r, &programs)
		if input, why := g.Rewrite(r, &hook.Verdict{Programs: programs}); why == "" || input != nil {
			t.Errorf("%s: %s", name, input)
		}
	}
}

var errNone = errors.New("none")

// store says what a KV of the record says of a key that is not there.
type store struct{ *kvtest.KV }

func (s store) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	value, rev, err := s.KV.Get(ctx, key)
	if err != nil {
		err = fmt.Errorf("%w: %w", errNone, err)
	}
	return value, rev, err
}

func TestFirst(t *testing.T) {
	kv := store{kvtest.New()}
	first := func(session, command, id string, want bool) {
		t.Helper()
		// Every time another broker, or the same one after a start.
		if got, err := NewOnce(kv, errNone).First(t.Context(), session, command, id); err != nil || got != want {
			t.Errorf("First(%s, %s, %s) = %v, %v", session, command, id, got, err)
		}
	}
	first("s", "cat a", "r1", true)
	first("s", "cat a", "r1", true) // it came back
	first("s", "cat a", "r2", false)
	first("s", "cat b", "r3", true)
	first("other", "cat a", "r4", true)
	first("s", "cat a", "r1", true)
	for i := range maxOnce {
		if _, err := NewOnce(kv, errNone).First(t.Context(), "full", fmt.Sprint(i), "r"); err != nil {
			t.Fatal(err)
		}
	}
	first("full", "one more", "r", false)
	first("full", "0", "r", true)
	kv.SetDown(errors.New("down"))
	if ok, err := NewOnce(kv, errNone).First(t.Context(), "s", "cat c", "r5"); ok || err == nil {
		t.Errorf("without the record: %v, %v", ok, err)
	}
}

// Of several brokers that are asked for the same command at once, one lets it run.
func TestFirstOfMany(t *testing.T) {
	kv := store{kvtest.New()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 8 {
		wg.Go(func() {
			ok, err := NewOnce(kv, errNone).First(t.Context(), "s", "cat a", fmt.Sprint("r", i))
			mu.Lock()
			defer mu.Unlock()
			if ok && err == nil {
				won++
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d were the first", won)
	}
}

func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := store{kvtest.New()}
		o := NewOnce(kv, errNone)
		for _, s := range []string{"old", "used"} {
			if _, err := o.First(t.Context(), s, "cat a", "r1"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(keptFor + time.Hour)
		if _, err := o.First(t.Context(), "used", "cat b", "r2"); err != nil {
			t.Fatal(err)
		}
		if err := o.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(kv.Values()); n != 1 {
			t.Errorf("%d sessions are left, want 1", n)
		}
	})
}
