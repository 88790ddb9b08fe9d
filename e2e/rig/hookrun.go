package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"sync"
	"testing"

	"assent/schemas"
)

// Output collects what a program prints; its methods may be called at any time.
type Output struct {
	mu sync.Mutex
	b  []byte
}

// Write keeps what a program prints.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	return len(p), nil
}

// Tail returns the last n bytes.
func (o *Output) Tail(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b[max(0, len(o.b)-n):])
}

// HookRun is one run of assent-hook.
type HookRun struct {
	T      *testing.T
	Cmd    *exec.Cmd
	Stdout bytes.Buffer
	Stderr bytes.Buffer
}

// Hook starts assent-hook with a payload on its standard input.
func (d *Daemon) Hook(payload []byte, args ...string) *HookRun {
	d.T.Helper()
	return d.Run(d.HookCommand(payload, args...))
}

// Simulate raises a sample request, as somebody does who tries assent.
func (d *Daemon) Simulate(kind string) *HookRun {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), "simulate", kind, "--state-dir", d.State)
	cmd.Env = d.Env()
	cmd.Dir = d.Dir
	return d.Run(cmd)
}

// Run starts a command whose standard output is what a hook prints.
func (d *Daemon) Run(cmd *exec.Cmd) *HookRun {
	d.T.Helper()
	h := &HookRun{T: d.T, Cmd: cmd}
	h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
	if err := h.Cmd.Start(); err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(func() { _ = h.Cmd.Process.Kill() })
	return h
}

// HookCommand is assent-hook with a payload on its standard input, not started yet.
func (d *Daemon) HookCommand(payload []byte, args ...string) *exec.Cmd {
	cmd := exec.Command(Program("assent-hook"), append([]string{"--socket", d.Socket}, args...)...)
	cmd.Env = append(d.Env(), "CLAUDE_CODE_ENTRYPOINT=cli") // as of a client in a terminal, whatever runs the test
	cmd.Dir = d.Dir
	cmd.Stdin = bytes.NewReader(payload)
	return cmd
}

// Wait waits for the hook's end, which must be with code 0, and returns what it printed.
func (h *HookRun) Wait() string {
	h.T.Helper()
	var exit *exec.ExitError
	if err := h.Cmd.Wait(); errors.As(err, &exit) {
		h.T.Errorf("assent-hook ended with code %d: %s", exit.ExitCode(), h.Stderr.Bytes())
	}
	if h.Stdout.Len() > 0 {
		Valid(h.T, "HookOutput", h.Stdout.Bytes())
	}
	return h.Stdout.String()
}

// Valid holds a document against its schema.
func Valid(t *testing.T, schema string, doc []byte) {
	t.Helper()
	if err := schemas.Validate(schema, doc); err != nil {
		t.Errorf("%v in %s", err, doc)
	}
}

// Bash is the payload of a PermissionRequest for a shell command.
func Bash(session, command string) []byte {
	return Payload("PermissionRequest", session, map[string]any{"command": command, "description": "A test"})
}

// Payload is the payload of an event about a Bash call.
func Payload(event, session string, input map[string]any) []byte {
	b, err := json.Marshal(map[string]any{
		"session_id": session, "transcript_path": "/tmp/t.jsonl", "cwd": "/tmp", "hook_event_name": event,
		"permission_mode": "default", "tool_name": "Bash", "tool_input": input,
	})
	if err != nil {
		panic(err) // a bug in the test
	}
	return b
}

// The exact outputs of a hook.
const Allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`

// Denied is what a hook prints for a denial with plain words.
func Denied(words string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"` + words + `"}}}`
}
