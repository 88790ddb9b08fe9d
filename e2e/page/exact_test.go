package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestCardShowsNoTwoTextsAlike: texts that differ in a blank only, at every place of the line, so
// that the blank falls on the screen's edge too, look different: something visible stands elsewhere,
// or is another.
func TestCardShowsNoTwoTextsAlike(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	ends := [][]string{
		{"/tmp/cache", "/tmp/ cache", "/tmp/  cache", "/tmp/   cache"},
		{"a-b-c", "a- b-c", "a-b -c"},
		{"--force=yes", "--force= yes", "-- force=yes"},
		{"x", "x ", "x  ", " x", "  x"},
		{"\u05d0\u05d1 1 2", "\u05d0\u05d1 2 1", "1 2 \u05d0\u05d1"},
		{"caf\u00e9", "cafe\u0301"},
		{"gr\u00f6\u00dfe=1", "gr\u00f6\u00dfe= 1"},
		{"\u05d0\u05d1\u05d2", "\u05d0 \u05d1\u05d2"},
		{"\U0001f468\u200d\U0001f469", "\U0001f468\U0001f469"},
		{"\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f4bb", "\U0001f469\u200d\U0001f4bb\u200d"},
		{"\u2764", "\u2764\ufe0f", "\u2764\ufe0f\ufe0f", "\u2764\ufe0e", "\u2764\u200d", "\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\U0001f525"},
		{"\u6f22\u5b57", "\u6f22 \u5b57"},
		{"a\tb", "a b", "a    b"},
		{"\u27e61 space\u27e7", " "},
	}
	pad := func(n int) string { return strings.Repeat("word ", n/5) + strings.Repeat("x", n%5) + " " }
	type text struct{ Name, Text string }
	var all []text
	edits := []map[string]any{}
	for e, variants := range ends {
		for n := 20; n < 45; n++ {
			for v, end := range variants {
				s := pad(n) + end
				all = append(all, text{fmt.Sprintf("%d.%d.%d", e, n, v), s})
				edits = append(edits, map[string]any{"old_string": "", "new_string": s})
			}
		}
	}
	h := d.Hook(permission("MultiEdit", map[string]any{"file_path": "/a", "edits": edits}, nil))
	b.See(rig.Open, fmt.Sprintf("Change %d", len(edits)))
	// Where each visible character stands, and what is drawn besides.
	const looks = `[...document.querySelectorAll("[data-ui=card] [data-ui=diff] [data-sign='+']")].map(line => {
		const at = line.getBoundingClientRect(), out = [];
		const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
		for (let n; (n = walk.nextNode());) {
			if (n.parentElement.closest("[data-ui=unseen]")) continue;
			const drawn = n.parentElement.closest("[data-mark=spaces], [data-mark=tab], [data-mark=gap], [data-mark=emoji]")?.dataset.mark ?? "";
			let i = 0;
			for (const c of n.data) {
				const r = document.createRange();
				r.setStart(n, i);
				r.setEnd(n, i += c.length);
				if (!drawn && /\s/.test(c) || /[\u200d\ufe0f]/.test(c)) continue;
				const box = r.getBoundingClientRect();
				out.push(drawn + (/\s/.test(c) ? "·" : c) + Math.round(box.left - at.left) + "," + Math.round(box.top - at.top));
			}
		}
		return out.join(" ");
	})`
	alike := func() (pairs []string) {
		seen := map[string]text{}
		lines := rig.Value(b, chromedp.Evaluate[[]string](looks))
		if len(lines) != len(all) {
			t.Fatalf("%d lines, want %d", len(lines), len(all))
		}
		for i, l := range lines {
			if other, ok := seen[l]; ok && other.Text != all[i].Text {
				pairs = append(pairs, fmt.Sprintf("%q and %q", other.Text, all[i].Text))
			}
			seen[l] = all[i]
		}
		return pairs
	}
	for name, set := range map[string]chromedp.Action[chromedp.Void]{"phone": rig.Phone, "desktop": rig.Desktop} {
		b.Do(set)
		for _, p := range alike() {
			t.Errorf("%s: alike: %s", name, p)
		}
	}
	// The measure itself: as pages break lines by themselves, some are alike.
	b.Do(rig.Phone, chromedp.Evaluate[chromedp.Void](`(s => { s.replaceSync("pre { white-space: pre-wrap !important } .word-whole { display: inline !important } .long-word { word-break: normal !important }"); document.adoptedStyleSheets = [s] })(new CSSStyleSheet())`))
	if len(alike()) == 0 {
		t.Error("this test finds nothing alike where something is")
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.adoptedStyleSheets = []`))
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()

	// Two lines, and one that was broken.
	h = d.Hook(rig.Bash("s", "echo first line that is long enough to\necho second"))
	b.See(rig.Open, "echo second")
	numbers := rig.Value(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("[data-ui=card]:not([data-state=over]) [data-ui=shell] [data-ui=line]")].map(r => getComputedStyle(r, "::before").content)`))
	if got := strings.Join(numbers, " "); got != `"1" "2"` {
		t.Errorf("the lines are numbered %s", got)
	}
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
	b.Quiet()
}

