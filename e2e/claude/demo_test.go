package claude

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
)

// ofTheTest are lines that the client shows because it runs in a test.
var ofTheTest = regexp.MustCompile(`(?m)^.*(Debug mode enabled|Tip: auto mode|API Usage Billing|MODEL-DONE|▛|▘|/cc/work$).*\n`)

// TestDemoOfTheReadme makes the animated picture of the README: a real client asks for a push, a finger
// on a phone allows it, and the terminal goes on. With -update it is kept.
func TestDemoOfTheReadme(t *testing.T) {
	t.Parallel()
	rig.Need(t, "tmux")
	a := rig.NewAgent(t)
	push := "git commit -qam 'Count in cents' && git push origin fix/cart-total"
	m, err := modelserver.Start(map[string][][]modelserver.Use{"": {{{Name: "Bash", Input: map[string]any{"command": push, "description": "Commit and push the fix"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	a.Model, a.Config.ModelURL = m, m.URL()

	// A repository with something to commit, and the one that it is pushed to.
	work := a.Config.Work()
	remote := filepath.Join(a.Dir, "checkout.git")
	a.Git(a.Dir, "init", "-q", "--bare", remote)
	a.Git(a.Dir, "init", "-q", "-b", "fix/cart-total", work)
	a.Git(work, "config", "user.name", "dev")
	a.Git(work, "config", "user.email", "dev@example.com")
	cart := filepath.Join(work, "cart.js")
	rig.Must(t, os.WriteFile(cart, []byte("let total = 1.1\n"), 0o644))
	a.Git(work, "add", "cart.js")
	a.Git(work, "commit", "-qm", "The cart")
	a.Git(work, "remote", "add", "origin", remote)
	rig.Must(t, os.WriteFile(cart, []byte("let cents = 110\n"), 0o644))

	b := rig.NewBrowser(t)
	b.Do(rig.Colors("light"))
	b.Pair(a.Daemon)
	b.ProperFont()
	b.See("main", rig.Word("empty.head"))
	day := &dayAgent{Agent: a}
	day.open()
	var frames []frame
	shoot := func(hundredths int) {
		t.Helper()
		screen, err := day.term.Screen(a.Ctx)
		rig.Must(t, err)
		frames = append(frames, frame{terminalPart(screen), rig.Value(b, chromedp.CaptureScreenshot()), hundredths})
	}
	shoot(120)
	const prompt = "Commit the fix and push it"
	_, err = day.term.Key(a.Ctx, prompt)
	rig.Must(t, err)
	_, err = day.term.Wait(a.Ctx, regexp.MustCompile(prompt))
	rig.Must(t, err)
	_, err = day.term.Key(a.Ctx, "Enter")
	rig.Must(t, err)
	b.See(rig.Open, "git push origin fix/cart-total")
	_, err = day.term.Wait(a.Ctx, regexp.MustCompile(`git push origin fix/cart-total`))
	rig.Must(t, err)
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + ` [data-action=allow][aria-disabled="false"]`)))
	shoot(400)
	b.Tap(rig.Open + " [data-action=allow]")
	b.See("[data-ui=toast]", "Allowed")
	rig.Eventually(t, rig.Soon, "the client goes on", func() bool { return len(a.Model.Results()) > 0 })
	if pushed := a.Git(remote, "log", "-1", "--format=%s", "fix/cart-total"); pushed != "Count in cents" {
		t.Errorf("the remote has %q", pushed)
	}
	_, err = day.term.Wait(a.Ctx, regexp.MustCompile(modelserver.Done))
	rig.Must(t, err)
	shoot(300)
	b.Quiet()
	rig.Must(t, day.term.Close())

	b.SaveImage("demo.gif", animated(t, b, frames))
}

// frame is a moment of the animated picture.
type frame struct {
	terminal   string
	phone      []byte // PNG
	hundredths int    // of a second, how long it is shown
}

// terminalPart is the lower part of what the client shows.
func terminalPart(screen string) string {
	lines := strings.Split(strings.TrimRight(ofTheTest.ReplaceAllString(screen, ""), "\n "), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Trim(l, "─ ") == "" })
	for i, l := range lines {
		if r := []rune(l); len(r) > 76 {
			lines[i] = string(r[:76])
		}
	}
	return strings.Join(lines[max(0, len(lines)-24):], "\n")
}

const demoPage = `<!doctype html><meta charset=utf-8><body style="margin:0;display:flex;gap:24px;align-items:center;padding:20px;box-sizing:border-box;width:980px;height:640px;background:#e7e8e3">
<pre style="flex:1;height:560px;margin:0;padding:20px;box-sizing:border-box;border-radius:12px;background:#16181a;color:#d8dad6;font:12.5px/1.5 'DejaVu Sans Mono',monospace;overflow:hidden;display:flex;flex-direction:column;justify-content:flex-end"></pre>
<img style="height:600px;border-radius:22px;border:1px solid #bbb"></body>`

// animated draws the frames, terminal beside phone, and returns them as a GIF.
func animated(t *testing.T, b *rig.Browser, frames []frame) []byte {
	t.Helper()
	b = b.Tab()
	b.Do(chromedp.Navigate("about:blank"), chromedp.EmulateViewport(980, 640))
	var out gif.GIF
	for _, f := range frames {
		b.Do(chromedp.Evaluate[chromedp.Void](`document.open(); document.write(`+rig.JSString(demoPage)+`); document.close();
			document.querySelector("pre").textContent = `+rig.JSString(f.terminal)+`;
			document.querySelector("img").src = "data:image/png;base64,`+base64.StdEncoding.EncodeToString(f.phone)+`"; document.querySelector("img").decode()`, chromedp.EvalAwaitPromise))
		img, err := png.Decode(bytes.NewReader(rig.Value(b, chromedp.CaptureScreenshot())))
		rig.Must(t, err)
		out.Image = append(out.Image, paletted(img))
		out.Delay = append(out.Delay, f.hundredths)
	}
	var buf bytes.Buffer
	rig.Must(t, gif.EncodeAll(&buf, &out))
	return buf.Bytes()
}

// paletted is the picture in its 256 most frequent colours, each other in the nearest of them: text and
// flat areas, of which a page is made, stay as they are.
func paletted(img image.Image) *image.Paletted {
	box := img.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
		return color.RGBA{c.R &^ 3, c.G &^ 3, c.B &^ 3, 255}
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	near := map[color.RGBA]uint8{}
	for _, c := range all {
		near[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			out.SetColorIndex(x, y, near[at(x, y)])
		}
	}
	return out
}
