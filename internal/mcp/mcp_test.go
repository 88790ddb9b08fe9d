package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desktop is a client of the server, over pipes. ask is what the broker does.
func desktop(t *testing.T, ask func(context.Context, []byte) ([]byte, error)) *mcp.ClientSession {
	t.Helper()
	return listening(t, ask, nil)
}

// listening is desktop for who wants to hear of progress.
func listening(t *testing.T, ask func(context.Context, []byte) ([]byte, error), heard chan any) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, Config{Ask: ask, Session: "s1", Dir: "/srv/shop", Version: "test", Alive: time.Millisecond}, in, out)
		out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if heard != nil {
				heard <- r.Params.ProgressToken
			}
		},
	})
	cs, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close() // hangs up
		toServer.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		cancel()
	})
	return cs
}

func ask(t *testing.T, cs *mcp.ClientSession, args string) (decision, bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolName, Arguments: json.RawMessage(args),
		Meta: mcp.Meta{"claudecode/toolUseId": "t1"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%d blocks; the client takes one", len(res.Content))
	}
	text := res.Content[0].(*mcp.TextContent).Text
	var d decision
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return decision{Message: text}, res.IsError
	}
	return d, res.IsError
}

const question1 = `{"tool_name":"Bash","input":{"command":"echo '<&>' \u2028","n":1e3},"tool_use_id":"t1"}`

func hookSays(decision string) []byte {
	return []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + decision + `}}`)
}

// The broker gets what a hook would have sent, with the input byte for byte, and the agent gets
// what a hook would have printed.
func TestQuestionAndAnswer(t *testing.T) {
	var got []byte
	cs := desktop(t, func(_ context.Context, payload []byte) ([]byte, error) {
		got = payload
		return hookSays(`{"behavior":"allow","updatedPermissions":[{"type":"setMode"}]}`), nil
	})
	tools, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != ToolName {
		t.Fatalf("%+v %v", tools, err)
	}
	d, failed := ask(t, cs, question1)
	want := `{"hook_event_name":"PermissionRequest","session_id":"s1","cwd":"/srv/shop","tool_name":"Bash","tool_use_id":"t1","tool_input":` +
		`{"command":"echo '<&>' \u2028","n":1e3}}`
	if string(got) != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
	if failed || d.Behavior != "allow" || string(d.UpdatedPermissions) != `[{"type":"setMode"}]` || !strings.Contains(string(d.UpdatedInput), "<&>") {
		t.Errorf("%+v", d)
	}
}

