package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy/effects"
)

// ran is the event of a call that is over, and its payload.
func ran(t testing.TB, kind, submitter, session string, seq uint64, tool string, input map[string]string) (*hook.Event, *hook.Payload) {
	t.Helper()
	in, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return &hook.Event{Type: kind, Seq: seq, Submitter: submitter, Origin: hook.Origin{ProjectDir: "/srv/shop", Repo: hook.Repo{Root: "/srv/shop"}}},
		&hook.Payload{SessionID: session, CWD: "/srv/shop", ToolName: tool, ToolInput: hook.JSON(in)}
}

func paths(all []effects.Change) (list []string) {
	for _, c := range all {
		list = append(list, c.Path)
	}
	return list
}

// TestChanges: which files a session changed before a request.
func TestChanges(t *testing.T) {
	c := effects.NewChanges("/home/dev")
	for i, x := range []struct {
		kind, submitter, session, tool string
		input                          map[string]string
	}{
		{hook.EventPostToolUse, "u", "s", "Edit", map[string]string{"file_path": "/srv/shop/a.go", "old_string": "a", "new_string": "b"}},
		{hook.EventPostToolUse, "u", "s", "Bash", map[string]string{"command": "cat > b.go <<EOF\nx\nEOF\nsed -i s/a/b/ sub/c.go; mkdir d; gofmt -w .; go build -o bin/x ."}},
		{hook.EventPreToolUse, "u", "s", "Write", map[string]string{"file_path": "/srv/shop/not.go", "content": ""}},
		{hook.EventPostToolUseFailure, "u", "s", "Write", map[string]string{"file_path": "/srv/shop/failed.go", "content": ""}},
		{hook.EventPostToolUseFailure, "u", "s", "Bash", map[string]string{"command": "tee d.go && false"}},
		{hook.EventPostToolUse, "u", "s", "Read", map[string]string{"file_path": "/srv/shop/read.go"}},
		{hook.EventPostToolUse, "u", "other", "Write", map[string]string{"file_path": "/srv/shop/other.go", "content": ""}},
		{hook.EventPostToolUse, "stranger", "s", "Write", map[string]string{"file_path": "/srv/shop/stranger.go", "content": ""}},
		{hook.EventPostToolUse, "u", "s", "NotebookEdit", map[string]string{"notebook_path": "/srv/shop/a.ipynb", "new_source": ""}},
		{hook.EventPostToolUse, "u", "s", "Edit", map[string]string{"file_path": "a.go", "old_string": "a", "new_string": "b"}},
	} {
		e, p := ran(t, x.kind, x.submitter, x.session, uint64(i+1), x.tool, x.input)
		c.Observe(e, p)
		c.Observe(e, p)
	}
	for _, tt := range []struct {
		req  hook.Request
		want string
	}{
		{hook.Request{Submitter: "u", SessionID: "s", EventSeq: 100}, "/srv/shop/a.go /srv/shop/a.ipynb /srv/shop/d.go /srv/shop/sub/c.go /srv/shop/b.go"},
		{hook.Request{Submitter: "u", SessionID: "s", EventSeq: 2}, "/srv/shop/a.go"},
		{hook.Request{Submitter: "u", SessionID: "s", EventSeq: 1}, ""},
		{hook.Request{Submitter: "nobody", SessionID: "s", EventSeq: 100}, ""},
		{hook.Request{Submitter: "u", SessionID: "other", EventSeq: 100}, "/srv/shop/other.go"},
	} {
		if got := strings.Join(paths(c.Before(&tt.req)), " "); got != tt.want {
			t.Errorf("%+v: %s", tt.req, got)
		}
	}
	c.Forget("s")
	if got := c.Before(&hook.Request{Submitter: "u", SessionID: "s", EventSeq: 100}); len(got) > 0 {
		t.Errorf("forgotten, and still there: %v", got)
	}
	if got := c.Before(&hook.Request{Submitter: "u", SessionID: "other", EventSeq: 100}); len(got) != 1 {
		t.Errorf("of the other session: %v", got)
	}
}

// TestChangesBounds: many sessions and files are bounded; the newest stay.
func TestChangesBounds(t *testing.T) {
	c := effects.NewChanges("/home/dev")
	seq := uint64(0)
	write := func(session, name string) {
		seq++
		c.Observe(ran(t, hook.EventPostToolUse, "u", session, seq, "Write", map[string]string{"file_path": name, "content": ""}))
	}
	for i := range 600 {
		write(fmt.Sprint("s", i), "/srv/shop/a.go")
	}
	for i := range 300 {
		write("s599", fmt.Sprintf("/srv/shop/%d.go", i))
	}
	write("s599", "/srv/shop/"+strings.Repeat("x", 5000)+".go")
	before := func(session string) []string {
		return paths(c.Before(&hook.Request{Submitter: "u", SessionID: session, EventSeq: seq + 1}))
	}
	if got := before("s0"); len(got) > 0 {
		t.Errorf("the oldest session: %v", got)
	}
	got := before("s599")
	if len(got) != 128 || got[0] != "/srv/shop" || got[1] != "/srv/shop/299.go" {
		t.Errorf("%d files, %v", len(got), got[:2])
	}
}

