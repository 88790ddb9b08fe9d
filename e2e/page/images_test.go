package page

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"assent/e2e/rig"
)

// TestImagesOfTheReadme makes the pictures in docs/images from the page and the broker as they
// are. With -update it keeps them.
func TestImagesOfTheReadme(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Do(rig.Colors("light"))
	b.Pair(d)
	b.ProperFont()
	desk := d.CreateToken("approve", "desk")

	hooks := d.CreateToken("submit", "laptop")
	shop := project{d, hooks, "shop", "retry-checkout"}
	for _, past := range []struct{ command, behavior string }{
		{"npm ci", "allow"}, {"git push --force origin main", "deny"}, {"npx tsc --noEmit", "allow"},
	} {
		shop.ask("Bash", map[string]any{"command": past.command})
		r := d.WaitPending(1)[0]
		status, body, err := d.As(desk, "POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: past.behavior, InputSHA256: r.InputSHA256})
		if err != nil || status != http.StatusOK {
			t.Fatalf("decide: %d %s %v", status, body, err)
		}
		d.WaitPending(0)
	}
	b.See("[data-ui=past]:nth-child(3)", "npm ci")
	b.See("main", rig.Word("empty.head"))

	shop.ask("Bash", map[string]any{
		"command":     "npm install --save-dev vitest &&\n  npm test -- checkout",
		"description": "Install the test runner and run the checkout tests",
	})
	b.See(rig.Open, "npm test -- checkout")
	b.See(rig.Open, rig.Word("answer.allow"))
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + ` [data-action=allow][aria-disabled="false"]`)))
	b.Image("phone.png")

	api := project{d, hooks, "api", "main"}
	api.ask("Edit", map[string]any{
		"file_path":  "/home/dev/api/server.go",
		"old_string": "\tsrv := &http.Server{Handler: mux}",
		"new_string": "\tsrv := &http.Server{\n\t\tHandler:           mux,\n\t\tReadHeaderTimeout: 5 * time.Second,\n\t}",
	})
	b.Do(rig.Desktop)
	b.Tap("[data-ui=entry]:not([aria-current=true])")
	b.See(rig.Open, "server.go")
	b.Do(chromedp.WaitVisible(chromedp.CSS(rig.Open + ` [data-action=deny][aria-disabled="false"]`)))
	b.Image("desktop.png")
	b.Quiet()
}

// project is a session of an agent at work on a repository.
type project struct {
	d                   *rig.Daemon
	token, name, branch string
}

// ask raises a request as a hook on a machine called laptop would, and leaves it waiting.
func (p project) ask(tool string, input map[string]any) {
	p.d.T.Helper()
	dir := "/home/dev/" + p.name
	body := rig.Object(p.d.T, map[string]any{
		"session_id": "session-" + p.name, "transcript_path": "/dev/null", "cwd": dir, "permission_mode": "default",
		"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input,
	})
	url, _ := p.d.Owner()
	req, err := http.NewRequestWithContext(p.d.T.Context(), "POST", url+"/v1/hooks", bytes.NewReader(body))
	if err != nil {
		p.d.T.Fatal(err)
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
		res, err := p.d.Client.Do(req)
		if err != nil {
			return // the test is over
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			p.d.T.Errorf("the hook got %s", res.Status)
		}
	}()
	p.d.T.Cleanup(func() {
		select {
		case <-answered:
		case <-time.After(rig.Soon):
			p.d.T.Error("a hook outlives its test")
		}
	})
}
