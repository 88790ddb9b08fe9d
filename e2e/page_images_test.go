package e2e

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
)

var update = flag.Bool("update", false, "write the pictures of the README into docs/images")

const maxImage = 200 << 10

// TestImagesOfTheReadme makes the pictures in docs/images from the page and the broker as they
// are. With -update it keeps them.
func TestImagesOfTheReadme(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.do(colors("light"))
	b.pair(d)
	desk := d.createToken("approve", "desk")

	hooks := d.createToken("submit", "laptop")
	shop := project{d, hooks, "shop", "retry-checkout"}
	for _, past := range []struct{ command, behavior string }{
		{"npm ci", "allow"}, {"git push --force origin main", "deny"}, {"npx tsc --noEmit", "allow"},
	} {
		shop.ask("Bash", map[string]any{"command": past.command})
		r := d.waitPending(1)[0]
		status, body, err := d.as(desk, "POST", "/v1/requests/"+r.ID+"/decision", decision{Behavior: past.behavior, InputSHA256: r.InputSHA256})
		if err != nil || status != http.StatusOK {
			t.Fatalf("decide: %d %s %v", status, body, err)
		}
		d.waitPending(0)
	}
	b.see(".past:nth-child(3)", "npm ci")
	b.see("main", "Nothing waits for you") // the cards of what is over went away

	shop.ask("Bash", map[string]any{
		"command":     "npm install --save-dev vitest &&\n  npm test -- checkout",
		"description": "Install the test runner and run the checkout tests",
	})
	b.see(open, "npm test -- checkout")
	b.see(open, "Allow")
	b.do(chromedp.WaitVisible(chromedp.CSS(open + ` button.allow[aria-disabled="false"]`)))
	b.image("phone.png")

	api := project{d, hooks, "api", "main"}
	api.ask("Edit", map[string]any{
		"file_path":  "/home/dev/api/server.go",
		"old_string": "\tsrv := &http.Server{Handler: mux}",
		"new_string": "\tsrv := &http.Server{\n\t\tHandler:           mux,\n\t\tReadHeaderTimeout: 5 * time.Second,\n\t}",
	})
	b.see(".group:last-child", "server.go")
	b.see(".rail", "api")
	b.do(desktop, chromedp.WaitVisible(chromedp.CSS(".group:last-child button.deny[aria-disabled=\"false\"]")))
	b.see(".group:last-child .obstacle", "not seen yet") // its end is below the screen's edge
	b.image("desktop.png")
	b.quiet()
}

// image takes a picture of the page, and keeps it where that is asked for.
func (b *browser) image(name string) {
	b.t.Helper()
	png := value(b, chromedp.CaptureScreenshot())
	if len(png) > maxImage || len(png) < 10<<10 {
		b.t.Errorf("%s has %d bytes, want 10 KiB to %d KiB", name, len(png), maxImage>>10)
	}
	if !*update {
		return
	}
	dir := filepath.Join("..", "docs", "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// project is a session of an agent at work on a repository.
type project struct {
	d                   *daemon
	token, name, branch string
}

// ask raises a request as a hook on a machine called laptop would, and leaves it waiting.
func (p project) ask(tool string, input map[string]any) {
	p.d.t.Helper()
	dir := "/home/dev/" + p.name
	body := object(p.d.t, map[string]any{
		"session_id": "session-" + p.name, "transcript_path": "/dev/null", "cwd": dir, "permission_mode": "default",
		"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input,
	})
	url, _ := p.d.owner()
	req, err := http.NewRequestWithContext(p.d.t.Context(), "POST", url+"/v1/hooks", bytes.NewReader(body))
	if err != nil {
		p.d.t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Authorization": "Bearer " + p.token, "Content-Type": "application/json",
		"Assent-Request-Id": uuid.NewString(), "Assent-Remaining-Ms": "600000",
		"Assent-Host": "laptop", "Assent-Repo-Root": dir, "Assent-Repo-Branch": p.branch,
	} {
		req.Header.Set(k, v)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		res, err := p.d.client.Do(req)
		if err != nil {
			return // the test is over
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			p.d.t.Errorf("the hook got %s", res.Status)
		}
	}()
	p.d.t.Cleanup(func() {
		select {
		case <-answered:
		case <-time.After(soon):
			p.d.t.Error("a hook outlives its test")
		}
	})
}
