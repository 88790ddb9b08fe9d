package page

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// shownRisk is what the API says of what a request would do.
type shownRisk struct {
	Risk, Sentence, RiskReason string
	Effects                    []struct{ Effect, Object string }
	Marks                      []struct {
		Start, End int
		Risk       string
	}
}

// TestCardSaysWhatWouldHappen: the effect is the headline and, with the session, the card's name;
// what is dangerous in the text is marked, by more than a colour; what the rules read is folded, and
// where there is danger so is what the agent says.
func TestCardSaysWhatWouldHappen(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	token := d.CreateToken("approve", "looks")
	for _, c := range []struct{ name, command string }{
		{"danger", "rm -rf ~/ --no-preserve-root"},
		{"push", "git commit -qam 'cart: count in cents' && git push origin fix/cart-total"},
		{"calm", "git status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := d.Hook(permission("Bash", map[string]any{"command": c.command, "description": "Clean up temp files"}, nil))
			id := d.WaitPending(1)[0].ID
			status, body, err := d.As(token, "GET", "/v1/requests/"+id, nil)
			var r shownRisk
			if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &r) != nil {
				t.Fatalf("GET: %d %s %v", status, body, err)
			}
			b.See(rig.Open, c.command)
			if head := b.Text(rig.Open + " h3"); head != r.Sentence {
				t.Errorf("the headline is %q, want %q", head, r.Sentence)
			}
			name := rig.Value(b, chromedp.Evaluate[string](`document.querySelector(`+rig.JSString(rig.Open)+`).getAttribute("aria-labelledby").split(" ").map(id => document.getElementById(id).innerText).join(", ")`))
			if name != r.Sentence+", shop" {
				t.Errorf("the card's name is %q", name)
			}
			strip := b.Text(rig.Open + " [data-ui=risk]")
			if loud := r.Risk == "attention" || r.Risk == "danger"; loud != (strip != "") || !strings.Contains(strip, strings.TrimSuffix(strings.ReplaceAll(strings.Split(r.RiskReason, ": ")[0], "`", ""), ".")) {
				t.Errorf("%s: the strip says %q, want %q", r.Risk, strip, r.RiskReason)
			}
			for _, m := range r.Marks {
				b.See(rig.Open+" [data-ui=shell] [data-mark="+m.Risk+"]", "")
				if look := rig.Value(b, chromedp.Evaluate[string](`(s => s.textDecorationLine + " " + (s.fontWeight >= 700))(getComputedStyle(document.querySelector(`+rig.JSString(rig.Open+" [data-mark="+m.Risk+"]")+`)))`)); look != "underline true" {
					t.Errorf("a mark is %s", look)
				}
			}
			if b.Has(rig.Open+" [data-ui=reading][open]") || b.Has(rig.Open+" details[open]") {
				t.Error("something is unfolded that helps nobody to decide")
			}
			if folded := b.Has(rig.Open + " details[data-ui=agent-words]"); folded != (r.Risk == "danger") {
				t.Errorf("%s: the agent's description is folded: %v", r.Risk, folded)
			}
			b.Do(rig.Phone)
			if top := rig.Value(b, chromedp.Evaluate[float64](`(c => c.querySelector("[data-part]").getBoundingClientRect().top - c.getBoundingClientRect().top)(document.querySelector(`+rig.JSString(rig.Open)+`))`)); strip == "" && top > 120 {
				t.Errorf("the command begins %.0f px below the card's top", top)
			}
			b.Looks("head-" + c.name)
			b.Do(rig.Phone)
			b.Tap(rig.Open + " [data-action=deny]")
			h.Wait()
			b.Gone()
		})
	}
	b.Quiet()
}

// TestCardFoldsPlainLines: of a long command what is plain is folded, with how much it is; what is
// marked stays in sight, and all of it is one tap away.
func TestCardFoldsPlainLines(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	var lines []string
	for i := range 22 {
		lines = append(lines, "echo step "+strings.Repeat("i", i+1))
	}
	lines[11] = "rm -rf build"
	h := d.Hook(rig.Bash("s", strings.Join(lines, "\n")))
	b.See(rig.Open+" [data-ui=shell]", "rm -rf build")
	if folds := b.Count(rig.Open + " [data-ui=folded]"); folds != 2 {
		t.Errorf("%d folds, want one on each side of what is marked", folds)
	}
	b.See(rig.Open+" [data-ui=folded]", "8 lines")
	if !b.Has(rig.Open + " [data-ui=shell] [data-mark=attention], " + rig.Open + " [data-ui=shell] [data-mark=danger]") {
		t.Error("nothing is marked")
	}
	b.Looks("folded-lines")
	b.Do(rig.Phone)
	b.Click(rig.Open+" [data-action=more]", "16 more lines")
	rig.Eventually(t, rig.Soon, "all lines", func() bool { return b.Count(rig.Open+" [data-ui=shell] [data-ui=line]") == len(lines) })
	if b.Has(rig.Open + " [data-ui=folded]") {
		t.Error("something is still folded")
	}
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Quiet()
}
