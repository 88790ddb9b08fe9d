package coder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Editor is a client of the Agent Client Protocol, as an editor is one: it starts an agent and has it work.
// Its dialogs are answered by the test. Its methods may be called from any goroutine.
type Editor struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	session string
	// Dialogs are the requests for permission that the agent put, Cancelled the ids of those that need no
	// answer any more, each as it came.
	Dialogs   chan Dialog
	Cancelled chan string

	writing sync.Mutex
	sent    bytes.Buffer // what the editor wrote; guarded by writing
	mu      sync.Mutex
	got     bytes.Buffer // what the editor read
	calls   int
	answers map[int]chan message
	ended   chan struct{} // the agent says nothing any more
}

// Dialog is a request for permission. Options are their ids by their kinds.
type Dialog struct {
	ID      json.RawMessage
	Options map[string]string
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// StartEditor starts the agent r, without a terminal, and opens a session in its working directory. The
// caller must Close it. errs gets what the agent prints to standard error.
func (r Run) StartEditor(ctx context.Context, errs io.Writer) (*Editor, error) {
	e := &Editor{Dialogs: make(chan Dialog, 100), Cancelled: make(chan string, 100), answers: map[int]chan message{}, ended: make(chan struct{})}
	e.cmd = exec.Command(r.Argv[0], r.Argv[1:]...)
	e.cmd.Dir, e.cmd.Env, e.cmd.Stderr = r.Work, r.Env, errs
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.cmd.WaitDelay = 5 * time.Second
	in, err1 := e.cmd.StdinPipe()
	out, err2 := e.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	e.in = in
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go e.read(out)
	_, err := e.Call(ctx, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo": map[string]string{"name": "e2e", "version": "1"}})
	var result json.RawMessage
	if err == nil {
		result, err = e.Call(ctx, "session/new", map[string]any{"cwd": r.Work, "mcpServers": []any{}})
	}
	var session struct{ SessionID string }
	if err == nil {
		err = json.Unmarshal(result, &session)
	}
	if err != nil {
		_ = e.Close()
		return nil, err
	}
	e.session = session.SessionID
	return e, nil
}

// Session is the session's id.
func (e *Editor) Session() string { return e.session }

func (e *Editor) read(out io.Reader) {
	defer close(e.ended)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		e.mu.Lock()
		e.got.Write(line)
		e.mu.Unlock()
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "session/request_permission":
			var p struct {
				Options []struct{ OptionID, Kind string }
			}
			_ = json.Unmarshal(m.Params, &p) // without options the test finds none
			d := Dialog{m.ID, map[string]string{}}
			for _, o := range p.Options {
				if d.Options[o.Kind] == "" {
					d.Options[o.Kind] = o.OptionID
				}
			}
			e.Dialogs <- d
		case m.Method == "$/cancel_request":
			var p struct{ RequestID json.RawMessage }
			_ = json.Unmarshal(m.Params, &p)
			e.Cancelled <- string(p.RequestID)
		case m.Method != "" && m.ID != nil:
			_ = e.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "not here"}})
		case m.Method == "":
			var id int
			if json.Unmarshal(m.ID, &id) == nil {
				e.mu.Lock()
				if c := e.answers[id]; c != nil {
					c <- m
					delete(e.answers, id)
				}
				e.mu.Unlock()
			}
		}
	}
}

func (e *Editor) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	b = append(b, '\n')
	e.sent.Write(b)
	_, err = e.in.Write(b)
	return err
}

// Traffic is each byte that the editor wrote and read so far.
func (e *Editor) Traffic() (sent, got []byte) {
	e.writing.Lock()
	sent = bytes.Clone(e.sent.Bytes())
	e.writing.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return sent, bytes.Clone(e.got.Bytes())
}

// Call calls a method of the agent, and returns its result.
func (e *Editor) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	e.mu.Lock()
	e.calls++
	id := e.calls
	e.answers[id] = answer
	e.mu.Unlock()
	if err := e.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	case <-e.ended:
		return nil, fmt.Errorf("%s: the agent has ended", method)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// Prompt has the agent work, and returns a channel that gets the end of the turn.
func (e *Editor) Prompt(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := e.Call(ctx, "session/prompt", map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": Words}}})
		done <- err
	}()
	return done
}

// Answer chooses the option of a kind in a dialog.
func (e *Editor) Answer(d Dialog, kind string) error {
	return e.send(map[string]any{"jsonrpc": "2.0", "id": d.ID, "result": map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": d.Options[kind]}}})
}

// Close hangs up, and ends the agent if that is not enough.
func (e *Editor) Close() error {
	e.in.Close()
	select {
	case <-e.ended:
	case <-time.After(15 * time.Second):
		if err := syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the agent: %w", err)
		}
	}
	_ = e.cmd.Wait() // its status is the test's to judge
	return nil
}
