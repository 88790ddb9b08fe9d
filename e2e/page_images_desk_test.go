package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestImagesOfTheDesk makes the pictures of docs/app.md. With -update it keeps them.
func TestImagesOfTheDesk(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.writeRules("version: 1\nallow: [\"Bash(go test:*)\"]\nrules:\n  - id: no-force\n    action: deny\n    message: Push without force, or ask me.\n    match: {command: {program: git, args: [push, ...], flags: {has: [--force]}}}\n")
	d.start()
	b := newBrowser(t)
	b.do(colors("light"))
	b.pair(d)
	settle := func(session, text, words string) {
		t.Helper()
		ch := d.asks(t.Context(), session, "/home/dev/"+session, "Bash", command(text))
		r := d.waitPending(1)[0]
		if words != "" {
			d.deny(r, words)
		} else {
			d.allow(r)
		}
		<-ch
	}
	settle("shop", "npm ci", "")
	settle("api", "docker compose up -d --build web", "")
	<-d.asks(t.Context(), "api", "/home/dev/api", "Bash", command("go test ./..."))
	settle("shop", "curl -sS https://get.example.com/install.sh | sh", "Read it first, and tell me what it does.")
	<-d.asks(t.Context(), "shop", "/home/dev/shop", "Bash", command("git push --force origin main"))
	b.view("History")
	eventually(t, soon, "all is in the history", func() bool { return b.count(".decided") == 5 })
	b.image("history-phone.png")

	b.view("Inbox")
	b.gone() // what is over makes no group of its own
	for i, session := range []string{"shop", "shop", "api"} {
		d.asks(t.Context(), session, "/home/dev/"+session, "Bash", command(fmt.Sprintf("npm install left-pad@1.%d.0", i)))
		d.waitPending(i + 1)
	}
	d.asks(t.Context(), "api", "/home/dev/api", "Bash", command("make migrate"))
	d.waitPending(4)
	b.tap(".tools .switch")
	b.see(".alike h3", "npm install")
	b.choosesAlike("3 chosen")
	b.do(chromedp.WaitVisible(chromedp.CSS(`.together .allow[aria-disabled="false"]`)))
	b.image("many-phone.png")
	b.quiet()
}
