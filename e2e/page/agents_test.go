package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/agent/agents"
)

// TestOtherAgentsOnThePage shows real requests of every agent: the page says whose each is, speaks of no other
// agent, and offers no answer that the agent does not take.
func TestOtherAgentsOnThePage(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.Rest()
	const recorded = "../../internal/agent/agents/testdata"
	dirs, err := os.ReadDir(recorded)
	if err != nil || len(dirs) < 5 {
		t.Fatalf("%d agents, %v", len(dirs), err)
	}
	names := map[string]string{"codex": "Codex", "opencode": "OpenCode", "kilo": "Kilo", "copilot": "Copilot", "qwen": "Qwen", "droid": "Droid"}
	none, _, _ := strings.Cut(rig.Word("proposals.none", "\x00"), "\x00")
	others := regexp.MustCompile(`(?i)claude`)
	look := func(where, selector string) {
		t.Helper()
		if text := b.Text(selector); others.MatchString(text) {
			t.Errorf("%s speaks of Claude:\n%s", where, text)
		}
	}
	for _, dir := range dirs {
		name := dir.Name()
		a, err := agents.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		can := a.Facts().Can
		requests := "[Pp]ermissionRequest-*.json"
		if name == "droid" {
			requests = "PreToolUse-*.json"
		}
		payloads, err := filepath.Glob(filepath.Join(recorded, name, requests))
		if err != nil || len(payloads) == 0 {
			t.Fatalf("%s: no requests, %v", name, err)
		}
		for _, path := range payloads {
			payload, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			event, _, _ := strings.Cut(filepath.Base(path), "-")
			h := d.Hook(payload, "--agent", name, "--event", event)
			r := d.WaitPending(1)[0]
			what := name + "/" + filepath.Base(path)
			card := rig.Part("card") + `[data-request="` + r.ID + `"]`
			b.See(card+" [data-ui=agent]", names[name])
			look(what, card)
			if can.Words != b.Has(card+" [data-ui=note]") {
				t.Errorf("%s: a note is offered: %v", what, !can.Words)
			}
			b.Tap(card + " [data-action=other]")
			b.Do(chromedp.WaitVisible(chromedp.CSS(card + " [data-ui=menu]")))
			modes := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(`+rig.JSString(card+" [data-mode]")+`)].map(e => e.dataset.mode)`))
			if slices.Contains(modes, "edit") != (can.Edit && r.ToolName != "AskUserQuestion") || slices.Contains(modes, "stop") != can.Interrupt {
				t.Errorf("%s offers %q, and can %+v", what, modes, can)
			}
			b.Tap(card + " [data-action=other]")
			for _, mode := range modes {
				b.Mode(mode)
				if mode == "always" {
					rig.Eventually(t, rig.Soon, "the broker says which rules fit", func() bool {
						return b.Has(card+" [data-ui=others] [data-kind=rule]") || strings.Contains(b.Text(card+" [data-ui=others]"), none)
					})
					if suggests := len(r.Suggestions) > 2; b.Has(card+" [data-kind=agent]") != (suggests && can.Always) {
						t.Errorf("%s suggests %s, and the page offers it: %v", what, r.Suggestions, !suggests)
					}
				}
				look(what+" "+mode, card)
			}
			d.Deny(r, "")
			_ = h.Cmd.Wait() // what it prints is not in the shape of Claude Code for all of them
		}
	}

	// A suggestion that is taken is the agent's own "always".
	payload, err := os.ReadFile(filepath.Join(recorded, "opencode", "PermissionRequest-shell.json"))
	if err != nil {
		t.Fatal(err)
	}
	h := d.Hook(payload, "--agent", "opencode")
	d.WaitPending(1)
	b.Mode("always")
	b.See(rig.Open+" [data-ui=suggestion][data-kind=agent]", "Allow Bash(touch *)")
	b.See(rig.Open+" [data-ui=suggestion][data-kind=agent]", rig.Word("always.kept.cliArg"))
	b.Choose(rig.Open+" [data-ui=suggestion][data-kind=agent] [data-ui=option]", true)
	b.Looks("always-opencode")
	b.Do(rig.Phone)
	b.Decide("[data-action=allow]", rig.Word("outcome.allowed"))
	_ = h.Cmd.Wait()
	if got := h.Stdout.String(); !strings.Contains(got, `"updatedPermissions":["touch *"]`) {
		t.Errorf("the plugin is told %s", got)
	}
	b.See(b.Recent()+" [data-ui=said]", "touch *")

	b.View("Sessions")
	b.See("[data-ui=sessions]", "OpenCode")
	look("the list of sessions", "body")
	b.Looks("agents-sessions")
	b.Do(rig.Phone)
	b.View("History")
	b.See("[data-ui=decision]:first-child [data-ui=agent]", "OpenCode")
	look("the history", "body")
	b.Looks("agents-history")
	b.Do(rig.Phone)
	b.Quiet()
}
