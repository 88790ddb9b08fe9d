package broker

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/internal/hook"
)

// TestForgottenMessagesLeaveTheDisk: after a session was forgotten no file of the state directory has the text of a
// message to it, nor what its device signed, by which a short text could be guessed. After one message was forgotten, the
// second is nowhere, and the first only where the session had it. What was sent to another session is still there.
func TestForgottenMessagesLeaveTheDisk(t *testing.T) {
	t.Parallel()
	f := newFolk(t, 3) // the second has no inbox, and is handed messages at the ends of its turns
	dev := f.d.PairBare("operate")
	sent := map[string]hook.Message{} // by session
	for _, s := range f.sessions {
		f.send(dev, s.id)
		rig.Eventually(t, rig.Soon, "its turn is over", func() bool {
			var list []hook.Message
			f.d.Get("/v1/sessions/"+s.id+"/messages", &list)
			if len(list) == 1 {
				sent[s.id] = list[0]
			}
			return sent[s.id].State == hook.MessageEnded
		})
	}
	f.end()
	gone, one, kept := sent[f.sessions[0].id], sent[f.sessions[1].id], sent[f.sessions[2].id]

	f.d.Command("forget", gone.SessionID, "--yes")
	if out := f.d.Command("forget", one.SessionID, "--message", one.ID[:8], "--yes"); !strings.Contains(out, "assent forget "+one.SessionID) {
		t.Errorf("forgetting one message says %q", out)
	}
	if out := f.d.Command("trace", "--messages", one.SessionID); strings.Contains(out, one.Prompt) || !strings.Contains(out, "(forgotten by owner") {
		t.Errorf("the trace of a message that was forgotten: %s", out)
	}
	if rep := verified(f.t, f.d); rep.Forgotten < 2*4 || rep.Messages != 1 {
		t.Errorf("verified: %+v", rep)
	}
	f.d.Stop()
	for _, text := range []string{kept.Prompt, kept.Signature} {
		if len(filesWith(t, f.d.State, text)) == 0 {
			t.Fatalf("no file has %q, which was to stay: the search finds nothing", text)
		}
	}
	for _, file := range filesWith(t, f.d.State, one.Prompt) {
		if strings.Contains(file, "/nats/record/") {
			t.Errorf("the text of one message that was forgotten is still in %s", file)
		}
	}
	for _, text := range []string{gone.Prompt, gone.Signature, one.Signature} {
		if files := filesWith(t, f.d.State, text); len(files) > 0 {
			t.Errorf("%q is still in %v", text, files)
		}
	}
}

// filesWith are the files below dir that hold text.
func filesWith(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