// hostileTexts are what an agent under somebody else's influence may put into any field.
var hostileTexts = []struct{ name, text string }{
	{"html", `<img src=x onerror="document.title='owned'"><script>document.title="owned"</script>`},
	{"link", `[click](javascript:document.title='owned') https://evil.example/?a=b`},
	{"ansi", "\x1b[2J\x1b]0;owned\x07\x1b[31mred\x9b2K\b\b\b\r\nls"},
	{"bidi", "safe \u202etxt.exe\u202c \u2066x\u2069 \u200f\u061c"},
	{"invisible", "a\u200bb\u2060c\ufeffd\u00ade\U000e0041f\u3164g\u2800h"},
	{"emoji", strings.Repeat("\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", 200)},
	{"right-to-left", strings.Repeat("\u05e9\u05dc\u05d5\u05dd 123 abc ", 40)},
	{"marks", "Z" + strings.Repeat("\u0300", 400) + "algo"},
	{"long line", strings.Repeat("x", 200<<10)},
	{"long words", strings.Repeat("--a/b ", 34<<10)},
	{"blank lines", "a" + strings.Repeat("\n", 5000) + "b"},
	{"many lines", strings.Repeat("a-b c\n", 20000)},
}

// TestCardOfHostileFields: text in every field, and the page stays quick. The figures are printed,
// not judged.
func TestCardOfHostileFields(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	for _, h := range hostileTexts {
		short := h.text[:min(len(h.text), 3000)]
		for n, c := range []struct {
			tool  string
			input map[string]any
		}{
			{"Bash", map[string]any{"command": "echo " + h.text, "description": short}},
			{"Edit", map[string]any{"file_path": "/a/" + short, "old_string": "a\n" + short, "new_string": h.text}},
			{"mcp__" + strings.ToValidUTF8(short[:min(len(short), 40)], "") + "__run", map[string]any{"a" + short: short, "deep": map[string]any{"text": h.text}}},
			{"ExitPlanMode", map[string]any{"plan": h.text}},
			{"AskUserQuestion", map[string]any{"questions": []map[string]any{{"question": short, "header": short[:min(len(short), 60)], "multiSelect": false, "options": []map[string]string{{"label": short, "description": short}}}}}},
		} {
			what := h.name + " in " + c.tool[:min(len(c.tool), 16)]
			before := b.Busy()
			start := time.Now()
			hook := d.Hook(permission(c.tool, c.input, map[string]any{"agent_id": "a1", "agent_type": short[:min(len(short), 100)], "session_id": "s" + short[:min(len(short), 100)], "cwd": "/home/" + short[:min(len(short), 200)]}))
			d.WaitPending(1)
			rig.Eventually(t, rig.Soon, what+" is shown", func() bool { return b.Count(rig.Open+" [data-ui=answers]") == 1 })
			shown := time.Since(start)
			rig.Eventually(t, rig.Soon, what+" is here, whole", func() bool { return !strings.Contains(b.Text(rig.Open), "Fetching the whole request") })
			for range 4 { // what is folded is opened
				if !rig.Value(b, chromedp.Evaluate[bool](`(e => { e?.click(); return !!e })(document.querySelector(`+rig.JSString(rig.Open+" [data-action=more]")+`))`)) {
					break
				}
				b.Do(chromedp.Evaluate[chromedp.Void](`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))`, chromedp.EvalAwaitPromise))
			}
			after := b.Busy()
			t.Logf("%s: shown after %v; the page worked for %.2f s until it was open", what, shown.Round(time.Millisecond), after["ThreadTime"]-before["ThreadTime"])
			found := rig.Value(b, chromedp.Evaluate[[]string](`(() => {
				const wrong = [], card = document.querySelector("[data-ui=card]:not([data-state=over])");
				if (/owned/.test(document.title)) wrong.push("the title is " + document.title);
				if (document.querySelector("#app img, #app script, #app iframe, [data-ui=card] a")) wrong.push("something is alive");
				const all = document.body.cloneNode(true);
				for (const e of all.querySelectorAll("[data-mark=emoji]")) // drawn, and marked as one picture
					if (/^\p{RGI_Emoji}$/v.test(e.textContent)) e.remove();
				if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/.test(all.textContent)) wrong.push("something invisible: " + JSON.stringify(all.textContent.match(/.{0,20}[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/)[0]));
				const width = document.documentElement.clientWidth; // innerWidth grows with what is too wide
				if (document.documentElement.scrollWidth > width) wrong.push("the page is " + document.documentElement.scrollWidth + " px wide: " +
					[...document.querySelectorAll("#app *")].filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest("[data-ui=sessions], [data-ui=unseen], [data-ui=table]")).at(-1)?.outerHTML.slice(0, 150));
				const edge = card.getBoundingClientRect().right + 1;
				const over = [...card.querySelectorAll("*")].find(e => e.getBoundingClientRect().right > edge && !e.closest("[data-ui=unseen], [data-ui=table]"));
				if (over) wrong.push("cut off: " + over.outerHTML.slice(0, 150) + " to " + over.getBoundingClientRect().right + " of " + edge);
				return wrong;
			})()`))
			for _, w := range found {
				t.Errorf("%s: %s", what, w)
			}
			b.Shot(fmt.Sprintf("hostile-%s-%d.png", strings.ReplaceAll(h.name, " ", "-"), n))
			d.Deny(d.Pending()[0], "no")
			hook.Wait()
			rig.Eventually(t, rig.Soon, what+" is over", func() bool { return b.Count(rig.Open) == 0 })
		}
	}
	b.Quiet()
}

