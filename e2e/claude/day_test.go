package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/claude"
	"assent/e2e/rig/modelserver"
)

// day is the script of a day with the real client: what the model does after each prompt.
func dayScripts() map[string][][]modelserver.Use {
	bash := func(command, why string) modelserver.Use {
		return modelserver.Use{Name: "Bash", Input: map[string]any{"command": command, "description": why}}
	}
	fetch := func(url string) modelserver.Use {
		return modelserver.Use{Name: "WebFetch", Input: map[string]any{"url": url, "prompt": "Summarise"}}
	}
	option := func(label string) map[string]any { return map[string]any{"label": label, "description": "d"} }
	plan := "# Release notes\n1. Collect the changes\n2. Write them down\n"
	return map[string][][]modelserver.Use{
		"plan": {
			{{Name: "Write", Input: map[string]any{"file_path": "{{planFile}}", "content": plan}}},
			{{Name: "ExitPlanMode", Input: map[string]any{"plan": plan}}},
		},
		"notes": {{bash("touch notes.md", "Begin the notes")}},
		"push":  {{bash("git push origin main", "Publish the notes")}},
		"check": {{bash("touch checked && cat missing.md", "Check the notes")}},
		"parts": {{{Name: "Agent", Input: map[string]any{
			"description": "Read the old notes", "subagent_type": "general-purpose", "prompt": "Begin with a file of your own. TOOL=part",
		}}}},
		"part":   {{bash("touch part.md", "Begin a part")}},
		"links":  {{fetch("https://example.com/a"), fetch("https://example.org/b")}},
		"colour": {{{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{option("Red"), option("Blue")}}}}}}},
	}
}