func TestEveryAnswerOfTheBroker(t *testing.T) {
	for name, c := range map[string]struct {
		printed, behavior, words string
		err                      error
		interrupt                bool
	}{
		"deny":          {printed: string(hookSays(`{"behavior":"deny","message":"not on a <Friday>"}`)), behavior: "deny", words: "not on a <Friday>"},
		"deny, no word": {printed: string(hookSays(`{"behavior":"deny"}`)), behavior: "deny", words: "Denied by assent."},
		"interrupt":     {printed: string(hookSays(`{"behavior":"deny","message":"stop","interrupt":true}`)), behavior: "deny", words: "stop", interrupt: true},
		"other input":   {printed: string(hookSays(`{"behavior":"allow","updatedInput":{}}`)), behavior: "allow"},
		"abstains":      {printed: " \n", behavior: "deny", words: "nobody decided"},
		"no broker":     {err: errors.New("no broker at /s; start one"), behavior: "deny", words: "no broker at /s"},
		"a web page":    {printed: "<html>", behavior: "deny", words: "not readable"},
		"other event":   {printed: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","decision":{"behavior":"allow"}}}`, behavior: "deny", words: "not readable"},
		"maybe":         {printed: string(hookSays(`{"behavior":"maybe"}`)), behavior: "deny", words: "neither"},
		"cut off":       {printed: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}`, behavior: "deny", words: "not readable"},
	} {
		t.Run(name, func(t *testing.T) {
			cs := desktop(t, func(context.Context, []byte) ([]byte, error) { return []byte(c.printed), c.err })
			d, failed := ask(t, cs, question1)
			if failed || d.Behavior != c.behavior || !strings.Contains(d.Message, c.words) || d.Interrupt != c.interrupt {
				t.Errorf("%+v", d)
			}
			if name == "other input" && string(d.UpdatedInput) != "{}" { // never back to what was asked
				t.Errorf("the input is %s", d.UpdatedInput)
			}
		})
	}
}

// The agent may have the answer from elsewhere: it cancels the call, and the broker hears of it.
func TestCancelledCall(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	cs := desktop(t, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(asked)
		<-ctx.Done()
		close(gone)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: ToolName, Arguments: json.RawMessage(question1)}); err == nil {
		t.Error("a cancelled call has an answer")
	}
	<-gone
}

// While a call waits the agent hears of it again and again.
func TestWaitingIsProgress(t *testing.T) {
	heard, enough := make(chan any, 1000), make(chan struct{})
	cs := listening(t, func(context.Context, []byte) ([]byte, error) {
		<-enough
		return hookSays(`{"behavior":"allow"}`), nil
	}, heard)
	go func() {
		for range 3 {
			if token := <-heard; token != "p1" {
				t.Errorf("progress of %v", token)
			}
		}
		close(enough)
	}()
	params := &mcp.CallToolParams{Name: ToolName, Arguments: json.RawMessage(question1)}
	params.SetProgressToken("p1")
	if res, err := cs.CallTool(t.Context(), params); err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
}

// Calls are answered in the order of their answers, and too many at once are denied.
func TestCallsAtOnce(t *testing.T) {
	var mu sync.Mutex
	free := make(chan struct{})
	waiting := 0
	full := make(chan struct{})
	cs := desktop(t, func(context.Context, []byte) ([]byte, error) {
		mu.Lock()
		if waiting++; waiting == maxCalls {
			close(full)
		}
		mu.Unlock()
		<-free
		return hookSays(`{"behavior":"allow"}`), nil
	})
	var calls sync.WaitGroup
	for range maxCalls {
		calls.Go(func() {
			if d, _ := ask(t, cs, question1); d.Behavior != "allow" {
				t.Errorf("%+v", d)
			}
		})
	}
	<-full
	if d, _ := ask(t, cs, question1); d.Behavior != "deny" || !strings.Contains(d.Message, "too many") {
		t.Errorf("%+v", d)
	}
	close(free)
	calls.Wait()
}

// What the model calls by itself, and what cannot be read, is not asked.
func TestNotAsked(t *testing.T) {
	cs := desktop(t, func(context.Context, []byte) ([]byte, error) {
		t.Error("the broker was asked")
		return hookSays(`{"behavior":"allow"}`), nil
	})
	if d, failed := ask(t, cs, strings.Replace(question1, `"t1"`, `"t2"`, 1)); !failed || d.Behavior != "" {
		t.Errorf("%+v", d)
	}
	for _, args := range []string{
		`{"tool_name":"Bash","tool_use_id":"t1"}`, `{"input":{},"tool_use_id":"t1"}`, `{"tool_name":7,"input":{}}`, `{"tool_name":"Bash","input":[]}`,
		`{"tool_name":"Bash","input":{"a":1},"input":{"a":2},"tool_use_id":"t1"}`,
	} {
		if d, _ := ask(t, cs, args); d.Behavior != "deny" || !strings.Contains(d.Message, "unreadable") {
			t.Errorf("%s: %+v", args, d)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(hookSays(`{"behavior":"allow"}`), []byte(question1))
	f.Add([]byte(`{}`), []byte(`{"tool_name":"a","input":{"x":[{}]},"tool_use_id":"é"}`))
	f.Fuzz(func(t *testing.T, printed, args []byte) {
		q, err := readQuestion(args)
		if err != nil {
			return
		}
		var p struct {
			Input json.RawMessage `json:"tool_input"`
			Tool  string          `json:"tool_name"`
		}
		if err := json.Unmarshal(q.payload("s", "/d"), &p); err != nil || string(p.Input) != string(q.input) || p.Tool != q.tool {
			t.Errorf("%v: payload %s of %s", err, q.payload("s", "/d"), args)
		}
		text, err := answer(printed, q.input)
		var d decision
		if err == nil && (json.Unmarshal([]byte(text), &d) != nil || d.Behavior != "deny" && (d.Behavior != "allow" || len(d.UpdatedInput) == 0)) {
			t.Errorf("answer %s of %s", text, printed)
		}
	})
}

// An agent that hangs up before it has read its answer has hung up, and no more.
func TestHangUpBeforeTheAnswer(t *testing.T) {
	for name, closed := range map[string]func(*testing.T) io.WriteCloser{
		"a pipe here": func(*testing.T) io.WriteCloser {
			r, w := io.Pipe()
			r.Close()
			return w
		},
		"a pipe of the system": func(t *testing.T) io.WriteCloser {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, toServer := io.Pipe()
			defer toServer.Close()
			go func() {
				_, _ = io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
			}()
			if err := Serve(t.Context(), Config{}, in, closed(t)); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
