package ci

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/ci/report"
	"assent/internal/hook"
)

// testRun is a run of this test program as the agent, under a broker that gives one answer.
type testRun struct {
	run
	out, err buffer
	stopped  bool // the broker
	signal   chan os.Signal
}

// buffer is what two may write to: the agent and the run.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newRun(t *testing.T, mode, answer string) *testRun {
	t.Helper()
	t.Setenv("CI_TEST_AGENT", mode)
	t.Setenv("CI_TEST_VERSION", install.Newest)
	t.Setenv("ASSENT_TOKEN", "secret")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // of the agent, which is this program
	dir := t.TempDir()
	socket := filepath.Join(dir, "broker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	words := []string{os.Args[0], "-p", "hi"}
	agent, err := ParseAgent(words)
	if err != nil {
		t.Fatal(err)
	}
	r := &testRun{signal: make(chan os.Signal, 8)}
	r.signals = r.signal
	r.Options = Options{
		Agent: agent, Timeout: 10 * time.Second, Report: filepath.Join(dir, "report"), Command: words, Version: "1.0.0",
		In: strings.NewReader(""), Out: &r.out, Err: &r.err,
		Start: func(context.Context, context.Context, string) (*Broker, error) {
			return &Broker{
				Target: hookclient.Config{Socket: socket},
				Propose: func(context.Context, *hook.Request) ([]report.Proposal, string) {
					return []report.Proposal{{Rule: "  - action: allow\n"}}, ""
				},
				Stop: func() { r.stopped = true },
			}, os.MkdirAll(r.brokerDir(), 0o700)
		},
		Listen: func(path string) (net.Listener, func(), error) {
			l, err := net.Listen("unix", path)
			return l, func() {}, err
		},
		Hook:     func(socket string) ([]string, error) { return []string{"/bin/assent-hook", "--socket", socket}, nil },
		Settings: func() []install.Settings { return nil },
		ExitCode: func(error) int { return 1 },
	}
	return r
}

