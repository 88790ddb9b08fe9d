package page

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
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
	d := rig.Serve(t)
	if out := d.Hook(elicitation(deployForm, nil)).Wait(); out != "" {
		t.Errorf("nobody was there to answer, and the hook printed %s", out)
	}
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.See("main", rig.Word("empty.head")) // so the broker knows that somebody is there
	b.Rest()
	h := d.Hook(elicitation(deployForm, nil))
	r := d.WaitPending(1)[0]
	b.See(rig.Open+" h3", "Answer the MCP server deploy")
	b.See(rig.Open, "Where should the release go?")
	b.See(rig.Open+" [data-ui=form]", "Shown in the log")
	b.See(rig.Open+" [data-ui=form] pre", "a⟦U+202E⟧b") // nothing is proposed that cannot be seen
	b.See(rig.Open+" [data-ui=form]", "sends eu")       // beside a title that says something else
	if row, field := b.Box("[data-ui=entry]"), b.Box("[data-ui=entry] :is(input, textarea)"); field.Width < 0.9*row.Width {
		t.Errorf("a field is %.0f wide in a row of %.0f", field.Width, row.Width)
	}
	b.Looks("form")
	b.Accessible("form")
	b.Decide("[data-action=deny]", "Declined") // a form is not held for long, and this may have taken long
	if out := h.Wait(); out != declined {
		t.Errorf("the hook printed %s, want %s", out, declined)
	}
	h = d.Hook(elicitation(deployForm, nil))
	r = d.WaitPending(1)[0]

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
		status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "allow", InputSHA256: r.InputSHA256, UpdatedInput: json.RawMessage(content)})
		if err != nil || status != 400 || !strings.Contains(string(body), wrong) {
			t.Errorf("%s: %d %s %v; want 400 that says %q", content, status, body, err, wrong)
		}
	}
	for _, dec := range []rig.Decision{{Behavior: "allow"}, {Behavior: "deny", Message: "words"}} {
		dec.InputSHA256 = r.InputSHA256
		if status, body, err := d.Try("POST", "/v1/requests/"+r.ID+"/decision", dec); err != nil || status != 400 {
			t.Errorf("%+v: %d %s %v; want 400", dec, status, body, err)
		}
	}
	if _, why := d.Proposals(r.ID); !strings.Contains(why, "no call") {
		t.Errorf("a rule is proposed of a form: %q", why)
	}

	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" [data-ui=entry] textarea"), "r1"))
	b.Choose(rig.Open+" [data-ui=form] fieldset:nth-of-type(1) [data-ui=option]:nth-of-type(2)", true)
	b.Choose(rig.Open+" [data-ui=form] fieldset:nth-of-type(2) [data-ui=option]:nth-of-type(1)", true)
	b.Choose(rig.Open+" [data-ui=form] fieldset:nth-of-type(3) [data-ui=option]:nth-of-type(2)", true)
	b.SeeAll()
	b.See(rig.Open+" [data-ui=obstacle]", "choose at least 2")
	b.Choose(rig.Open+" [data-ui=form] fieldset:nth-of-type(2) [data-ui=option]:nth-of-type(2)", true)
	b.Looks("form-filled")
	b.SeeAll() // on another screen it has another height
	b.Decide("[data-action=allow]", "Answered")
	const content = `{"name":"r1","stage":"production","regions":["eu","us"],"percent":10,"notify":false,"note":"a\u202eb"}`
	var got struct {
		Out struct{ Content map[string]any } `json:"hookSpecificOutput"`
	}
	out := h.Wait()
	if err := json.Unmarshal([]byte(out), &got); err != nil || !strings.HasPrefix(out, accepted) || string(rig.Object(t, got.Out.Content)) != string(sorted(t, content)) {
		t.Errorf("the hook printed %s (%v), want %s", out, err, content)
	}
	b.See("[data-ui=past]:first-child", "stage → production")
	b.Looks("form-sent")
	var trace []hook.Record
	d.Get("/v1/requests/"+r.ID+"/trace", &trace)
	if !slices.ContainsFunc(trace, func(r hook.Record) bool {
		return r.Decision != nil && r.Decision.Signature != "" && r.Decision.InputSHA256 != ""
	}) {
		t.Errorf("the answer is not signed: %+v", trace)
	}

	h = d.Hook(elicitation(`{"type":"object","properties":{}}`, nil))
	d.WaitPending(1)
	b.Mode("stop")
	b.Decide("[data-action=deny]", "Declined")
	if out := h.Wait(); out != canceled {
		t.Errorf("the hook printed %s, want %s", out, canceled)
	}
	b.Quiet()
}

// sorted is a JSON text with its members in order.
func sorted(t *testing.T, text string) json.RawMessage {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return rig.Object(t, v)
}

// TestFormThatIsNotKnownIsTheAgents: of anything that the page might show otherwise than the server
// meant it, nothing is held, though somebody is there.
func TestFormThatIsNotKnownIsTheAgents(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
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
		if out := d.Hook(payload).Wait(); out != "" {
			t.Errorf("%s: the hook printed %s", name, out)
		}
	}
	if all := append(d.Settled(), d.Pending()...); len(all) != 0 {
		t.Errorf("held: %+v", all)
	}
	b.Quiet()
}

// TestClaudeFormIsFilledInOnThePage: with the real client, which shows its own form only where
// nobody could answer on the page.
func TestClaudeFormIsFilledInOnThePage(t *testing.T) {
	t.Parallel()
	rig.Need(t, "python3")
	a := rig.NewAgent(t)
	b := rig.NewBrowser(t)
	b.Pair(a.Daemon)
	a.WithMCP()
	a.Config.Args = append(a.Config.Args, "--allowedTools", "mcp__lab__ask")
	ask := func(params map[string]any) []modelserver.Use {
		return []modelserver.Use{{Name: "mcp__lab__ask", Input: map[string]any{"params": params}}}
	}
	form := map[string]any{"message": "Who are you?", "requestedSchema": map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
	}}
	term := a.Terminal(ask(form), ask(form), ask(map[string]any{"mode": "url", "elicitationId": "e1", "url": "https://example.com/login", "message": "Log in"}))
	b.See(rig.Open, "Who are you?")
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+" textarea"), "Ada ⟦of⟧ London"))
	b.Decide("[data-action=allow]", "Answered")
	b.See(rig.Open, "Who are you?")
	b.Decide("[data-action=deny]", "Declined")
	if _, err := term.Wait(a.Ctx, urlForm); err != nil { // the address is the agent's own to show
		t.Fatal(err)
	}
	if _, err := term.Key(a.Ctx, "Escape"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range a.ModelDone() {
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
	if n := len(a.Settled()); n != 2 {
		t.Errorf("%d requests, want the two forms", n)
	}
	b.Quiet()
}