// TestPageBreaksNoWord: words of any script stand on one line where they fit, in a command and in the agent's
// words, at every place of the line.
func TestPageBreaksNoWord(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	var all []string
	for _, word := range []string{"\u00dcbergr\u00f6\u00dfentr\u00e4ger", "d\u00e9velopp\u00e9e,", "\u0440\u0430\u0437\u0440\u0430\u0431\u043e\u0442\u043a\u0438", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u05d4\u05d2\u05d3\u05e8\u05d5\u05ea"} {
		for n := range 12 {
			all = append(all, strings.Repeat("x", n+1), word, word)
		}
	}
	text := strings.Join(all, " ")
	h := d.Hook(permission("Bash", map[string]any{"command": "echo " + text, "description": text}, nil))
	b.See(rig.Open, all[1])
	const broken = `[..."shell agent-words".split(" ")].flatMap(part => [...document.querySelectorAll("[data-ui=card] [data-ui=" + part + "]")]).flatMap(part => {
		const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), out = [];
		for (let n; (n = walk.nextNode());) for (const m of n.data.matchAll(/\S+/g)) {
			const r = document.createRange();
			r.setStart(n, m.index);
			r.setEnd(n, m.index + m[0].length);
			if (new Set([...r.getClientRects()].map(box => Math.round(box.bottom))).size > 1) out.push(part.dataset.ui + " " + m[0]);
		}
		return out;
	})`
	if wrong := rig.Value(b, chromedp.Evaluate[[]string](broken)); len(wrong) > 0 {
		t.Errorf("broken: %q", wrong)
	}
	if words := rig.Value(b, chromedp.Evaluate[int](`document.querySelector("[data-ui=card] [data-ui=shell]").innerText.split(/\s+/).length`)); words < len(all) {
		t.Errorf("%d words, want %d", words, len(all))
	}
	b.Tap(rig.Open + " [data-action=deny]")
	h.Wait()
}
