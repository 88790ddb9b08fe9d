package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
)

// axeVersion is that of web/package.json.
const axeVersion = "4.14.1"

// axeScript is the text of axe-core, from web's packages, or fetched once with npm.
var axeScript = sync.OnceValues(func() (string, error) {
	read := func(dir string) (string, error) {
		b, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
		return string(b), err
	}
	if text, err := read(filepath.Join("..", "web")); !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	cache := os.Getenv("ASSENT_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "assent-e2e")
	}
	dir := filepath.Join(cache, "axe-"+axeVersion)
	if text, err := read(dir); !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "axe-core@"+axeVersion).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install axe-core: %w\n%s", err, out)
	}
	return read(dir)
})

// accessible fails the test for whatever axe finds on the page, on a phone and on a desktop, light
// and dark; and leaves the four pictures.
func (b *browser) accessible(name string) {
	b.t.Helper()
	need(b.t, "axe")
	script, err := axeScript()
	if err != nil {
		b.t.Fatal(err)
	}
	value(b, chromedp.Evaluate[bool](script+"\n;true"))
	for _, scheme := range []string{"light", "dark"} {
		for size, set := range map[string]chromedp.Action[chromedp.Void]{"phone": phone, "desktop": desktop} {
			b.do(colors(scheme), set)
			found := value(b, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => r.violations.map(v =>
				v.id + ": " + v.help + "\n" + v.nodes.slice(0, 4).map(n => "    " + n.html.slice(0, 200) + "\n      " + n.failureSummary.replaceAll("\n", " ")).join("\n")))`, chromedp.EvalAwaitPromise))
			for _, v := range found {
				b.t.Errorf("%s, %s %s: %s", name, size, scheme, v)
			}
			b.shot(strings.Join([]string{name, size, scheme}, "-") + ".png")
		}
	}
	b.do(colors("light"), phone)
}
