package claude

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Run is a headless client (`claude -p`) at work.
type Run struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer // owned by exec until ended is closed
	stderr bytes.Buffer
	ended  chan struct{}
	err    error // of Wait; written before ended is closed
}

// Result is what a headless client printed at its end.
type Result struct {
	Subtype string `json:"subtype"`
	IsError bool   `json:"is_error"`
	Text    string `json:"result"`
	Denials []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
	// Exit is the client's exit code.
	Exit int `json:"-"`
}

// Headless starts `claude -p` with a prompt. It ends when ctx does, at the latest; the caller
// must Close it.
func Headless(ctx context.Context, c Config, prompt string) (*Run, error) {
	if err := c.Prepare(); err != nil {
		return nil, err
	}
	r := &Run{ended: make(chan struct{})}
	args := append([]string{"-p", prompt, "--output-format", "stream-json", "--verbose"}, c.args()...)
	words := append(append(append([]string{}, c.Wrap...), c.Program), args...)
	r.cmd = exec.CommandContext(ctx, words[0], words[1:]...)
	r.cmd.Dir = c.Work()
	r.cmd.Env = c.env()
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Cancel = func() error { return syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }
	// A hook that outlives the client holds its pipes open; do not wait for it for ever.
	r.cmd.WaitDelay = 5 * time.Second
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the client: %w", err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.cmd.Wait()
	}()
	return r, nil
}

// Wait waits for the client's end and returns what it printed.
func (r *Run) Wait() (Result, error) {
	<-r.ended
	res := Result{Exit: r.cmd.ProcessState.ExitCode()}
	sc := bufio.NewScanner(bytes.NewReader(r.stdout.Bytes()))
	sc.Buffer(nil, 16<<20)
	found := false
	for sc.Scan() {
		var line struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(sc.Bytes(), &line) == nil && line.Type == "result" {
			if err := json.Unmarshal(sc.Bytes(), &res); err != nil {
				return res, fmt.Errorf("read the client's result: %w", err)
			}
			found = true
		}
	}
	if !found {
		return res, fmt.Errorf("the client ended without a result: %w\n%s", r.err, r.stderr.Bytes())
	}
	return res, nil
}

// Stderr is what the client wrote to its standard error; it must have ended.
func (r *Run) Stderr() string {
	<-r.ended
	return r.stderr.String()
}

// Kill ends the client with SIGKILL, as a crash would: its hooks get no signal.
func (r *Run) Kill() error { return r.cmd.Process.Kill() }

// Signal sends the client a signal.
func (r *Run) Signal(s os.Signal) error { return r.cmd.Process.Signal(s) }

// Close ends the client, if it still runs, and waits for it.
func (r *Run) Close() error {
	select {
	case <-r.ended:
	default:
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		<-r.ended
	}
	return nil
}
