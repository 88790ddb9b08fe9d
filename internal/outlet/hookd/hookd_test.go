package hookd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"assent/internal/agent/claude"
	"assent/internal/hook"
)

// rig is a receiver on a real socket, and a stream that is a list.
type rig struct {
	t    *testing.T
	r    *Receiver
	path string
	stop func() error // ends Serve and waits for it

	mu     sync.Mutex
	events []hook.Event // guarded by mu
	kept   []hook.Event // guarded by mu
	said   []string     // guarded by mu
	broken error        // guarded by mu: what Publish answers
}

func newRig(t *testing.T) *rig {
	t.Helper()
	g := &rig{t: t, path: filepath.Join(t.TempDir(), "s")}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	g.r = New(g.config())
	g.r.cfg.Gone = func() { os.Remove(g.path) }
	g.start(l)
	return g
}

func (g *rig) config() Config {
	return Config{
		Path: g.path, Host: "box",
		Publish: func(_ context.Context, e hook.Event) (uint64, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.broken != nil {
				return 0, g.broken
			}
			e.Raw = append([]byte(nil), e.Raw...)
			g.events = append(g.events, e)
			return uint64(len(g.events)), nil
		},
		Keep: func(_ string, e hook.Event, create bool) (bool, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if create || len(g.kept) > 0 {
				g.kept = append(g.kept, e)
				return true, nil
			}
			return false, nil
		},
		Logf: func(format string, args ...any) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.said = append(g.said, fmt.Sprintf(format, args...))
		},
	}
}

// start serves l until stop, or the end of the test.
func (g *rig) start(l Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.r.Serve(ctx, l) }()
	g.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	g.t.Cleanup(func() { g.stop() })
}

// send is one emitter: it connects, writes and is gone.
func (g *rig) send(text string) {
	g.t.Helper()
	conn, err := net.Dial("unix", g.path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, text) // a receiver that has enough closes
}

// got stops the receiver and returns what it published.
func (g *rig) got() []hook.Event {
	g.t.Helper()
	if err := g.stop(); !errors.Is(err, context.Canceled) {
		g.t.Errorf("Serve ended with %v", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.events
}

// published is how many events the stream has.
func (g *rig) published() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.events)
}

func count(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func line(n int) string {
	return fmt.Sprintf(`{"event_type":"post_tool_use","tool_name":"write","payload":{"tool_name":"Edit","n":%d},"event_id":"%d"}`+"\n", n, n)
}

// TestInOrder: connections that follow one another are told in that order, however many wait, and
// a stop loses none of them.
func TestInOrder(t *testing.T) {
	g := newRig(t)
	const n = 2000
	for i := range n {
		g.send(line(i))
	}
	// A stop has five seconds: however slow the machine is, they do for the last ones.
	g.until(func() bool { return len(g.events) >= n-100 })
	got := g.got()
	if len(got) != n {
		t.Fatalf("%d events of %d; %q", len(got), n, g.said)
	}
	for i, e := range got {
		if e.ID != fmt.Sprint(i) {
			t.Fatalf("%s came where %d was due", e.ID, i)
		}
	}
	if _, err := os.Lstat(g.path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if len(g.said) > 0 {
		t.Errorf("it said %q", g.said)
	}
}

// TestEvent: an envelope becomes an event of this machine's.
func TestEvent(t *testing.T) {
	g := newRig(t)
	before := time.Now()
	g.send("\n \n" + `{"event_type":"pre_tool_use","tool_name":"bash","payload":{"session_id":"s"},"pid":7,"agent_id":"me","repo":{"git_root":"/r","branch":"b","head_sha":"h","remote_url":"https://u:secret@h/x"}}` +
		"\r\n" + `{"event_type":"pre_tool_use","tool_name":"bash","payload":{}}`)
	got := g.got()
	if len(got) != 2 {
		t.Fatalf("%d events", len(got))
	}
	e := got[0]
	if len(e.ID) != 36 || e.ID == got[1].ID || e.Time.Before(before) || e.Time.After(time.Now()) {
		t.Errorf("id %s at %v", e.ID, e.Time)
	}
	e.ID, e.Time = "", time.Time{}
	want := hook.Event{Type: "PreToolUse", Agent: "claude", Attempt: 1, Emitted: true, Tool: "bash", Raw: []byte(`{"session_id":"s"}`),
		Origin: hook.Origin{Host: "box", PID: 7, AgentLabel: "me", Repo: hook.Repo{Root: "/r", Branch: "b", Head: "h", Remote: "https://h/x"}}}
	if fmt.Sprintf("%+v", e) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v\nwant %+v", e, want)
	}
}

// TestRepository: of an envelope that does not say it the broker finds out where it happened, and
// notices when that is another commit.
func TestRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main", ".")
	g := newRig(t)
	var want []hook.Repo
	tell := func(payload, rest string, in bool) {
		t.Helper()
		g.send(`{"event_type":"post_tool_use","tool_name":"write","payload":` + payload + rest + "}\n")
		var r hook.Repo
		if in {
			r = hook.Repo{Root: root, Branch: git("branch", "--show-current"), Head: git("rev-parse", "HEAD")}
		}
		want = append(want, r)
		// The event is read before the repository goes on.
		g.until(func() bool { return len(g.events) == len(want) })
	}
	git("commit", "-q", "--allow-empty", "-m", "one")
	tell(`{}`, `,"cwd":"`+root+`"`, true)
	git("commit", "-q", "--allow-empty", "-m", "two")
	tell(`{"cwd":"`+root+`/new/dir"}`, ``, true)
	git("checkout", "-q", "-b", "side")
	tell(`{"tool_input":{"file_path":"`+root+`/new/file"}}`, ``, true)
	git("checkout", "-q", "--detach")
	git("pack-refs", "--all")
	tell(`{"tool_input":{"notebook_path":"`+root+`/new/file"}}`, `,"repo":null`, true)
	tell(`{"cwd":"/","tool_input":{"file_path":"`+root+`/new/file"}}`, ``, false) // the agent stands elsewhere
	tell(`{"tool_input":{"file_path":"file"}}`, ``, false)
	for i, e := range g.got() {
		if e.Origin.Repo != want[i] {
			t.Errorf("event %d: got %+v, want %+v", i, e.Origin.Repo, want[i])
		}
	}
}

