package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// slyForm proposes what a box does not show whole, and offers what looks like something else.
var slyForm = `{"type":"object","title":"a\n b","properties":{
	"to":{"type":"string","format":"uri","default":"https://good.example/` + strings.Repeat("a", 60) + `@evil.example/"},
	"note":{"type":"string","default":"short` + strings.Repeat(`\n`, 60) + `AND MORE"},
	"line":{"type":"string","default":"` + strings.Repeat("w ", 80) + `THE END"},
	"share":{"type":"number"},
	"stage":{"type":"string","enum":["prod","prod "]},
	"scope":{"type":"string","oneOf":[{"const":"","title":"chosen"},{"const":"chosen","title":"chosen"}]},
	"day":{"type":"string","format":"date","default":"0000-01-01"},
	"":{"type":"string","enum":["No answer","(empty)",""]},
	"(empty)":{"type":"string","oneOf":[{"const":"","title":"(empty)"},{"const":"(empty)","title":"No answer"},{"const":"No answer","title":"No answer"}]}},
	"required":["scope","stage"]}`

// TestPageShowsAllThatAFormSends: what the server proposes is on the screen whole before it can be
// sent, however small its box; no two options look alike; and what was chosen is what is sent.
func TestPageShowsAllThatAFormSends(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	b.See("main", rig.Word("empty.head")) // so the broker knows that somebody is there
	h := d.Hook(elicitation(slyForm, nil))
	d.WaitPending(1)
	b.See(rig.Open+" [data-ui=form]", "stage")
	b.Looks("form-sly")
	for _, hidden := range []string{"@evil.example/", "AND MORE", "THE END"} {
		if !strings.Contains(b.Text(rig.Open+" [data-ui=form]"), hidden) {
			t.Errorf("%q is sent and stands nowhere but in a box that shows less", hidden)
		}
	}
	option := func(set, n string) string {
		return rig.Open + " [data-ui=form] fieldset:nth-of-type(" + set + ") [data-ui=option]:nth-of-type(" + n + ")"
	}
	// By their words, and by whether they are the page's own or the server's.
	alike := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(`+rig.JSString(rig.Open+" [data-ui=form] fieldset")+`)].flatMap((set) => {
		const looks = (e) => [...e.querySelectorAll("*")].filter((x) => x.children.length === 0 && x.textContent.trim()).map((x) => getComputedStyle(x).fontStyle + " " + x.textContent.trim()).join(" | ");
		const all = [...set.querySelectorAll("[data-ui=option]")].map(looks);
		return all.filter((l, i) => all.indexOf(l) !== i);
	})`))
	if len(alike) > 0 {
		t.Errorf("two options both look like %q", alike)
	}
	if names := b.Text(rig.Open + " [data-ui=form] legend [data-ui=nothing]"); names != "(empty)" {
		t.Errorf("a thing without a name is %q, and so may another look", names)
	}
	b.Choose(option("1", "2"), true)
	b.Choose(option("2", "1"), true)
	b.SeeAll()
	b.See(rig.Open+" [data-ui=obstacle]", "enter a date") // the box for a date is empty
	rig.Value(b, chromedp.Evaluate[bool](`(() => {
		const day = document.querySelector(`+rig.JSString(rig.Open+" input[type=date]")+`);
		day.value = "2026-12-24";
		return day.dispatchEvent(new Event("input", { bubbles: true }));
	})()`))
	b.Do(chromedp.SendKeys(chromedp.CSS(rig.Open+` input[inputmode="decimal"]`), "0.12345678901234567890"))
	b.See(rig.Open+" [data-ui=form]", "0.12345678901234568") // a browser's numbers end there
	b.SeeAll()
	b.Looks("form-sly-filled")
	b.SeeAll()
	b.Decide("[data-action=allow]", "Answered")
	var got struct {
		Out struct{ Content map[string]any } `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(h.Wait()), &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Out.Content; c["scope"] != "" || c["stage"] != "prod " || c["day"] != "2026-12-24" {
		t.Errorf("sent: %v", c)
	}
	b.Quiet()
}