// TestDayOfTheRealClient is a day of work, read afterwards by somebody who was not there: in the
// terminal, over the API and on the page. It is the same story after a kill in the middle of it,
// and after history.db was lost.
func TestDayOfTheRealClient(t *testing.T) {
	t.Parallel()
	a := newDay(t)
	a.morning()
	a.work()

	id, other := a.sessionIDs()
	feed := a.WholeFeed(id)
	for i, e := range feed {
		rig.Valid(t, "feed/Event", e)
		if pos := rig.Number(t, e, "pos"); pos != uint64(i+1) {
			t.Fatalf("event %d has position %d", i+1, pos)
		}
	}
	text := a.Command("feed", id, "--lines")
	want := []string{
		`› Write the notes`, `⚠ Permission: Bash\(touch notes.md\)`, `✓ Allowed Bash\(touch notes.md\)`,
		`› Push them`, `✗ Denied Bash\(git push origin main\)`, `not on a Friday`,
		`› Check them`, `✗ Bash failed`,
		`› Ask a helper`, `  │ .*Bash\(touch part.md\)`,
		`› Look at both links`, `Permission: WebFetch`,
		`› Which colour`, `⚠ Question: Which colour\?`, `Answered: Which colour\?`,
		`compacted`,
	}
	rest := text
	for _, w := range want {
		at := regexp.MustCompile(w).FindStringIndex(rest)
		if at == nil {
			t.Errorf("the feed in the terminal does not tell, at its place, %s:\n%s", w, text)
			break
		}
		rest = rest[at[1]:]
	}
	if path := rig.Artifact(t, "feed.txt"); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	if out := a.Command("feed", other); !strings.Contains(out, "plan") {
		t.Errorf("the feed of the plan:\n%s", out)
	}
	if out := a.Command("search", `"not on a Friday"`); !strings.Contains(out, "Denied") {
		t.Errorf("search: %s", out)
	}
	a.readOnThePage(id)

	// The feed is made again from the streams, event by event the same.
	before := map[string][]json.RawMessage{}
	for _, s := range a.Sessions() {
		before[s] = a.WholeFeed(s)
	}
	if code := a.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	files, err := filepath.Glob(filepath.Join(a.State, "history.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history.db: %v", err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	a.Start()
	for s, was := range before {
		var is []json.RawMessage
		rig.Eventually(t, rig.Soon, "the feed of "+s+" again", func() bool {
			is = a.ReadFeed(s)
			return len(is) >= len(was)
		})
		for i := range was {
			if string(was[i]) != string(is[i]) {
				t.Fatalf("event %d of %s was\n%s\nand is\n%s", i+1, s, was[i], is[i])
			}
		}
	}
}

// dayAgent is the agent of that day.
type dayAgent struct {
	*rig.Agent
	term *claude.Terminal
}

func newDay(t *testing.T) *dayAgent {
	a := rig.NewAgent(t)
	m, err := modelserver.Start(dayScripts())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	a.Model, a.Config.ModelURL = m, m.URL()
	return &dayAgent{Agent: a}
}

// morning is a session of its own: a plan is made and approved.
func (a *dayAgent) morning() {
	a.T.Helper()
	config := a.Config
	a.Config.Mode, a.Config.Dir = "plan", filepath.Join(a.Daemon.Dir, "plan")
	if err := os.Mkdir(a.Config.Dir, 0o700); err != nil {
		a.T.Fatal(err)
	}
	a.open()
	a.say("Plan the release notes TOOL=plan", func() { a.Allow(a.WaitPending(1)[0]) })
	if err := a.term.Close(); err != nil {
		a.T.Fatal(err)
	}
	a.Config = config
}

func (a *dayAgent) work() {
	a.T.Helper()
	a.open()
	allow := func() { a.Allow(a.WaitPending(1)[0]) }
	a.say("Write the notes TOOL=notes", allow)
	a.say("Push them TOOL=push", func() { a.Deny(a.WaitPending(1)[0], "not on a Friday") })
	a.say("Check them TOOL=check", allow)
	// The broker dies while a subagent waits. Nothing is lost by it.
	a.say("Ask a helper TOOL=parts", func() {
		r := a.WaitPending(1)[0]
		a.Kill()
		a.Start()
		a.Allow(a.Until(r.ID, "attached again", func(r rig.Request) bool { return !r.Detached }))
	})
	a.say("Look at both links TOOL=links", func() {
		for _, r := range a.WaitPending(2) {
			if strings.Contains(string(r.ToolInput), "example.org") {
				a.Deny(r, "not this one")
			} else {
				a.Allow(r)
			}
		}
	})
	a.say("Which colour for the cover? TOOL=colour", func() {
		r := a.WaitPending(1)[0]
		var input map[string]any
		if err := json.Unmarshal(r.ToolInput, &input); err != nil {
			a.T.Fatal(err)
		}
		input["answers"] = map[string]string{"Which colour?": "Blue"}
		a.Decide(r, rig.Decision{Behavior: "allow", UpdatedInput: rig.Object(a.T, input)})
	})
	a.slash("/compact", "compact.post")
	a.slash("/clear", "session.end")
}

func (a *dayAgent) open() {
	a.T.Helper()
	rig.Need(a.T, "tmux")
	term, err := claude.Open(a.Ctx, a.Config)
	if err != nil {
		a.T.Fatal(err)
	}
	a.term = term
	a.T.Cleanup(func() {
		if screen, err := term.Screen(a.T.Context()); err == nil && a.T.Failed() {
			a.T.Logf("the terminal shows:\n%s", screen)
		}
		_ = term.Close()
	})
}

// say gives a prompt, does what has to be done meanwhile, and waits for the end of the turn.
func (a *dayAgent) say(prompt string, meanwhile func()) {
	a.T.Helper()
	if err := a.term.Prompt(a.Ctx, prompt); err != nil {
		a.T.Fatal(err)
	}
	meanwhile()
	rig.Eventually(a.T, 2*rig.Soon, "the turn ends after "+prompt, func() bool {
		for _, id := range a.Sessions() {
			asked := false
			for _, title := range a.texts(id) {
				if asked && strings.Contains(title, "The turn ends") {
					return true
				}
				asked = asked || strings.Contains(title, "› "+prompt)
			}
		}
		return false
	})
}

// slash gives a command of the client's own and waits for the event it ends with.
func (a *dayAgent) slash(command, kind string) {
	a.T.Helper()
	n := a.count(kind)
	if err := a.term.Prompt(a.Ctx, command); err != nil {
		a.T.Fatal(err)
	}
	a.kinds(kind, n+1)
}

// kinds waits until n events of a kind are in the feeds.
func (a *dayAgent) kinds(kind string, n int) {
	a.T.Helper()
	rig.Eventually(a.T, 2*rig.Soon, fmt.Sprintf("%d × %s in the feeds", n, kind), func() bool { return a.count(kind) >= n })
}

func (a *dayAgent) count(kind string) int {
	n := 0
	for _, id := range a.Sessions() {
		for _, e := range a.ReadFeed(id) {
			if strings.Contains(string(e), `"kind":"`+kind+`"`) {
				n++
			}
		}
	}
	return n
}

// sessionIDs are the session of the work and that of the morning.
func (a *dayAgent) sessionIDs() (work, morning string) {
	a.T.Helper()
	for _, id := range a.Sessions() {
		text := fmt.Sprint(a.texts(id))
		switch {
		case strings.Contains(text, "Write the notes"):
			work = id
		case strings.Contains(text, "Plan the release notes"):
			morning = id
		}
	}
	if work == "" || morning == "" {
		a.T.Fatalf("sessions: %v", a.Sessions())
	}
	return work, morning
}

func (a *dayAgent) texts(id string) (titles []string) {
	for _, e := range a.ReadFeed(id) {
		var doc struct{ Title string }
		if err := json.Unmarshal(e, &doc); err != nil {
			a.T.Fatal(err)
		}
		titles = append(titles, doc.Title)
	}
	return titles
}

// readOnThePage reads the day on a phone and on a wide screen, with something that waits.
func (a *dayAgent) readOnThePage(id string) {
	t := a.T
	b := rig.NewBrowser(t)
	b.Do(rig.Colors("light"))
	b.Pair(a.Daemon)
	b.ProperFont()
	b.View("Sessions")
	b.See("[data-ui=sessions]", "work")
	// It has ended, so it is found by what happened in it.
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=feed] search input"), "Friday"))
	b.See("[data-ui=feed] search ul", "Friday")
	b.Tap("[data-ui=feed] search ul button")
	b.See("[data-ui=call][data-state=denied]", "git push origin main")
	b.See("[data-ui=story]", "Which colour?")
	b.See("[data-ui=session]", "Which colour for the cover?") // the last prompt
	b.Image("feed-phone.png")
	b.Shot("feed-phone.png")
	// On a wide screen, with a request of the same session.
	payload := rig.Object(t, map[string]any{
		"session_id": id, "cwd": a.Config.Work(), "permission_mode": "default", "hook_event_name": "PermissionRequest",
		"tool_name": "Bash", "tool_input": map[string]any{"command": "npm test -- notes", "description": "Run the tests of the notes"},
	})
	h := a.Hook(payload)
	b.Do(rig.Desktop)
	b.See("[data-ui=story]", "npm test -- notes")
	b.Do(chromedp.WaitVisible(chromedp.CSS("[data-ui=feed] [data-action=answer]")))
	b.Image("feed-desktop.png")
	b.Shot("feed-desktop.png")
	// What comes is followed at the end, and moves nothing for a reader who is not there.
	b.Tap("[data-ui=feed] [data-action=answer]")
	b.See(rig.Open, "npm test -- notes")
	b.Tap(rig.Open + " [data-action=allow]")
	h.Wait()
	b.View("Sessions")
	b.Tap(`[data-ui=sessions] button[data-session="` + id + `"]`)
	b.See("[data-ui=call][data-state=allowed]", "npm test -- notes")
	rig.Eventually(t, rig.Soon, "the feed follows at its end", func() bool {
		return rig.Value(b, chromedp.Evaluate[bool](`(f => f.scrollHeight - f.scrollTop - f.clientHeight < 2)(document.querySelector("[data-ui=feed]"))`))
	})
	rig.Value(b, chromedp.Evaluate[bool](`(document.querySelector("[data-ui=feed]").scrollTop = 100, true)`))
	b.See("[data-action=newest]", rig.Word("feed.newest"))
	a.Hook(rig.Object(t, map[string]any{"session_id": id, "hook_event_name": "Notification", "message": "one more thing", "notification_type": "other"})).Wait()
	b.See("[data-ui=story]", "one more thing")
	if !rig.Value(b, chromedp.Evaluate[bool](`document.querySelector("[data-ui=feed]").scrollTop === 100`)) {
		t.Error("the feed moved under its reader")
	}
	b.Tap("[data-action=newest]")
	b.Do(chromedp.WaitNotPresent(chromedp.CSS("[data-action=newest]")))
	// The search leads to a session.
	b.Do(chromedp.SendKeys(chromedp.CSS("[data-ui=feed] search input"), "release notes"))
	b.See("[data-ui=feed] search ul", "Plan the release notes")
	b.Tap("[data-action=hit]")
	b.See("[data-ui=session]", "Plan the release notes")
	b.Quiet()
}
