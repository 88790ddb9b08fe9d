package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/claude"
	"assent/e2e/modelserver"
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
	feed := a.wholeFeed(id)
	for i, e := range feed {
		valid(t, "feed/Event", e)
		if pos := number(t, e, "pos"); pos != uint64(i+1) {
			t.Fatalf("event %d has position %d", i+1, pos)
		}
	}
	text := a.command("feed", id)
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
	if path := artifact(t, "feed.txt"); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	if out := a.command("feed", other); !strings.Contains(out, "plan") {
		t.Errorf("the feed of the plan:\n%s", out)
	}
	if out := a.command("search", `"not on a Friday"`); !strings.Contains(out, "Denied") {
		t.Errorf("search: %s", out)
	}
	a.readOnThePage(id)

	// The feed is made again from the streams, event by event the same.
	before := map[string][]json.RawMessage{}
	for _, s := range a.sessions() {
		before[s] = a.wholeFeed(s)
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	files, err := filepath.Glob(filepath.Join(a.state, "history.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history.db: %v", err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	a.start()
	for s, was := range before {
		var is []json.RawMessage
		eventually(t, soon, "the feed of "+s+" again", func() bool {
			is = a.readFeed(s)
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
	*agent
	term *claude.Terminal
}

func newDay(t *testing.T) *dayAgent {
	a := newAgent(t)
	m, err := modelserver.Start(dayScripts())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	a.model, a.config.ModelURL = m, m.URL()
	return &dayAgent{agent: a}
}

// morning is a session of its own: a plan is made and approved.
func (a *dayAgent) morning() {
	a.t.Helper()
	config := a.config
	a.config.Mode, a.config.Dir = "plan", filepath.Join(a.daemon.dir, "plan")
	if err := os.Mkdir(a.config.Dir, 0o700); err != nil {
		a.t.Fatal(err)
	}
	a.open()
	a.say("Plan the release notes TOOL=plan", func() { a.allow(a.waitPending(1)[0]) })
	if err := a.term.Close(); err != nil {
		a.t.Fatal(err)
	}
	a.config = config
}

func (a *dayAgent) work() {
	a.t.Helper()
	a.open()
	allow := func() { a.allow(a.waitPending(1)[0]) }
	a.say("Write the notes TOOL=notes", allow)
	a.say("Push them TOOL=push", func() { a.deny(a.waitPending(1)[0], "not on a Friday") })
	a.say("Check them TOOL=check", allow)
	// The broker dies while a subagent waits. Nothing is lost by it.
	a.say("Ask a helper TOOL=parts", func() {
		r := a.waitPending(1)[0]
		a.kill()
		a.start()
		a.allow(a.until(r.ID, "attached again", func(r request) bool { return !r.Detached }))
	})
	a.say("Look at both links TOOL=links", func() {
		for _, r := range a.waitPending(2) {
			if strings.Contains(string(r.ToolInput), "example.org") {
				a.deny(r, "not this one")
			} else {
				a.allow(r)
			}
		}
	})
	a.say("Which colour for the cover? TOOL=colour", func() {
		r := a.waitPending(1)[0]
		var input map[string]any
		if err := json.Unmarshal(r.ToolInput, &input); err != nil {
			a.t.Fatal(err)
		}
		input["answers"] = map[string]string{"Which colour?": "Blue"}
		a.decide(r, decision{Behavior: "allow", UpdatedInput: object(a.t, input)})
	})
	a.slash("/compact", "compact.post")
	a.slash("/clear", "session.end")
}

func (a *dayAgent) open() {
	a.t.Helper()
	need(a.t, "tmux")
	term, err := claude.Open(a.ctx, a.config)
	if err != nil {
		a.t.Fatal(err)
	}
	a.term = term
	a.t.Cleanup(func() {
		if screen, err := term.Screen(a.t.Context()); err == nil && a.t.Failed() {
			a.t.Logf("the terminal shows:\n%s", screen)
		}
		_ = term.Close()
	})
}

// say gives a prompt, does what has to be done meanwhile, and waits for the end of the turn.
func (a *dayAgent) say(prompt string, meanwhile func()) {
	a.t.Helper()
	if err := a.term.Prompt(a.ctx, prompt); err != nil {
		a.t.Fatal(err)
	}
	meanwhile()
	eventually(a.t, 2*soon, "the turn ends after "+prompt, func() bool {
		for _, id := range a.sessions() {
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
	a.t.Helper()
	n := a.count(kind)
	if err := a.term.Prompt(a.ctx, command); err != nil {
		a.t.Fatal(err)
	}
	a.kinds(kind, n+1)
}

// kinds waits until n events of a kind are in the feeds.
func (a *dayAgent) kinds(kind string, n int) {
	a.t.Helper()
	eventually(a.t, 2*soon, fmt.Sprintf("%d × %s in the feeds", n, kind), func() bool { return a.count(kind) >= n })
}

func (a *dayAgent) count(kind string) int {
	n := 0
	for _, id := range a.sessions() {
		for _, e := range a.readFeed(id) {
			if strings.Contains(string(e), `"kind":"`+kind+`"`) {
				n++
			}
		}
	}
	return n
}

// sessionIDs are the session of the work and that of the morning.
func (a *dayAgent) sessionIDs() (work, morning string) {
	a.t.Helper()
	for _, id := range a.sessions() {
		text := fmt.Sprint(a.texts(id))
		switch {
		case strings.Contains(text, "Write the notes"):
			work = id
		case strings.Contains(text, "Plan the release notes"):
			morning = id
		}
	}
	if work == "" || morning == "" {
		a.t.Fatalf("sessions: %v", a.sessions())
	}
	return work, morning
}

func (a *dayAgent) texts(id string) (titles []string) {
	for _, e := range a.readFeed(id) {
		var doc struct{ Title string }
		if err := json.Unmarshal(e, &doc); err != nil {
			a.t.Fatal(err)
		}
		titles = append(titles, doc.Title)
	}
	return titles
}

// sessions are the ids of all sessions; each is valid by its schema.
func (d *daemon) sessions() (ids []string) {
	d.t.Helper()
	var docs []json.RawMessage
	d.get("/v1/sessions", &docs)
	for _, doc := range docs {
		valid(d.t, "SessionInfo", doc)
		var s struct{ SessionID string }
		if err := json.Unmarshal(doc, &s); err != nil {
			d.t.Fatal(err)
		}
		ids = append(ids, s.SessionID)
	}
	return ids
}

// readFeed returns the feed of a session as far as there is one, as its bytes.
func (d *daemon) readFeed(id string) (events []json.RawMessage) {
	d.t.Helper()
	for {
		after := uint64(0)
		if len(events) > 0 {
			after = number(d.t, events[len(events)-1], "pos")
		}
		status, body, err := d.try("GET", fmt.Sprintf("/v1/sessions/%s/feed?after=%d&limit=50", url.PathEscape(id), after), nil)
		if err != nil || status != 200 {
			return events // unknown yet
		}
		var page []json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			d.t.Fatal(err)
		}
		if len(page) == 0 {
			return events
		}
		events = append(events, page...)
	}
}

// wholeFeed is readFeed when nothing more comes: many times the same, and some time apart. Looks count
// besides, for a machine that stands still makes nothing more come either.
func (d *daemon) wholeFeed(id string) (events []json.RawMessage) {
	d.t.Helper()
	rest, looks := time.Now(), 0
	eventually(d.t, soon, "the feed comes to rest", func() bool {
		if now := d.readFeed(id); len(now) != len(events) {
			events, rest, looks = now, time.Now(), 0
		}
		looks++
		return len(events) > 0 && time.Since(rest) > 2*time.Second && looks > 50
	})
	return events
}

func number(t *testing.T, doc json.RawMessage, member string) uint64 {
	t.Helper()
	var m map[string]json.RawMessage
	var n uint64
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m[member], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// readOnThePage reads the day on a phone and on a wide screen, with something that waits.
func (a *dayAgent) readOnThePage(id string) {
	t := a.t
	b := newBrowser(t)
	b.do(colors("light"))
	b.pair(a.daemon)
	b.see(".rail", "work")
	b.tap(`.rail button[data-session="` + id + `"]`)
	b.see(".story", "Denied Bash(git push origin main)")
	b.see(".story", "Which colour?")
	b.see(".session-head", "Write the notes")
	b.image("feed-phone.png")
	b.shot("feed-phone.png")
	// On a wide screen beside a request of the same session.
	payload := object(t, map[string]any{
		"session_id": id, "cwd": a.config.Work(), "permission_mode": "default", "hook_event_name": "PermissionRequest",
		"tool_name": "Bash", "tool_input": map[string]any{"command": "npm test -- notes", "description": "Run the tests of the notes"},
	})
	h := a.hook(payload)
	b.see(open, "npm test -- notes")
	b.do(desktop)
	b.tap(".rail button")
	b.tap(`.rail button[data-session="` + id + `"]`)
	b.see(".story", "npm test -- notes")
	b.do(chromedp.WaitVisible(chromedp.CSS(open + ` button.allow[aria-disabled="false"]`)))
	b.image("feed-desktop.png")
	b.shot("feed-desktop.png")
	// What comes is followed at the end, and moves nothing for a reader who is not there.
	b.tap(open + " button.allow")
	h.wait()
	b.see(".story", "Allowed Bash(npm test -- notes)")
	eventually(t, soon, "the feed follows at its end", func() bool {
		return value(b, chromedp.Evaluate[bool](`(f => f.scrollHeight - f.scrollTop - f.clientHeight < 2)(document.querySelector(".feed"))`))
	})
	value(b, chromedp.Evaluate[bool](`(document.querySelector(".feed").scrollTop = 100, true)`))
	b.see(".newest", "To the newest")
	a.hook(object(t, map[string]any{"session_id": id, "hook_event_name": "Notification", "message": "one more thing", "notification_type": "other"})).wait()
	b.see(".story", "one more thing")
	if !value(b, chromedp.Evaluate[bool](`document.querySelector(".feed").scrollTop === 100`)) {
		t.Error("the feed moved under its reader")
	}
	b.tap(".newest")
	b.do(chromedp.WaitNotPresent(chromedp.CSS(".newest")))
	// The search leads to a session.
	b.do(chromedp.SendKeys(chromedp.CSS(".search input"), "release notes"))
	b.see(".search ul", "Plan the release notes")
	b.tap(".search li .hit")
	b.see(".session-head", "Plan the release notes")
	b.quiet()
}
