package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"assent/internal/agent/acp"
	"assent/internal/tool/leaktest"
)

// TestMain is the agent, too: see agent.
func TestMain(m *testing.M) {
	if kind := os.Getenv("ASSENT_TEST_AGENT"); kind != "" {
		os.Exit(agent(kind))
	}
	os.Exit(leaktest.Main(m))
}

const (
	request = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}`
	hello   = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`
	yes     = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`
	no      = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}`
	cancel  = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`
)

// agent speaks to its editor: "asks" answers initialize, asks, and says then what it hears; "status" ends
// at once; "deaf" ends on SIGTERM alone.
func agent(kind string) int {
	in := bufio.NewScanner(os.Stdin)
	switch kind {
	case "status":
		fmt.Print("last words")
		return 7
	case "deaf":
		fmt.Println("here")
		time.Sleep(time.Hour)
	}
	for in.Scan() {
		switch line := in.Text(); {
		case strings.Contains(line, `"initialize"`):
			fmt.Println(hello)
			fmt.Println(request)
		default:
			fmt.Println("heard " + line)
		}
	}
	return 0
}

// editor is one, on real pipes with an agent behind a proxy.
type editor struct {
	t    *testing.T
	in   *os.File
	out  *bufio.Scanner
	done chan int
}

func start(t *testing.T, ctx context.Context, kind string, ask func(context.Context, *acp.Question, int) acp.Decision) *editor {
	t.Helper()
	t.Setenv("ASSENT_TEST_AGENT", kind)
	toProxy, in, err1 := os.Pipe()
	out, fromProxy, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	e := &editor{t, in, bufio.NewScanner(out), make(chan int, 1)}
	go func() {
		status, err := Run(ctx, Config{Argv: []string{os.Args[0]}, In: toProxy, Out: fromProxy, Err: os.Stderr, Ask: ask})
		if err != nil {
			t.Error(err)
		}
		fromProxy.Close()
		e.done <- status
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		toProxy.Close()
	})
	return e
}

func (e *editor) say(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) hears(want ...string) {
	e.t.Helper()
	for _, w := range want {
		if !e.out.Scan() || e.out.Text() != w {
			e.t.Fatalf("the editor hears %q, want %q", e.out.Text(), w)
		}
	}
}

// leaves hangs up, and wants the agent's status.
func (e *editor) leaves(status int) {
	e.t.Helper()
	e.in.Close()
	for e.out.Scan() {
		e.t.Errorf("the editor hears %q", e.out.Text())
	}
	if got := <-e.done; got != status {
		e.t.Errorf("exit status %d", got)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`

func TestSomebodyElseFirst(t *testing.T) {
	for _, x := range []struct {
		d    acp.Decision
		line string
	}{{acp.Allowed, yes}, {acp.Denied, no}} {
		answer := make(chan struct{})
		e := start(t, t.Context(), "asks", func(context.Context, *acp.Question, int) acp.Decision { <-answer; return x.d })
		e.say(initialize)
		e.hears(hello, request)
		close(answer)
		if !e.out.Scan() {
			t.Fatal("nothing is heard")
		}
		heard := []string{e.out.Text()}
		e.out.Scan()
		heard = append(heard, e.out.Text())
		if a, b := heard[0], heard[1]; a != "heard "+x.line && b != "heard "+x.line || a != cancel && b != cancel {
			t.Errorf("%q", heard)
		}
		e.say(yes) // too late
		e.say("more")
		e.hears("heard more")
		e.leaves(0)
	}
}

func TestEditorFirst(t *testing.T) {
	withdrawn := make(chan struct{})
	e := start(t, t.Context(), "asks", func(ctx context.Context, q *acp.Question, pid int) acp.Decision {
		if pid <= 0 {
			t.Error("no process")
		}
		<-ctx.Done()
		close(withdrawn)
		return acp.Allowed // however late that is
	})
	e.say(initialize)
	e.hears(hello, request)
	e.say(no)
	e.hears("heard " + no)
	<-withdrawn
	e.leaves(0)
}

// Whatever is wrong with who is asked, lines pass.
func TestBroken(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *acp.Question, int) acp.Decision{
		"nobody":  nil,
		"silence": func(context.Context, *acp.Question, int) acp.Decision { return acp.Undecided },
		"a bug":   func(context.Context, *acp.Question, int) acp.Decision { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			e := start(t, t.Context(), "asks", ask)
			e.say(initialize)
			e.hears(hello, request)
			e.say(yes)
			e.hears("heard " + yes)
			e.leaves(0)
		})
	}
}

func TestStatus(t *testing.T) {
	e := start(t, t.Context(), "status", nil)
	e.hears("last words")
	if got := <-e.done; got != 7 {
		t.Errorf("exit status %d", got)
	}
	if _, err := Run(t.Context(), Config{Argv: []string{"/nowhere/agent"}, In: strings.NewReader(""), Out: io.Discard}); err == nil {
		t.Error("an agent that is not there was started")
	}
}

func TestSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := start(t, ctx, "deaf", nil)
	e.hears("here")
	cancel()
	if got := <-e.done; got != 128+15 {
		t.Errorf("exit status %d", got)
	}
}

// FuzzCarry: every byte passes, however it comes, and lines are seen whole, or their beginnings.
func FuzzCarry(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint64(1), 0)
	f.Add([]byte("x\n"), uint64(2), 3<<20)
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, long int) {
		if long > 0 {
			text = append(text, bytes.Repeat([]byte("y"), long%(4<<20))...)
			text = append(text, "\nz"...)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		var out, seen bytes.Buffer
		err := carry(&chunks{text, r}, &lineWriter{w: &out}, func(line []byte, whole bool) (bool, passed) {
			if whole {
				if n := bytes.IndexByte(line, '\n'); n >= 0 && n != len(line)-1 {
					t.Errorf("seen as one line: %q", line)
				}
				seen.Write(line)
			} else if len(line) <= maxLook {
				t.Errorf("a line of %d bytes is seen in part", len(line))
			}
			return true, nil
		})
		if err != nil || !bytes.Equal(out.Bytes(), text) {
			t.Fatalf("%d of %d bytes passed, %v", out.Len(), len(text), err)
		}
		if long == 0 && !bytes.Equal(seen.Bytes(), text) {
			t.Error("not all was seen")
		}
	})
}

// chunks gives a text in pieces.
type chunks struct {
	text []byte
	r    *rand.Rand
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.text[:1+c.r.IntN(min(len(c.text), len(b)))])
	c.text = c.text[n:]
	return n, nil
}
