package page

import (
	"bytes"
	_ "embed"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
)

//go:embed testpage/hostile.html
var hostilePage []byte

// TestPageOfAnotherOriginUsesNothing opens hostile pages in the browser that is paired: on other
// ports of this host and under its other name, as a dev server that an agent starts would be,
// and at the broker's own port under its other name. They try what scripts can.
func TestPageOfAnotherOriginUsesNothing(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	h := d.Hook(rig.Bash("s", "echo secret-command"))
	b.See(rig.Open, "echo secret-command")
	r := d.WaitPending(1)[0]
	d.Sockets(1)

	var stolen thief
	server := httptest.NewServer(&stolen)
	t.Cleanup(server.Close)
	url, token := d.Owner()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, rig.Soon, "the feed has followed, so that nothing more happens by itself", func() bool {
		_, body, err := d.Try("GET", "/v1/sessions", nil)
		return err == nil && strings.Contains(string(body), "blocked_on_permission")
	})
	before := d.Everything()
	// What follows fails by its origin, not because there is nothing to have.
	b.Keeps("this")
	if status := rig.Value(b, chromedp.Evaluate[int](`fetch("/v1/requests", {headers: {authorization: "Bearer `+token+`"}}).then((r) => r.status)`, chromedp.EvalAwaitPromise)); status != http.StatusOK {
		t.Errorf("the broker's own page gets %d", status)
	}
	for _, page := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		for _, target := range []string{url, "http://localhost:" + port} {
			hostile := b.Tab()
			hostile.Do(chromedp.Navigate(page))
			plan := string(rig.Object(t, map[string]string{"target": target, "id": r.ID, "inputSha256": r.InputSHA256, "token": token}))
			got := rig.Value(hostile, chromedp.Evaluate[[]string](`attack(`+plan+`)`, chromedp.EvalAwaitPromise, gesture))
			if len(got) < 50 {
				t.Errorf("%s against %s made only %d attempts: %q", page, target, len(got), got)
			}
			for _, line := range got {
				if !strings.HasSuffix(line, ": nothing") {
					t.Errorf("%s against %s: %s", page, target, line)
				}
			}
			hostile.Close()
		}
	}
	if after := d.Everything(); after != before {
		t.Errorf("the broker's state was\n%s\nand is\n%s", before, after)
	}
	// Ports share cookies. There is none to share.
	if cookies := rig.Value(b, chromedp.Evaluate[string](`document.cookie`)); cookies != "" {
		t.Errorf("the page has the cookies %q", cookies)
	}
	if sent := stolen.sent.Tail(1 << 20); strings.Contains(sent, "Cookie") || strings.Contains(sent, "Authorization") {
		t.Errorf("the hostile server was sent %s", sent)
	}

	// The broker itself under its other name: the page is another one there, without the key.
	other := b.Tab()
	other.Do(chromedp.Navigate("http://localhost:" + port))
	other.See(rig.PairHere, rig.Word("door.fromHere"))
	other.Keeps("")
	other.Close()

	b.Tap(rig.Open + " [data-action=allow]") // and nobody took this one's place
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	if r := d.Settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		t.Errorf("decided by %+v", r.DecidedBy)
	}
	b.Quiet()
}

// gesture lets a script do what browsers allow only after a tap, such as opening a window.
func gesture(p *runtime.EvaluateParams) {
	yes := true
	p.UserGesture = &yes
}

// thief serves the hostile page and notes what the browser sends along.
type thief struct{ sent rig.Output }

func (s *thief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_ = r.Header.Write(&b) // a buffer takes all
	_, _ = s.sent.Write(b.Bytes())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(hostilePage)
}