// until waits for what a goroutine is about to do.
func (g *rig) until(ok func() bool) {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		done := ok()
		g.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			g.t.Fatal("it does not come")
		}
	}
}

// TestHostile: whatever a connection brings, the next one is unharmed, and what is wrong is counted
// and said with the path.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct {
		text                     string
		events, unreadable, lost int
	}{
		"nothing":        {"", 0, 0, 0},
		"blank lines":    {"\n\n \r\n\t", 0, 0, 0},
		"not JSON":       {"no\x1b[2J\n", 1, 1, 0},
		"half a line":    {`{"event_type":"post_tool_use","payl`, 1, 1, 0},
		"wrong types":    {`{"event_type":1,"payload":2}` + "\n" + line(1), 2, 1, 0},
		"NUL":            {"\x00\n", 1, 1, 0},
		"deep":           {strings.Repeat("[", 100_000) + "\n", 1, 1, 0},
		"10 MB":          {`{"event_type":"post_tool_use","payload":{"x":"` + strings.Repeat("y", 10<<20) + `"}}` + "\n", 1, 0, 0},
		"many lines":     {strings.Repeat("x\n", 20_000), 20_000, 20_000, 0},
		"beyond measure": {strings.Repeat("y", maxLine+1), 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			g.send(c.text)
			g.send(line(7))
			g.until(func() bool { return count(t, g.r.events)+count(t, g.r.lost) == float64(c.events+c.lost+1) })
			got := g.got()
			if len(got) != c.events+1 || !slices.ContainsFunc(got, func(e hook.Event) bool { return e.ID == "7" }) {
				t.Errorf("%d events, want %d", len(got), c.events+1)
			}
			for _, e := range got {
				if e.Type == claude.Unknown && !strings.Contains(c.text, string(e.Raw)) {
					t.Errorf("kept %.80q", e.Raw)
				}
			}
			if u, l := count(t, g.r.unreadable), count(t, g.r.lost); int(u) != c.unreadable || int(l) != c.lost {
				t.Errorf("%v unreadable, %v lost; want %d, %d", u, l, c.unreadable, c.lost)
			}
			bad := c.unreadable+c.lost > 0
			if said := strings.Join(g.said, "\n"); strings.Contains(said, g.path) != bad || strings.Contains(said, "\x1b") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// TestWarnings: a thousand of them are two lines.
func TestWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, path: "/s"}
		r := New(g.config())
		for i := range 1000 {
			r.warn("number %d", i)
		}
		time.Sleep(time.Second)
		r.warn("number %d", 1000)
		if got := fmt.Sprint(g.said); got != "[number 0 number 1000 (and 999 more warnings before)]" {
			t.Errorf("it said %s", got)
		}
	})
}