// kept is the report in JSON.
func (r *testRun) kept(t *testing.T) report.Run {
	t.Helper()
	text, err := os.ReadFile(r.Report + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var rep report.Run
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestRun(t *testing.T) {
	r := newRun(t, "ask", allow)
	code, err := r.run.run(t.Context())
	if code != 3 || err != nil {
		t.Errorf("%d, %v\n%s", code, err, &r.err)
	}
	if out := r.out.String(); !strings.Contains(out, "hooks: true token:  args: [-p hi]\n") || !strings.Contains(out, "status: 200\n") {
		t.Errorf("the agent said %s", out)
	}
	for _, want := range []string{"assent: asks a broker of its own, where only rules decide; any other request is denied after 10s\n", "assent: allowed Bash: ", "assent: 1 allowed, 0 denied; see " + r.Report + ".md\n"} {
		if !strings.Contains(r.err.String(), want) {
			t.Errorf("no %q in %s", want, &r.err)
		}
	}
	rep := r.kept(t)
	if rep.Exit != 3 || rep.AgentExit == nil || *rep.AgentExit != 3 || rep.Broker != "private" || rep.ClientVersion != install.Newest || len(rep.Requests) != 1 || len(rep.Problems) > 0 {
		t.Errorf("%+v", rep)
	}
	if _, err := os.Stat(r.dir); !os.IsNotExist(err) || !r.stopped {
		t.Errorf("left over: %v, broker stopped: %v", err, r.stopped)
	}
}

func TestRunThatIsDenied(t *testing.T) {
	r := newRun(t, "ask", deny)
	r.FailOnDeny = true
	if code, err := r.run.run(t.Context()); code != Denied || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	rep := r.kept(t)
	if rep.Exit != Denied || *rep.AgentExit != 3 || len(rep.Requests) != 1 || len(rep.Requests[0].Proposals) != 1 || !strings.HasPrefix(rep.Requests[0].Proposals[0].Rule, "  - id: ci-") {
		t.Errorf("%+v", rep)
	}
}

// What the run cannot vouch for is in the report.
func TestProblems(t *testing.T) {
	ours := install.Hook{Event: "PermissionRequest", Ours: true}
	for _, c := range []struct {
		name   string
		change func(*testRun)
		mode   string
		keys   string
	}{
		{"no hook asked", func(*testRun) {}, "mute", "no-hooks"},
		{"a version before -p asked", func(r *testRun) { r.ClientVersion = install.Oldest }, "ask", "no-permission-hook"},
		{"a newer version", func(r *testRun) { r.ClientVersion = major(install.Newest) + ".999.0" }, "ask", "newer-version"},
		{"an unknown version", func(r *testRun) { r.ClientVersion = "99.0.0" }, "ask", "unknown-version"},
		{"no version", func(r *testRun) { r.ClientVersion = "none" }, "ask", "unknown-version"},
		{"another tool decides", func(r *testRun) { r.Agent.decider = "mcp__a__b" }, "ask", "second-decider"},
		{"assent's own tool", func(r *testRun) { r.Agent.decider = "mcp__assent__permission" }, "ask", ""},
		{"settings", func(r *testRun) {
			r.Settings = func() []install.Settings {
				return []install.Settings{{Path: "/s", DisableAllHooks: true, Allow: []string{"Bash"}, Hooks: []install.Hook{ours, {Event: "PermissionRequest"}, {Event: "PreToolUse"}}}}
			}
		}, "ask", "allowed-elsewhere hook-before hooks-disabled second-decider second-decider"},
		{"settings that the agent does not read", func(r *testRun) {
			r.Agent.sources = "project"
			r.Settings = func() []install.Settings {
				return []install.Settings{{Path: "/s", Scope: install.User, Hooks: []install.Hook{ours}}}
			}
		}, "ask", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, c.mode, allow)
			c.change(r)
			if _, err := r.run.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			var keys []string
			rep := r.kept(t)
			for _, p := range rep.Problems {
				keys = append(keys, p.Key)
				if !strings.Contains(r.err.String(), "assent: "+p.Text+"\n") {
					t.Errorf("%q was not said", p.Text)
				}
			}
			slices.Sort(keys)
			if got := strings.Join(keys, " "); got != c.keys {
				t.Errorf("%s, want %s", got, c.keys)
			}
			if unknown := c.keys == "unknown-version"; unknown != (rep.Denied == 1) && c.mode == "ask" {
				t.Errorf("%d denied", rep.Denied)
			}
		})
	}
}

// Whatever fails before the agent starts is in the report, too.
func TestRunThatDoesNotStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testRun)
		code   int
		want   string
	}{
		{"no broker", func(r *testRun) {
			r.Start = func(context.Context, context.Context, string) (*Broker, error) {
				return nil, errors.New("the disk is full")
			}
		}, 7, "the disk is full"},
		{"no socket", func(r *testRun) {
			r.Listen = func(string) (net.Listener, func(), error) { return nil, nil, errors.New("no socket") }
		}, 7, "no socket"},
		{"no hook", func(r *testRun) {
			r.Hook = func(string) ([]string, error) { return nil, errors.New("assent-hook is missing") }
		}, 7, "assent-hook is missing"},
		{"broken settings", func(r *testRun) { r.Agent.settings = "/nonexistent.json" }, 7, "settings for claude: "},
		{"no agent", func(r *testRun) { r.Agent.words = []string{"/nonexistent/claude"}; r.ClientVersion = install.Newest }, 7, "start the agent: "},
		{"a signal", func(r *testRun) {
			start := r.Start
			r.Start = func(ctx, early context.Context, dir string) (*Broker, error) {
				r.signal <- syscall.SIGPIPE // means nothing
				r.signal <- syscall.SIGTERM
				<-early.Done()
				return start(ctx, early, dir)
			}
		}, 128 + 15, "ended by a signal (terminated) before the agent was started"},
		{"a signal, and no broker", func(r *testRun) {
			r.Start = func(_, early context.Context, _ string) (*Broker, error) {
				r.signal <- syscall.SIGINT
				<-early.Done()
				return nil, early.Err()
			}
		}, 128 + 2, "ended by a signal (interrupt) before the agent was started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t, "ask", allow)
			r.ExitCode = func(error) int { return 7 }
			c.change(r)
			code, err := r.run.run(t.Context())
			if code != c.code || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d, %v", code, err)
			}
			if rep := r.kept(t); rep.Exit != c.code || rep.AgentExit != nil || len(rep.Problems) != 1 || rep.Problems[0].Key != "not-started" {
				t.Errorf("%+v", rep)
			}
			if r.out.String() != "" {
				t.Errorf("the agent ran: %s", &r.out)
			}
		})
	}
}

