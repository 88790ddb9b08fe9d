package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

// A Write says what it replaces, where the broker's files are the hook's.
func TestViewSaysWhatAWriteReplaces(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	there := filepath.Join(dir, "there.txt")
	if err := os.WriteFile(there, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{})
		defer g.stop()
		for _, c := range []struct {
			name, tool string
			input      any
			host       string
			remote     bool
			want       string // of overwrites
		}{
			{"a file that is there", "Write", fields{"file_path": there, "content": "x"}, host, false, `{"exists":true,"bytes":6,"lines":3}`},
			{"named from the working directory", "Write", fields{"file_path": "there.txt", "content": "x"}, host, false, `{"exists":true,"bytes":6,"lines":3}`},
			{"a new one", "Write", fields{"file_path": there + ".new", "content": "x"}, host, false, `{"exists":false}`},
			{"its member spelt otherwise", "Write", fields{"FILE_PATH": there, "content": "x"}, host, false, "null"},
			{"no path", "Write", fields{"content": "x"}, host, false, "null"},
			{"another host", "Write", fields{"file_path": there, "content": "x"}, "elsewhere.example", false, "null"},
			{"no host", "Write", fields{"file_path": there, "content": "x"}, "", false, "null"},
			{"over the network", "Write", fields{"file_path": there, "content": "x"}, host, true, "null"},
			{"another tool", "Read", fields{"file_path": there}, host, false, "null"},
		} {
			body, err := json.Marshal(fields{"session_id": "s", "cwd": dir, "hook_event_name": "PermissionRequest", "tool_name": c.tool, "tool_input": c.input})
			if err != nil {
				t.Fatal(err)
			}
			ask := call{unix: true, body: string(body), header: map[string]string{hook.HeaderHost: c.host}}
			if c.remote {
				ask.unix, ask.token = false, g.tokens[auth.RoleSubmit]
			}
			w := g.raise(ask)
			reply := g.call(call{path: "/v1/requests/" + w.id, token: g.tokens[auth.RoleView]})
			valid(t, "PermissionRequest", reply.body)
			var doc struct {
				Overwrites *hook.Overwrites
			}
			if err := json.Unmarshal([]byte(reply.body), &doc); err != nil {
				t.Fatal(err)
			}
			if got, _ := json.Marshal(doc.Overwrites); string(got) != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			w.cancel()
		}
	})
}
