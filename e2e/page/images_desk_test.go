package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

// TestImagesOfTheDesk makes the pictures of docs/app.md. With -update it keeps them.
func TestImagesOfTheDesk(t *testing.T) {
	t.Parallel()
	d := rig.NewDaemon(t)
	d.WriteRules("version: 1\nallow: [\"Bash(go test:*)\"]\nrules:\n  - id: no-force\n    action: deny\n    message: Push without force, or ask me.\n    match: {command: {program: git, args: [push, ...], flags: {has: [--force]}}}\n")
	d.Start()
	b := rig.NewBrowser(t)
	b.Do(rig.Colors("light"))
	b.Pair(d)
	b.ProperFont()
	settle := func(session, text, words string) {
		t.Helper()
		ch := d.Asks(t.Context(), session, "/home/dev/"+session, "Bash", rig.Command(text))
		r := d.WaitPending(1)[0]
		if words != "" {
			d.Deny(r, words)
		} else {
			d.Allow(r)
		}
		<-ch
	}
	settle("shop", "npm ci", "")
	settle("api", "docker compose up -d --build web", "")
	<-d.Asks(t.Context(), "api", "/home/dev/api", "Bash", rig.Command("go test ./..."))
	settle("shop", "curl -sS https://get.example.com/install.sh | sh", "Read it first, and tell me what it does.")
	<-d.Asks(t.Context(), "shop", "/home/dev/shop", "Bash", rig.Command("git push --force origin main"))
	b.View("History")
	rig.Eventually(t, rig.Soon, "all is in the history", func() bool { return b.Count("[data-ui=decision]") == 5 })
	rig.Eventually(t, rig.Soon, "nothing is announced any more", func() bool { return b.Count("[data-ui=toast]") == 0 })
	b.Image("history-phone.png")

	b.View("Inbox")
	for i, session := range []string{"shop", "shop", "api"} {
		d.Asks(t.Context(), session, "/home/dev/"+session, "Bash", rig.Command(fmt.Sprintf("npm install left-pad@1.%d.0", i)))
		d.WaitPending(i + 1)
	}
	d.Asks(t.Context(), "api", "/home/dev/api", "Bash", rig.Command("make migrate"))
	d.WaitPending(4)
	b.All()
	b.Tap("[data-action=many]")
	b.See("[data-ui=alike] h3", "npm install")
	b.ChoosesAlike("3 chosen")
	b.Do(chromedp.WaitVisible(chromedp.CSS(`[data-ui=together] [data-action=allow][aria-disabled="false"]`)))
	b.Image("many-phone.png")
	b.Quiet()
}
