package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/modelserver"
	"assent/internal/hook"
)

var urlForm = regexp.MustCompile(`example\.com/login`)

const deployForm = `{"type":"object","title":"A release","properties":{
	"name":{"type":"string","title":"Name of the release","description":"Shown in the log","minLength":2},
	"stage":{"type":"string","enum":["staging","production"],"enumNames":["Staging","Production"]},
	"regions":{"type":"array","title":"Regions","minItems":2,"items":{"anyOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"America"}]}},
	"percent":{"type":"integer","minimum":1,"maximum":100,"default":10},
	"notify":{"type":"boolean"},
	"note":{"type":"string","default":"a\u202eb"}},
	"required":["name","stage","regions","notify"]}`

// elicitation is the event in which an MCP server wants a form filled in.
func elicitation(schema string, more map[string]any) []byte {
	doc := map[string]any{
		"session_id": "s-form", "transcript_path": "/tmp/t.jsonl", "cwd": "/home/dev/shop", "hook_event_name": "Elicitation",
		"mcp_server_name": "deploy", "message": "Where should the release go?", "mode": "form", "requested_schema": json.RawMessage(schema),
	}
	for k, v := range more {
		doc[k] = v
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // a bug in the test
	}
	return b
}

const (
	accepted = `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":`
	declined = `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}`
	canceled = `{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"cancel"}}`
)

// TestPageFillsInAForm: what an MCP server wants to know is answered on the page, and what was
// signed there is what the agent is told.
func TestPageFillsInAForm(t *testing.T) {
	t.Parallel()
	d := serve(t)
	if out := d.hook(elicitation(deployForm, nil)).wait(); out != "" {
		t.Errorf("nobody was there to answer, and the hook printed %s", out)
	}
	b := newBrowser(t)
	b.pair(d)
	b.see("main", "Nothing waits for you") // so the broker knows that somebody is there
	b.rest()
	h := d.hook(elicitation(deployForm, nil))
	r := d.waitPending(1)[0]
	b.see(open+" h3", "Answer the MCP server deploy")
	b.see(open, "Where should the release go?")
	b.see(open+" .form", "Shown in the log")
	b.see(open+" .form pre", "a⟦U+202E⟧b") // nothing is proposed that cannot be seen
	b.see(open+" .form", "production")     // what is sent, beside its title
	b.accessible("form")
	b.decide("button.deny", "Declined") // a form is not held for long, and this may have taken long
	if out := h.wait(); out != declined {
		t.Errorf("the hook printed %s, want %s", out, declined)
	}
	h = d.hook(elicitation(deployForm, nil))
	r = d.waitPending(1)[0]

	// Nobody can answer otherwise than the form wants.
	for content, wrong := range map[string]string{
		`{"name":"x","stage":"staging","regions":["eu","us"],"notify":true}`:                 "name is less than 2",
		`{"name":"r1","stage":"mars","regions":["eu","us"],"notify":true}`:                   "stage is none",
		`{"name":"r1","stage":"staging","regions":["eu","eu"],"notify":true}`:                "regions has",
		`{"name":"r1","stage":"staging","regions":["eu","us"],"notify":"yes"}`:               "notify is neither",
		`{"name":"r1","stage":"staging","regions":["eu","us"],"notify":true,"percent":1.5}`:  "percent is no whole",
		`{"name":"r1","stage":"staging","regions":["eu","us"],"notify":true,"admin":true}`:   "admin is not asked for",
		`{"name":"r1","stage":"staging","regions":["eu","us"]}`:                              "notify is missing",
		`{"name":"r1","NAME":"r2","stage":"staging","regions":["eu","us"],"notify":true}`:    "case-varied",
		`{"name":"r1","stage":"staging","regions":["eu","us"],"notify":true,"percent":1000}`: "percent is more",
	} {
		status, body, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: "allow", InputSHA256: r.InputSHA256, UpdatedInput: json.RawMessage(content)})
		if err != nil || status != 400 || !strings.Contains(string(body), wrong) {
			t.Errorf("%s: %d %s %v; want 400 that says %q", content, status, body, err, wrong)
		}
	}
	for _, dec := range []decision{{Behavior: "allow"}, {Behavior: "deny", Message: "words"}} {
		dec.InputSHA256 = r.InputSHA256
		if status, body, err := d.try("POST", "/v1/requests/"+r.ID+"/decision", dec); err != nil || status != 400 {
			t.Errorf("%+v: %d %s %v; want 400", dec, status, body, err)
		}
	}
	if _, why := d.proposals(r.ID); !strings.Contains(why, "no call") {
		t.Errorf("a rule is proposed of a form: %q", why)
	}

	b.do(chromedp.SendKeys(chromedp.CSS(open+" .entry textarea"), "r1"))
	b.choose(open+" .form fieldset:nth-of-type(1) .option:nth-of-type(2)", true)
	b.choose(open+" .form fieldset:nth-of-type(2) .option:nth-of-type(1)", true)
	b.choose(open+" .form fieldset:nth-of-type(3) .option:nth-of-type(2)", true)
	b.seeAll()
	b.see(open+" .obstacle", "choose at least 2")
	b.choose(open+" .form fieldset:nth-of-type(2) .option:nth-of-type(2)", true)
	b.looks("form-filled")
	b.seeAll() // on another screen it has another height
	b.decide("button.allow", "Answered")
	const content = `{"name":"r1","stage":"production","regions":["eu","us"],"percent":10,"notify":false,"note":"a\u202eb"}`
	var got struct {
		Out struct{ Content map[string]any } `json:"hookSpecificOutput"`
	}
	out := h.wait()
	if err := json.Unmarshal([]byte(out), &got); err != nil || !strings.HasPrefix(out, accepted) || string(object(t, got.Out.Content)) != string(sorted(t, content)) {
		t.Errorf("the hook printed %s (%v), want %s", out, err, content)
	}
	b.see(over+" .said", "production")
	b.looks("form-sent")
	var trace []hook.Record
	d.get("/v1/requests/"+r.ID+"/trace", &trace)
	if !slices.ContainsFunc(trace, func(r hook.Record) bool {
		return r.Decision != nil && r.Decision.Signature != "" && r.Decision.InputSHA256 != ""
	}) {
		t.Errorf("the answer is not signed: %+v", trace)
	}

	h = d.hook(elicitation(`{"type":"object","properties":{}}`, nil))
	d.waitPending(1)
	b.tap(open + " button.third")
	b.decide("button.deny", "Declined")
	if out := h.wait(); out != canceled {
		t.Errorf("the hook printed %s, want %s", out, canceled)
	}
	b.quiet()
}

