package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestCardShowsWhatWasAskedAndSaid: the prompt above the request, and what the agent said below it, as
// plain text; folded where there is danger. A file that is written anew is compared with what it was.
func TestCardShowsWhatWasAskedAndSaid(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	project, transcripts := filepath.Join(d.Dir, "shop"), filepath.Join(d.Dir, ".claude/projects/shop")
	file, transcript := filepath.Join(project, "cart.js"), filepath.Join(transcripts, "s.jsonl")
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = "line " + strings.Repeat("x", i)
	}
	before := strings.Join(lines, "\n") + "\n"
	for _, dir := range []string{project, transcripts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const said = "I tidy up: <img src=x> [click](https://evil.example) \u202e"
	said1 := string(rig.Object(t, map[string]any{"type": "assistant", "isSidechain": false, "message": map[string]any{"id": "m", "content": []map[string]any{{"type": "text", "text": said}}}}))
	for name, text := range map[string]string{file: before, transcript: `{"type":"user","isSidechain":false,"message":{"content":"tidy up"}}` + "\n" + said1 + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	event := func(name string, more map[string]any) []byte {
		t.Helper()
		m := map[string]any{"session_id": "s", "transcript_path": transcript, "cwd": project, "hook_event_name": name, "permission_mode": "default"}
		for k, v := range more {
			m[k] = v
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	// The hook gives the transcript a few milliseconds, and the broker the file some more: a busy machine may
	// not have them. Then the card says so, and another one is asked for. shows is what must be on it besides the
	// agent's words where there was time.
	ask := func(more map[string]any, shows string) *rig.HookRun {
		t.Helper()
		for range 50 {
			h := d.Hook(event("PermissionRequest", more))
			rig.Eventually(t, rig.Soon, "a card with the agent's words, or why not", func() bool { return b.Has(rig.Open + " [data-ui=said-last]") })
			if !strings.Contains(b.Text(rig.Open), rig.Word("context.unheard.late", "Claude")) && (shows == "" || b.Has(rig.Open+" "+shows)) {
				return h
			}
			b.Tap(rig.Open + " [data-action=deny]")
			h.Wait()
			b.Gone()
		}
		t.Fatal("never read in time")
		return nil
	}
	d.Hook(event("UserPromptSubmit", map[string]any{"prompt": "tidy up\u202e <b>now</b>"})).Wait()

	h := ask(map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": file, "content": strings.Replace(before, lines[20], "changed", 1)}}, "[data-ui=diff] [data-sign='−']")
	b.See(rig.Open+" [data-ui=prompt]", "You: tidy up⟦U+202E⟧ <b>now</b>")
	b.See(rig.Open+" [data-ui=said-last]", "Claude says: I tidy up: <img src=x> [click](https://evil.example) ⟦U+202E⟧")
	if b.Has(rig.Open + " [data-ui=said-last] a, " + rig.Open + " img") {
		t.Error("something of what was said is alive")
	}
	b.See(rig.Open+" [data-ui=file]", "+1 −1")
	b.See(rig.Open+" [data-ui=diff] [data-sign='−']", lines[20])
	b.See(rig.Open+" [data-ui=diff] [data-sign='+']", "changed")
	b.See(rig.Open+" [data-ui=diff] [data-ui=folded]", "17 lines unchanged")
	b.Looks("context-write")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Gone()

	h = ask(map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": file, "old_string": lines[39], "new_string": "changed"}}, "[data-ui=diff] [data-number='40']")
	b.See(rig.Open+" [data-ui=diff] [data-sign=' '][data-number='39']", lines[38])
	if !b.Has(rig.Open + " [data-ui=diff] [data-sign='−'][data-number='40']") {
		t.Error("the line that goes has not its number")
	}
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Gone()

	h = ask(map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "rm -rf ~/", "description": "Clean up"}}, "")
	b.See(rig.Open+" details[data-ui=said-last] summary", "Claude’s last words")
	if text := b.Text(rig.Open); strings.Contains(text, "I tidy up") || strings.Contains(text, "Clean up") {
		t.Error("beside danger the agent's words are in sight")
	}
	b.Looks("context-danger")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Gone()

	// What another session asked is no word of the person's: beside danger it is folded, too.
	d.Hook(event("UserPromptSubmit", map[string]any{"prompt": "<cross-session-message from=\"x\" from-name=\"helper\" from-mode=\"prompting\">\nit is safe, go on\n</cross-session-message>"})).Wait()
	h = ask(map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "rm -rf ~/.cache ~/"}}, "")
	b.See(rig.Open+" details[data-ui=prompt] summary", rig.Word("context.session", "helper"))
	if text := b.Text(rig.Open); strings.Contains(text, "it is safe") {
		t.Error("beside danger the words of another session are in sight")
	}
	b.Looks("context-session")
	b.Do(rig.Phone)
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Quiet()
}
