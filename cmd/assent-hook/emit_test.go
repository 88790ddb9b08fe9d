package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/hookclient"
	"assent/schemas"
)

// emitter is the program under its other name.
func emitter(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), hookclient.EmitName)
	if err := os.Symlink(bin, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestEmit: what the socket gets, by the word and by the name.
func TestEmit(t *testing.T) {
	for _, name := range []string{"word", "name"} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("unix", socketPath(t))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p := command(t, "{\n  \"tool_name\": \"Edit\",\n  \"x\": \"\\u2028\"\n}\n", "emit", "post_tool_use", "write")
			if name == "name" {
				p.Path, p.Args = emitter(t), []string{"hookd-emit", "post_tool_use", "write"}
			}
			git(t, p.Dir, "init", "-q", "-b", "main")
			git(t, p.Dir, "remote", "add", "origin", "https://u:secret@example.com/x")
			git(t, p.Dir, "commit", "-q", "--allow-empty", "-m", "one")
			p.Env = append(p.Env, "HOOKD_SOCKET="+l.Addr().String())
			before := time.Now()
			p.run(t, "")
			if p.stderr.Len() > 0 {
				t.Errorf("it said %q", p.stderr.String())
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			line, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			if err := schemas.Validate("Envelope", line); err != nil {
				t.Errorf("%v in %s", err, line)
			}
			if strings.Contains(string(line), "secret") {
				t.Errorf("a secret was sent: %s", line)
			}
			var got struct {
				Kind    string    `json:"event_type"`
				Tool    string    `json:"tool_name"`
				Time    time.Time `json:"timestamp"`
				PID     int       `json:"pid"`
				Agent   string    `json:"agent_id"`
				ID      string    `json:"event_id"`
				CWD     string    `json:"cwd"`
				Payload struct {
					Tool string `json:"tool_name"`
					X    string `json:"x"`
				} `json:"payload"`
				Repo struct {
					Root   string `json:"git_root"`
					Branch string `json:"branch"`
					Head   string `json:"head_sha"`
					Remote string `json:"remote_url"`
				} `json:"repo"`
			}
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.EvalSymlinks(p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != "post_tool_use" || got.Tool != "write" || got.Payload.Tool != "Edit" || got.Payload.X != "\u2028" || got.PID != 42 || got.Agent != "me" ||
				len(got.ID) != 36 || got.CWD != dir || got.Time.Before(before.Truncate(time.Microsecond)) || got.Time.After(time.Now()) {
				t.Errorf("got %+v", got)
			}
			if r := got.Repo; r.Root != dir || r.Branch != "main" || r.Head != git(t, p.Dir, "rev-parse", "HEAD") || r.Remote != "https://example.com/x" {
				t.Errorf("repository %+v", r)
			}
		})
	}
}

// TestEmitIsSilent: whatever is wrong, the agent sees nothing of it, and only who asks is told why.
func TestEmitIsSilent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale := socketPath(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for name, c := range map[string]struct {
		socket, payload string
		args            []string
	}{
		"no socket":    {"/nowhere/s", plain, []string{"post_tool_use"}},
		"stale socket": {stale, plain, []string{"post_tool_use"}},
		"a file":       {file, plain, []string{"post_tool_use"}},
		"long path":    {"/" + strings.Repeat("x", 200), plain, []string{"post_tool_use"}},
		"empty":        {stale, "", []string{"post_tool_use"}},
		"no type":      {stale, plain, nil},
		"a flag":       {stale, plain, []string{"--socket", "x"}},
		"default":      {"", plain, []string{"post_tool_use"}},
	} {
		for _, debug := range []bool{false, true} {
			p := command(t, c.payload, append([]string{"emit"}, c.args...)...)
			p.Env = append(p.Env, "HOOKD_SOCKET="+c.socket, "XDG_RUNTIME_DIR=/nowhere")
			if debug {
				p.Env = append(p.Env, "HOOKD_DEBUG=1")
			}
			p.run(t, "")
			if said := p.stderr.String(); (said != "") != debug || strings.Contains(said, "Bash") || strings.Contains(said, "sk-secret") {
				t.Errorf("%s: it said %q", name, said)
			}
		}
	}
	p := command(t, "")
	p.Path, p.Args = emitter(t), []string{"hookd-emit", "--help"}
	p.run(t, hookclient.EmitUsage("hookd-emit"))
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}