// TestStuckStream: a stream that takes nothing, and is slow to say so, does not hold up the end.
func TestStuckStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, path: "/s"}
		cfg := g.config()
		cfg.Publish = func(ctx context.Context, _ hook.Event) (uint64, error) {
			time.Sleep(time.Second)
			return 0, errors.New("no room")
		}
		var kept []string
		cfg.Keep = func(_ string, e hook.Event, create bool) (bool, error) {
			if create {
				time.Sleep(100 * time.Millisecond) // as long as a disk in trouble
				kept = append(kept, e.ID)
			}
			return create, nil
		}
		g.r = New(cfg)
		p := newPipes()
		g.start(p)
		const n = 500
		c := p.dial()
		for i := range n {
			c.Write([]byte(line(i)))
		}
		c.Close()
		synctest.Wait()
		begun := time.Now()
		g.got()
		// After five seconds the stream is not asked again: what is left costs the disk's time only.
		if took := time.Since(begun); len(kept) != n || took > closing+2*time.Second+n*100*time.Millisecond {
			t.Errorf("%d kept of %d, after %v", len(kept), n, took)
		}
		if count(t, g.r.lost) != 0 {
			t.Error("some are lost")
		}
	})
}

// TestKept: what cannot be published waits on disk, and what follows it waits behind it.
func TestKept(t *testing.T) {
	g := newRig(t)
	g.mu.Lock()
	g.broken = errors.New("out of space")
	g.mu.Unlock()
	g.send(line(1))
	g.until(func() bool { return len(g.kept) == 1 })
	g.mu.Lock()
	g.broken = nil
	g.mu.Unlock()
	g.send(line(2))
	g.send(line(3))
	if got := g.got(); len(got) != 0 || len(g.kept) != 3 || g.kept[0].ID != "1" || g.kept[2].ID != "3" || count(t, g.r.lost) != 0 {
		t.Errorf("published %v, kept %v, said %q", got, g.kept, g.said)
	}
	g = newRig(t)
	g.r.cfg.Keep = New(Config{}).cfg.Keep
	g.broken = errors.New("out of space")
	g.send(line(1))
	if g.got(); count(t, g.r.lost) != 1 || len(g.said) != 1 || !strings.Contains(g.said[0], "out of space") || !strings.Contains(g.said[0], g.path) {
		t.Errorf("said %q", g.said)
	}
}

// pipes is a listener whose connections are pipes, for a bubble.
type pipes struct {
	conns  chan net.Conn
	mu     sync.Mutex
	expiry *time.Timer   // guarded by mu
	late   chan struct{} // guarded by mu; closed when the deadline is over
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), late: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	select {
	case c := <-p.conns:
		return c, nil
	case <-late:
		return nil, os.ErrDeadlineExceeded
	}
}
func (p *pipes) Close() error   { return nil }
func (p *pipes) Addr() net.Addr { return nil }
func (p *pipes) SetDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expiry != nil && !p.expiry.Stop() {
		p.late = make(chan struct{}) // the one before is over
	}
	late := p.late
	p.expiry = time.AfterFunc(time.Until(t), func() { close(late) })
	return nil
}

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// TestDawdlers: who says nothing holds up those behind for turnTimeout only, and is gone after
// lineTimeout; and a stop does not wait for it.
func TestDawdlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, path: "/s"}
		g.r = New(g.config())
		p := newPipes()
		g.start(p)
		begun := time.Now()
		slow := p.dial()
		slow.Write([]byte("{"))
		quick := p.dial()
		quick.Write([]byte(line(1)))
		synctest.Wait()
		if g.published() != 0 {
			t.Error("it did not wait for its turn")
		}
		time.Sleep(turnTimeout)
		synctest.Wait()
		if g.published() != 1 {
			t.Error("it waits longer than turnTimeout")
		}
		quick.Write([]byte(line(2)))
		synctest.Wait()
		if g.published() != 2 {
			t.Error("only first lines wait for a turn")
		}
		quick.Close()
		if _, err := slow.Read(make([]byte, 1)); err != io.EOF || time.Since(begun) != lineTimeout {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		synctest.Wait()
		if count(t, g.r.lost) != 1 {
			t.Error("the lost line was not counted")
		}
		idle := p.dial()
		defer idle.Close()
		idle.Write([]byte(line(3)))
		synctest.Wait()
		begun = time.Now()
		g.got()
		if took := time.Since(begun); took > closingLineTimeout {
			t.Errorf("it stopped after %v", took)
		}
		if count(t, g.r.lost) != 1 {
			t.Error("an idle connection lost a line")
		}
	})
}

// TestManyDawdlers: the connections that are served at once are bounded, and those that are not
// served yet lose nothing.
func TestManyDawdlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &rig{t: t, path: "/s"}
		g.r = New(g.config())
		p := newPipes()
		g.start(p)
		for range maxConns {
			defer p.dial().Close()
		}
		dialed := make(chan net.Conn)
		go func() { dialed <- p.dial() }()
		synctest.Wait()
		select {
		case <-dialed:
			t.Fatal("one too many is served")
		default:
		}
		c := <-dialed // when the first one has reached its lineTimeout
		c.Write([]byte(line(1)))
		c.Close()
		if got := g.got(); len(got) != 1 {
			t.Errorf("%d events", len(got))
		}
	})
}
