package effects

import (
	"fmt"
	"reflect"
	"testing"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// What is remembered is what would be said anew, whatever differs between two requests.
func TestMemo(t *testing.T) {
	var changed []Change
	r := newReader(Options{Home: "/home/dev", Changed: func(*hook.Request) []Change { return changed }})
	fresh := func(req *hook.Request) *hook.Effects {
		return newReader(r.Options).read(req, changed)
	}
	base := hook.Request{ToolName: tools.Bash, Agent: "claude", ToolInput: hook.JSON(`{"command":"git push && ./build.sh ../other/x"}`), CWD: "/home/dev/p", Origin: hook.Origin{ProjectDir: "/home/dev/p"}}
	vary := map[string]func(*hook.Request){
		"nothing":  func(*hook.Request) {},
		"input":    func(q *hook.Request) { q.ToolInput = hook.JSON(`{"command":"rm -rf /"}`) },
		"cwd":      func(q *hook.Request) { q.CWD = "/home/dev" },
		"project":  func(q *hook.Request) { q.ProjectDir = "/home/dev/other" },
		"root":     func(q *hook.Request) { q.Repo.Root = "/home/dev" },
		"branch":   func(q *hook.Request) { q.Repo.Branch = "main" },
		"tool":     func(q *hook.Request) { q.ToolName = "Frobnicate" },
		"agent":    func(q *hook.Request) { q.Agent = "codex" },
		"a form":   func(q *hook.Request) { q.Event = hook.EventElicitation },
		"two ways": func(q *hook.Request) { q.Uninspectable = "case" },
		"a file": func(q *hook.Request) {
			q.ToolName, q.ToolInput = tools.Write, hook.JSON(`{"file_path":"/home/dev/p/a","content":"b"}`)
		},
		"the other": func(q *hook.Request) {
			q.ToolName, q.ToolInput = tools.Write, hook.JSON(`{"file_path":"/home/dev/p/a","content":"b"}`)
			q.Overwrites = &hook.Overwrites{Exists: true}
		},
	}
	for _, before := range [][]Change{nil, {{Path: "/home/dev/p/build.sh"}}, {{Path: "/home/dev/p/build.sh", Link: true}}, nil} {
		changed = before
		for range 2 {
			for name, change := range vary {
				q := base
				change(&q)
				if got, want := r.of(&q), fresh(&q); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, after %v: %+v, want %+v", name, before, got, want)
				}
			}
		}
	}
	// It does read less.
	if n := testing.AllocsPerRun(100, func() { r.of(&base) }); n > 2 {
		t.Errorf("what is remembered takes %v allocations", n)
	}
}

// The memory holds the newest.
func TestMemoHoldsTheNewest(t *testing.T) {
	r := newReader(Options{Home: "/home/dev"})
	q := hook.Request{ToolName: tools.Bash, Agent: "claude", CWD: "/p"}
	var last *hook.Effects
	for i := range 3 * maxMemo {
		q.ToolInput = fmt.Appendf(nil, `{"command":"touch %d"}`, i)
		last = r.of(&q)
	}
	if r.of(&q) != last {
		t.Error("the newest is forgotten")
	}
}