// TestChangesFollow: what is stored is known again, from some way back, and what comes.
func TestChangesFollow(t *testing.T) {
	for _, tt := range []struct {
		oldest, newest, from uint64
		err                  error
	}{{1, 10, 1, nil}, {0, 0, 0, nil}, {7, 10_000, 5_000, nil}, {7_000, 10_000, 7_000, nil}, {0, 0, 0, errors.New("unavailable")}} {
		c := effects.NewChanges("/home/dev")
		e, p := ran(t, hook.EventPostToolUse, "u", "s", 11, "Write", map[string]string{"file_path": "/srv/shop/a.go", "content": ""})
		err := c.Follow(t.Context(), func(context.Context) (uint64, uint64, error) { return tt.oldest, tt.newest, tt.err },
			func(_ context.Context, from uint64, each func(hook.Event)) error {
				if from != tt.from {
					t.Errorf("from %d, want %d", from, tt.from)
				}
				each(hook.Event{Type: hook.EventStop, Seq: 9})
				each(*e)
				return context.Canceled
			}, func(_, event string, _ []byte) hook.Payload {
				if event != hook.EventPostToolUse {
					t.Errorf("decodes a %s", event)
				}
				return *p
			})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := c.Before(&hook.Request{Submitter: "u", SessionID: "s", EventSeq: 12}); !slices.Equal(paths(got), []string{"/srv/shop/a.go"}) {
			t.Error(got)
		}
	}
}

// TestRunsChanged: to run code of the project is attention once the session changed what may be run, and
// the reason names the file.
func TestRunsChanged(t *testing.T) {
	var before []effects.Change
	of := effects.New(effects.Options{Home: "/home/dev", Changed: func(*hook.Request) []effects.Change { return before }})
	for _, tt := range []struct {
		changed, command string
		risk             hook.Risk
		why              string
	}{
		{"", "go test ./...", hook.Normal, ""},
		{"/srv/shop/a.go", "go test ./...", hook.Attention, "This session changed a.go before, so what runs is new."},
		{"/srv/shop/a.go /srv/shop/b.go", "go test ./...", hook.Attention, "This session changed a.go and 1 more before, so what runs is new."},
		{"/srv/shop/b.go /srv/shop/a.go", "go run a.go", hook.Attention, "This session changed a.go and 1 more before, so what runs is new."},
		{"/srv/shop/README.md", "go test ./...", hook.Normal, ""},
		{"/srv/shop/README.md", "python3 README.md", hook.Attention, "This session changed README.md before, so what runs is new."},
		{"/srv/shop/requirements.txt", "pytest", hook.Attention, "This session changed requirements.txt before, so what runs is new."},
		{"/srv/other/a.go", "go test ./...", hook.Normal, ""},
		{"/srv/shop/src/a.ts", "npm test", hook.Attention, "This session changed src/a.ts before, so what runs is new."},
		{"/srv/shop/src/a.ts", "make", hook.Attention, "This session changed src/a.ts before, so what runs is new."},
		{"/srv/shop/run.sh", "./run.sh", hook.Attention, "This session changed run.sh before, so what runs is new."},
		{"/srv/shop/src/a.ts", "eslint src", hook.Normal, ""},
		{"/srv/shop/eslint.config.js", "eslint src", hook.Attention, "This session changed eslint.config.js before, so what runs is new."},
		{"/srv/shop/a.go", "ls", hook.Calm, ""},
		{"/srv/shop/a.go", "git status", hook.Calm, ""},
	} {
		t.Run(tt.changed+" "+tt.command, func(t *testing.T) {
			before = nil
			for at := range strings.FieldsSeq(tt.changed) {
				before = append(before, effects.Change{Path: at})
			}
			if e := of(bash(t, tt.command, "/srv/shop")); e.Risk != tt.risk || e.RiskReason != tt.why {
				t.Errorf("%s, %q", e.Risk, e.RiskReason)
			}
		})
	}
}

