package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
	"assent/internal/store/reader"
	"assent/internal/store/stream"
)

// Emit runs a program as a hook that writes to the hookd socket, in dir; it must be silent.
func (d *Daemon) Emit(program, dir, payload string, args ...string) {
	d.T.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(payload)
	cmd.Env = append(d.Env(), "HOOKD_SOCKET="+d.Hookd(), "HOOKD_DEBUG=1", "CLAUDE_AGENT_ID=reviewer", "CLAUDE_PID=4711")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		d.T.Fatalf("%s %v: %v, printed %q", program, args, err, out)
	}
}

// Hookd is where the hookd socket of this broker is, if it has one.
func (d *Daemon) Hookd() string { return filepath.Join(d.Dir, "hookd.sock") }

// HookdEmit is assent-hook under its other name.
func (d *Daemon) HookdEmit() string {
	d.T.Helper()
	name := filepath.Join(d.Dir, "hookd-emit")
	if err := os.Symlink(Program("assent-hook"), name); err != nil && !errors.Is(err, os.ErrExist) {
		d.T.Fatal(err)
	}
	return name
}

// Post sends an event as a hook in the work tree root would, until the broker has taken it.
func (d *Daemon) Post(root, head string, body []byte) {
	host, err := os.Hostname()
	if err != nil {
		d.T.Error(err)
		return
	}
	id := uuid.NewString()
	for end := time.Now().Add(Soon); ; time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequest("POST", "http://assent/v1/hooks", bytes.NewReader(body))
		if err != nil {
			d.T.Error(err)
			return
		}
		for name, value := range map[string]string{
			hook.HeaderRequestID: id, hook.HeaderAgent: "claude", hook.HeaderEvent: "PostToolUse", hook.HeaderHost: host,
			hook.HeaderRepoRoot: root, hook.HeaderRepoBranch: "main", hook.HeaderRepoHead: head,
		} {
			req.Header.Set(name, hook.EscapeHeader(value))
		}
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.Socket)
		}}
		res, err := (&http.Client{Transport: transport, Timeout: Soon}).Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if err == nil && res.StatusCode/100 != 5 {
			return
		}
		if time.Now().After(end) {
			d.T.Errorf("the broker does not take an event: %v", err)
			return
		}
	}
}

// Streamed is all that the stream holds, up to now.
func (d *Daemon) Streamed() (list []hook.Event) {
	d.T.Helper()
	end := uuid.NewString()
	d.Post("", "", fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"Stop"}`, end))
	info := func() (info stream.NATSInfo, err error) {
		b, err := os.ReadFile(d.NATSInfo())
		if err != nil {
			return info, err
		}
		return info, json.Unmarshal(b, &info)
	}
	ctx, cancel := context.WithTimeout(d.T.Context(), 3*Soon)
	defer cancel()
	enough := errors.New("enough")
	err := reader.Read(ctx, info, reader.Options{All: true}, func(e hook.Event) error {
		if bytes.Contains(e.Raw, []byte(end)) {
			return enough
		}
		list = append(list, e)
		return nil
	})
	if !errors.Is(err, enough) {
		d.T.Fatal(err)
	}
	return list
}

// Must fails the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Repository makes a git repository with a commit and returns its root by its real name.
func (d *Daemon) Repository(name string) string {
	d.T.Helper()
	dir, err := filepath.EvalSymlinks(d.Dir)
	Must(d.T, err)
	root := filepath.Join(dir, name)
	d.Git(dir, "init", "-q", "-b", "main", root)
	d.Git(root, "commit", "-q", "--allow-empty", "-m", "one")
	return root
}

// Git runs git as the agent's user would.
func (d *Daemon) Git(dir string, args ...string) string {
	d.T.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(d.Env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Tell runs a hook in dir.
func (d *Daemon) Tell(dir, event, tool, id, input string, env ...string) {
	d.T.Helper()
	cmd := d.HookCommand(fmt.Appendf(nil, `{"session_id":"s","cwd":%q,"hook_event_name":%q,"tool_name":%q,"tool_use_id":%q,"tool_input":%s}`, dir, event, tool, id, input))
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		d.T.Fatalf("hook: %v, printed %q", err, out)
	}
}

// LedgerRow is what the tests read of a LedgerRow.
type LedgerRow struct {
	Event   string          `json:"event_id"`
	Hook    string          `json:"hook_type"`
	Tool    string          `json:"tool_name"`
	Agent   string          `json:"agent_id"`
	Session string          `json:"session_id"`
	File    string          `json:"file_path"`
	Ext     string          `json:"file_ext"`
	Lines   *int            `json:"lines_changed"`
	Branch  string          `json:"branch"`
	Head    string          `json:"head_sha"`
	Payload json.RawMessage `json:"raw_payload"`
}

// Ledger queries a ledger; it must be there.
func (d *Daemon) Ledger(root string, args ...string) []LedgerRow {
	d.T.Helper()
	return d.parseRows(d.Command(append([]string{"ledger", "query", "--repo", root, "--json"}, args...)...))
}

// LedgerOrNone is every row of a ledger that may not be there yet.
func (d *Daemon) LedgerOrNone(root string) []LedgerRow {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), "ledger", "query", "--repo", root, "--json", "--hook-type", "all", "--state-dir", d.State)
	cmd.Env = d.Env()
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return d.parseRows(string(out))
}

func (d *Daemon) parseRows(text string) []LedgerRow {
	d.T.Helper()
	var docs []json.RawMessage
	if err := json.Unmarshal([]byte(text), &docs); err != nil {
		d.T.Fatalf("%v in %s", err, text)
	}
	rows := make([]LedgerRow, len(docs))
	for i, doc := range docs {
		if i < 20 { // to validate thousands takes long
			Valid(d.T, "LedgerRow", doc)
		}
		Must(d.T, json.Unmarshal(doc, &rows[i]))
	}
	return rows
}
