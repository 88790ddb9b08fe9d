package broker

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/hook"
)

// A request comes with what its agent said and what its file holds, for as long as it waits. Neither is
// in any file of the broker's, in what it streams, or in its log: also not after it was killed. The hook
// brings the words again to the next broker.
func TestContextIsKeptNowhere(t *testing.T) {
	const said, before = "MARKSAID", "MARKBEFORE"
	d := rig.Serve(t)
	project := filepath.Join(d.Dir, "shop")
	transcripts := filepath.Join(d.Dir, ".claude/projects/shop")
	for _, dir := range []string{project, transcripts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file, transcript := filepath.Join(project, "cart.js"), filepath.Join(transcripts, "s.jsonl")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "one\n// "+before+"\nthree\n")
	write(transcript, `{"type":"user","isSidechain":false,"message":{"content":"tidy up"}}`+"\n"+
		`{"type":"assistant","isSidechain":false,"message":{"id":"m","content":[{"type":"text","text":"`+said+`: I tidy up."}]}}`+"\n")
	event := func(name string, more map[string]any) []byte {
		t.Helper()
		m := map[string]any{"session_id": "s", "transcript_path": transcript, "cwd": project, "hook_event_name": name}
		for k, v := range more {
			m[k] = v
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	d.Hook(event("UserPromptSubmit", map[string]any{"prompt": "tidy up"})).Wait()
	var h *rig.HookRun
	var r rig.Request
	context := func() hook.Context {
		t.Helper()
		var doc struct{ Context hook.Context }
		d.Get("/v1/requests/"+r.ID, &doc)
		return doc.Context
	}
	var last hook.Context
	heard := func(c hook.Context) bool {
		return c.Said == said+": I tidy up." && c.Prompt == "tidy up" && c.PromptFrom == hook.PromptYou && c.Before != nil
	}
	whole := func(c hook.Context) bool {
		return heard(c) && c.Before.Text != nil && *c.Before.Text == "one\n// "+before+"\nthree\n"
	}
	// The hook gives the transcript a few milliseconds, and the broker the file some more: a busy machine may not have
	// them. Then the request says so, and another one is made.
	for try := 1; ; try++ {
		h = d.Hook(event("PermissionRequest", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": file, "content": "one\n"}}))
		r = d.WaitPending(1)[0]
		c := context()
		if whole(c) {
			break
		}
		if late := c.SaidWhy == hook.SaidLate || c.Before != nil && c.Before.Why == hook.BeforeUnseen; !late || try == 50 {
			t.Fatalf("try %d: %+v, before %+v", try, c, c.Before)
		}
		d.Deny(r, "another one")
		h.Wait()
	}

	nowhere := func() {
		t.Helper()
		for _, root := range []string{d.State, filepath.Join(d.Dir, "xdg")} {
			_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return nil // the spool may not be there
				}
				b, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				for _, mark := range []string{said, before} {
					if strings.Contains(string(b), mark) {
						t.Errorf("%s holds %s", path, mark)
					}
				}
				return nil
			})
		}
		if out := d.Out.Tail(1 << 20); strings.Contains(out, said) || strings.Contains(out, before) {
			t.Errorf("the log holds it: %s", out)
		}
	}
	d.Kill()
	nowhere()
	d.Start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the context was %+v", last)
		}
	})
	rig.Eventually(t, rig.Soon, "the hook to come back with its words", func() bool {
		last = context()
		return whole(last) || heard(last) && last.Before.Why == hook.BeforeUnseen // the file is looked at once
	})

	d.Allow(r)
	h.Wait()
	for _, path := range []string{"/v1/requests/" + r.ID, "/v1/requests/" + r.ID + "/trace", "/v1/requests?state=ended", "/v1/sessions/s/feed", "/v1/search?q=" + said, "/v1/search?q=" + before, "/v1/decisions"} {
		status, body, err := d.Try("GET", path, nil)
		if err != nil || status != http.StatusOK || strings.Contains(string(body), said) || strings.Contains(string(body), before) {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
	for _, e := range d.Streamed() {
		if strings.Contains(string(e.Raw), said) || strings.Contains(string(e.Raw), before) {
			t.Errorf("streamed: %s", e.Raw)
		}
	}
	d.Stop()
	nowhere()
}

// The hook's own file switches it off.
func TestTranscriptIsSwitchedOff(t *testing.T) {
	d := rig.Serve(t)
	conf := filepath.Join(d.Dir, ".config/assent")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "hook.conf"), []byte("transcript = off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Hook(rig.Bash("s", "ls"))
	r := d.WaitPending(1)[0]
	var doc struct{ Context hook.Context }
	if d.Get("/v1/requests/"+r.ID, &doc); doc.Context.SaidWhy != hook.SaidOff {
		t.Errorf("%+v", doc.Context)
	}
}
