package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// Five agents ask one broker at the same time, and are answered on one page, which says whose request each is.
// With -update the picture in docs/images is made of it.
func TestFiveAgentsOnePage(t *testing.T) {
	forRelease(t)
	t.Parallel()
	rig.Need(t, "chromium")
	a := rig.NewAgent(t)
	b := rig.NewBrowser(t)
	b.Do(rig.Colors("light"))
	b.Pair(a.Daemon)
	b.ProperFont()

	of := func(name, project string) *rig.Coder {
		return rig.CoderOf(t, a.Daemon, name, filepath.Join(a.Dir, name), project)
	}
	type session struct {
		name, command string
		c             *rig.Coder
		file          string
		allow         bool
	}
	all := []session{
		{"Claude", "mkdir -p dist && touch dist/release-notes.md", nil, "dist/release-notes.md", true},
		{"Codex", "touch coverage.out", of("codex", "billing"), "coverage.out", true},
		{"Copilot", "git init -q vendor/tool", of("copilot", "web-shop"), "vendor/tool", false},
		{"OpenCode", "mv README.md OLD.md", of("opencode", "handbook"), "OLD.md", false},
		{"Qwen", "cp go.mod go.mod.bak", of("qwen", "gateway"), "go.mod.bak", true},
	}
	for _, s := range all[1:] { // each with its own settings, as its user would have them
		switch s.name {
		case "Codex":
			codexSettings(s.c)
			s.c.Assent("install", "codex", "--yes", "--socket", s.c.Socket)
		case "Copilot":
			copilotSettings(s.c)
			s.c.Assent("install", "copilot", "--yes", "--socket", s.c.Socket)
		case "OpenCode":
			openCodeSettings(s.c, "opencode", asksForAll, "mock-model")
			s.c.Assent("install", "opencode", "--yes", "--socket", s.c.Socket)
		case "Qwen":
			qwenSettings(s.c)
			s.c.Assent("install", "qwen", "--yes", "--socket", s.c.Socket)
		}
	}
	for _, x := range []struct{ path, text string }{{all[3].c.Path("README.md"), "# Handbook\n"}, {all[4].c.Path("go.mod"), "module gateway\n"}} {
		if err := os.WriteFile(x.path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	a.Terminal([]modelserver.Use{rig.Run(all[0].command)})
	codexTerm := codexTerminal(all[1].c)
	copilotTerm := all[2].c.Terminal("--no-color")
	all[2].c.Shows(copilotTerm, `❯`)
	openCodeTerm := all[3].c.Terminal()
	all[3].c.Shows(openCodeTerm, `Ask anything|ctrl\+p|commands`)
	qwenTerm := qwenTerminal(all[4].c)
	all[1].c.Prompt(codexTerm, codexRun(all[1].command))
	all[2].c.Prompt(copilotTerm, copilotRun(all[2].command))
	all[3].c.Prompt(openCodeTerm, openCodeRun(all[3].command))
	all[4].c.Prompt(qwenTerm, qwenRun(all[4].command)) // last: it waits for less than a minute

	waiting := map[string]rig.Request{} // by command
	for _, r := range a.WaitPending(len(all)) {
		for _, s := range all {
			if strings.Contains(string(r.ToolInput), strings.ReplaceAll(s.command, "&", `\u0026`)) || strings.Contains(string(r.ToolInput), s.command) {
				waiting[s.name] = r
			}
		}
	}
	if len(waiting) != len(all) {
		t.Fatalf("%d of %d are told apart: %+v", len(waiting), len(all), waiting)
	}
	b.Do(rig.Desktop)
	for _, s := range all {
		b.See(entry(waiting[s.name])+" [data-ui=agent]", s.name)
	}
	b.Tap(entry(waiting["OpenCode"]))
	b.See(rig.Open+" [data-ui=agent]", "OpenCode")
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + ` [data-action=deny][aria-disabled="false"]`)))
	b.Image("agents-desktop.png")

	slices.Reverse(all) // Qwen Code first
	for _, s := range all {
		r := waiting[s.name]
		if !b.Has(rig.Open + `[data-request="` + r.ID + `"]`) {
			b.Tap(entry(r))
		}
		card := rig.Open + `[data-request="` + r.ID + `"]`
		b.See(card+" [data-ui=agent]", s.name)
		if text := b.Text(card); s.name != "Claude" && strings.Contains(text, "Claude") {
			t.Errorf("the card of %s speaks of Claude:\n%s", s.name, text)
		}
		action, outcome := "deny", "denied"
		if s.allow {
			action, outcome = "allow", "allowed"
		}
		b.Tap(card + " " + rig.Action(action))
		if r = a.Until(r.ID, "is over", func(r rig.Request) bool { return r.State != "pending" }); r.Outcome != outcome {
			t.Errorf("%s: %+v", s.name, r)
		}
	}
	a.ModelDone()
	for _, s := range all {
		made := a.Exists(s.file)
		if s.c != nil {
			if s.allow {
				s.c.ModelDone(1)
			}
			made = s.c.Exists(s.file)
		}
		if made != s.allow {
			t.Errorf("%s: ran %v, want %v", s.name, made, s.allow)
		}
	}
}

func entry(r rig.Request) string { return `[data-ui=entry][data-request="` + r.ID + `"]` }