// TestWritesThenRuns: the same of what the command itself writes first.
func TestWritesThenRuns(t *testing.T) {
	of := effects.Func("/home/dev")
	for _, tt := range []struct {
		command string
		risk    hook.Risk
		names   string // in the reason
	}{
		{"echo x > main.go; go run main.go", hook.Attention, "main.go"},
		{"cat > a_test.go <<EOF\nx\nEOF\ngo test ./...", hook.Attention, "a_test.go"},
		{"cp a.py b.py; python3 -m b", hook.Attention, "b.py"},
		{"tee x.rs < y; cargo run", hook.Attention, "x.rs"},
		{"sed -i s/a/b/ src/x.ts && npm run build", hook.Attention, "src/x.ts"},
		{"mv a.py tests/test_a.py && pytest -q", hook.Attention, ""},
		{"touch x.cs; dotnet test", hook.Attention, "x.cs"},
		{"echo x > A.java; gradle test", hook.Attention, "A.java"},
		{"echo x > A.java && mvn -q test", hook.Attention, "A.java"},
		{"echo x > lib/a.js; node app.js", hook.Attention, "lib/a.js"},
		{"echo x > a.h; make -j4", hook.Attention, "a.h"},
		{"dd of=x.go < y; go vet ./...", hook.Danger, ""},
		{"for i in 1 2; do go run .; echo x > y.go; done", hook.Attention, "y.go"},
		{"go test ./... & echo x > y.go", hook.Attention, "y.go"},
		{"echo x > x.sh; ./x.sh", hook.Danger, ""},
		{"go test ./...; echo x > y.go", hook.Normal, ""},
		{"go test ./... > out.json", hook.Normal, ""},
		{"go test ./... 2>&1 | tee t.go", hook.Normal, ""},
		{"echo x > notes.md; go test ./...", hook.Normal, ""},
		{"mkdir -p x && go test ./...", hook.Normal, ""},
		{"gofmt -w a.go && go test ./...", hook.Normal, ""},
		{"go build -o app . && ./app", hook.Normal, ""},
		{"echo x > a.go; gofmt -l .", hook.Normal, ""},
	} {
		t.Run(tt.command, func(t *testing.T) {
			e := of(bash(t, tt.command, "/srv/shop"))
			if e.Risk != tt.risk || tt.names != "" && !strings.Contains(e.RiskReason, " "+tt.names+" ") {
				t.Errorf("%s, %q: %s", e.Risk, e.RiskReason, e.Sentence)
			}
		})
	}
}

// TestThroughLinks: what goes through a link that the session made before is attention at least, and never
// said to lie inside for certain.
func TestThroughLinks(t *testing.T) {
	for _, tt := range []struct {
		link, tool, input string
		risk              hook.Risk
	}{
		{"ln -s /etc conf", "Bash", "echo x > conf/hosts", hook.Attention},
		{"ln -s /etc conf", "Bash", "echo x > ./conf", hook.Attention},
		{"ln -s /etc conf", "Bash", "cat conf/a.txt", hook.Attention},
		{"ln -s /etc conf", "Bash", "cp a.txt conf/a.txt", hook.Attention},
		{"ln -s /etc conf", "Bash", "echo x > config.txt", hook.Normal},
		{"ln -s /etc", "Bash", "mkdir etc/x", hook.Attention},
		{"ln -sr ../../etc .", "Bash", "touch etc/x", hook.Attention},
		{"cd sub && ln -s /etc conf", "Bash", "echo x > sub/conf/hosts", hook.Attention},
		{"ln -s /etc conf", "Write", "/srv/shop/conf/hosts", hook.Attention},
		{"ln -s /etc conf", "Read", "/srv/shop/conf/hosts", hook.Attention},
		{"ln -s /etc conf", "Read", "/srv/shop/a.txt", hook.Calm},
	} {
		t.Run(tt.link+"; "+tt.tool+" "+tt.input, func(t *testing.T) {
			c := effects.NewChanges("/home/dev")
			c.Observe(ran(t, hook.EventPostToolUse, "u", "s", 1, "Bash", map[string]string{"command": tt.link}))
			of := effects.New(effects.Options{Home: "/home/dev", Changed: c.Before})
			req := bash(t, tt.input, "/srv/shop")
			if tt.tool != "Bash" {
				input := map[string]string{"file_path": tt.input, "content": "x"}
				if tt.tool == "Read" {
					delete(input, "content")
				}
				in, err := json.Marshal(input)
				if err != nil {
					t.Fatal(err)
				}
				req.ToolName, req.ToolInput = tt.tool, hook.JSON(in)
			}
			req.Submitter, req.SessionID, req.EventSeq = "u", "s", 2
			if e := of(req); e.Risk != tt.risk || tt.risk == hook.Attention && !strings.Contains(e.RiskReason, "a link that this session made") {
				t.Errorf("%s, %q: %s", e.Risk, e.RiskReason, e.Sentence)
			}
		})
	}
}

// TestChangesAtOnce: many goroutines tell and ask at the same time.
func TestChangesAtOnce(t *testing.T) {
	c := effects.NewChanges("/home/dev")
	of := effects.New(effects.Options{Home: "/home/dev", Changed: c.Before})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				e, p := ran(t, hook.EventPostToolUse, "u", "s", uint64(g*50+i+1), "Write", map[string]string{"file_path": fmt.Sprintf("/srv/shop/%d.go", g), "content": ""})
				c.Observe(e, p)
				req := bash(t, "go test ./...", "/srv/shop")
				req.Submitter, req.SessionID, req.EventSeq = "u", "s", 1000
				if got := of(req); got.Risk != hook.Attention {
					t.Errorf("%s after a change", got.Risk)
				}
				if i == 49 && g == 0 {
					c.Forget("other")
				}
			}
		})
	}
	wg.Wait()
	if got := c.Before(&hook.Request{Submitter: "u", SessionID: "s", EventSeq: 1000}); len(got) != 8 {
		t.Errorf("%d files", len(got))
	}
}