// seeAll scrolls the card through, until nothing of it is left to be seen.
func (b *browser) seeAll() {
	b.t.Helper()
	eventually(b.t, soon, "all of the card was seen", func() bool {
		return !value(b, chromedp.Evaluate[bool](lookThere(open), chromedp.EvalAwaitPromise))
	})
}

// lookThere is a script that goes to what was not seen, if the foot of a card has a link there, and
// says whether it had. What is on the screen is looked at frame by frame.
func lookThere(card string) string {
	return `new Promise((done) => {
		const obstacle = document.querySelector(` + jsString(card+" .obstacle") + `);
		const link = obstacle?.textContent.includes("not seen yet") ? obstacle.querySelector(".link") : null;
		link?.click();
		requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(!!link))));
	})`
}

// sorted is a JSON text with its members in order.
func sorted(t *testing.T, text string) json.RawMessage {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return object(t, v)
}

// TestFormThatIsNotKnownIsTheAgents: of anything that the page might show otherwise than the server
// meant it, nothing is held, though somebody is there.
func TestFormThatIsNotKnownIsTheAgents(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	const one = `{"type":"object","properties":{"a":{"type":"string"}}}`
	for name, payload := range map[string][]byte{
		"an address":       elicitation(`{}`, map[string]any{"mode": "url", "url": "https://example.com/login"}),
		"another keyword":  elicitation(`{"type":"object","properties":{"a":{"type":"string","pattern":"^x"}}}`, nil),
		"an object inside": elicitation(`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`, nil),
		"twice":            elicitation(`{"type":"object","properties":{"a":{"type":"string"},"A":{"type":"string"}}}`, nil),
		"a wrong default":  elicitation(`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"default":"y"}}}`, nil),
		"no session":       elicitation(one, map[string]any{"session_id": ""}),
		"no message":       elicitation(one, map[string]any{"message": nil}),
	} {
		if out := d.hook(payload).wait(); out != "" {
			t.Errorf("%s: the hook printed %s", name, out)
		}
	}
	if all := append(d.settled(), d.pending()...); len(all) != 0 {
		t.Errorf("held: %+v", all)
	}
	b.quiet()
}

// TestClaudeFormIsFilledInOnThePage: with the real client, which shows its own form only where
// nobody could answer on the page.
func TestClaudeFormIsFilledInOnThePage(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	a := newAgent(t)
	b := newBrowser(t)
	b.pair(a.daemon)
	a.withMCP()
	a.config.Args = append(a.config.Args, "--allowedTools", "mcp__lab__ask")
	ask := func(params map[string]any) []modelserver.Use {
		return []modelserver.Use{{Name: "mcp__lab__ask", Input: map[string]any{"params": params}}}
	}
	form := map[string]any{"message": "Who are you?", "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
	}}
	term := a.terminal(ask(form), ask(form), ask(map[string]any{"mode": "url", "elicitationId": "e1", "url": "https://example.com/login", "message": "Log in"}))
	b.see(open, "Who are you?")
	b.do(chromedp.SendKeys(chromedp.CSS(open+" textarea"), "Ada ⟦of⟧ London"))
	b.decide("button.allow", "Answered")
	b.see(open, "Who are you?")
	b.decide("button.deny", "Declined")
	if _, err := term.Wait(a.ctx, urlForm); err != nil { // the address is the agent's own to show
		t.Fatal(err)
	}
	if _, err := term.Key(a.ctx, "Escape"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range a.modelDone() {
		got = append(got, r.Content)
	}
	want := []string{`answer: {"action": "accept", "content": {"name": "Ada \u27e6of\u27e7 London"}}`, `answer: {"action": "decline"`, `answer: {"action": "cancel"`}
	if len(got) != len(want) {
		t.Fatalf("the model read %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("result %d is %s, want %s", i, got[i], want[i])
		}
	}
	if n := len(a.settled()); n != 2 {
		t.Errorf("%d requests, want the two forms", n)
	}
	b.quiet()
}
