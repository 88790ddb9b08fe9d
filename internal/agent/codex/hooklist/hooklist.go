// Package hooklist asks Codex which hooks it knows, and which of them it runs.
package hooklist

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"time"
)

// Hook is a hook that Codex found in a file, or on its command line.
type Hook struct {
	// Key names the hook: its file, its event and its place in there.
	Key       string `json:"key"`
	EventName string `json:"eventName"` // "permissionRequest"
	Command   string `json:"command"`
	// CurrentHash is what a person who trusts the hook trusts, TrustStatus whether one does: "trusted",
	// "managed", "untrusted", "modified".
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
}

// Runs reports whether Codex runs the hook.
func (h Hook) Runs() bool { return h.TrustStatus == "trusted" || h.TrustStatus == "managed" }

// maxLine bounds an answer, in bytes.
const maxLine = 4 << 20

// Of starts a Codex of its own by a command line, such as codex app-server, asks it over its own protocol
// (JSON-RPC on standard input and output) about the hooks that hold in dir, and ends it. env is the
// program's environment; nil: ours.
func Of(ctx context.Context, argv, env []string, dir string) ([]Hook, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	if err := call(in, lines, 1, "initialize", map[string]any{"clientInfo": map[string]string{"name": "assent", "title": "assent", "version": "0"}}, &struct{}{}); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(in, `{"method":"initialized"}`+"\n"); err != nil {
		return nil, err
	}
	var listed struct {
		Data []struct{ Hooks []Hook }
	}
	if err := call(in, lines, 2, "hooks/list", map[string]any{"cwds": []string{dir}}, &listed); err != nil {
		return nil, err
	}
	var all []Hook
	for _, d := range listed.Data {
		all = append(all, d.Hooks...)
	}
	return all, nil
}

// call sends a request and reads its answer.
func call(in io.Writer, lines *bufio.Scanner, id int, method string, params, result any) error {
	b, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := in.Write(append(b, '\n')); err != nil {
		return err
	}
	for lines.Scan() {
		var r struct {
			ID     *int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.ID == nil || *r.ID != id {
			continue // a notice
		}
		if r.Error != nil {
			return errors.New(r.Error.Message)
		}
		return json.Unmarshal(r.Result, result)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