func TestReportThatCannotBeWritten(t *testing.T) {
	r := newRun(t, "mute", allow)
	r.Report = "/nonexistent/report"
	if code, err := r.run.run(t.Context()); code != 1 || err == nil {
		t.Errorf("%d, %v", code, err)
	}
}

// Signals reach the agent, which says how the run ends.
func TestSignalsReachTheAgent(t *testing.T) {
	r := newRun(t, "signal", allow)
	out, in := io.Pipe()
	r.Out = in
	go func() {
		if line, err := bufio.NewReader(out).ReadString('\n'); err == nil && line == "ready\n" {
			r.signal <- syscall.SIGPIPE // is ours alone
			r.signal <- syscall.SIGTERM
		}
	}()
	if code, err := r.run.run(t.Context()); code != 5 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	in.Close()
	if code, err := newRun(t, "killed", allow).run.run(t.Context()); code != 128+9 || err != nil {
		t.Errorf("killed: %d, %v", code, err)
	}
}

func TestAbout(t *testing.T) {
	for want, o := range map[string]Options{
		"asks the broker at https://box; a request waits for 5s at most":                                                        {URL: "https://box", Timeout: 5 * time.Second},
		"asks a broker of its own, where only rules decide; any other request is denied after 5s":                               {Timeout: 5 * time.Second},
		"asks a broker of its own; a request waits for 5s at most; to answer one: assent pending --state-dir /state⟦U+001B⟧[2J": {StateDir: "/state\x1b[2J", Timeout: 5 * time.Second},
	} {
		if got := (&run{Options: o}).about(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A runner of jobs carries out what stands in an output line.
func TestSayHoldsNoCommands(t *testing.T) {
	var b bytes.Buffer
	(&run{Options: Options{Err: &b}}).say("%s", "a ##[endgroup] ##vso[task.complete]")
	if b.String() != "assent: a ## [endgroup] ## vso[task.complete]\n" {
		t.Error(b.String())
	}
}

func TestStartOwn(t *testing.T) {
	away := errors.New("the port is taken")
	serveUntil := func(ended *bool) func(context.Context, func()) error {
		return func(ctx context.Context, ready func()) error {
			ready()
			<-ctx.Done()
			*ended = true
			return ctx.Err()
		}
	}
	t.Run("ready", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			stop, err := StartOwn(t.Context(), t.Context(), "/state", serveUntil(&ended))
			if err != nil || ended {
				t.Fatal(err, ended)
			}
			if stop(); !ended {
				t.Error("stop did not wait")
			}
		})
	})
	for _, c := range []struct {
		name  string
		serve func(context.Context, func()) error
		early time.Duration // 0: never
		want  string
		took  time.Duration
	}{
		{"fails", func(context.Context, func()) error { return away }, 0, "start a broker for this run: the port is taken", 0},
		{"never ready", func(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }, 0, "it is not ready after 20s; is there room in /state?", startTimeout},
		{"does not end either", func(ctx context.Context, _ func()) error { time.Sleep(time.Hour); return nil }, 0, "it is not ready after 20s", startTimeout + stopTimeout},
		{"a signal", func(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }, time.Second, "context deadline exceeded", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				early := t.Context()
				if c.early > 0 {
					var cancel context.CancelFunc
					early, cancel = context.WithTimeout(early, c.early)
					defer cancel()
				}
				start := time.Now()
				stop, err := StartOwn(t.Context(), early, "/state", c.serve)
				if stop != nil || err == nil || !strings.Contains(err.Error(), c.want) || time.Since(start) != c.took {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				time.Sleep(time.Hour) // whoever does not end in time ends later
			})
		})
	}
}
