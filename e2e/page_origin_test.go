package e2e

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testpage/hostile.html
var hostilePage []byte

// TestPageOfAnotherOriginUsesNothing opens hostile pages in the browser that is paired: on other
// ports of this host and under its other name, as a dev server that an agent starts would be,
// and at the broker's own port under its other name. They try what scripts can.
func TestPageOfAnotherOriginUsesNothing(t *testing.T) {
	t.Parallel()
	d := serve(t)
	b := newBrowser(t)
	b.pair(d)
	h := d.hook(bash("s", "echo secret-command"))
	b.see(open, "echo secret-command")
	r := d.waitPending(1)[0]
	d.sockets(1)

	var stolen thief
	server := httptest.NewServer(&stolen)
	t.Cleanup(server.Close)
	url, token := d.owner()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "the feed has followed, so that nothing more happens by itself", func() bool {
		_, body, err := d.try("GET", "/v1/sessions", nil)
		return err == nil && strings.Contains(string(body), "blocked_on_permission")
	})
	before := d.everything()
	// What follows fails by its origin, not because there is nothing to have.
	b.keeps("this")
	if status := value(b, chromedp.Evaluate[int](`fetch("/v1/requests", {headers: {authorization: "Bearer `+token+`"}}).then((r) => r.status)`, chromedp.EvalAwaitPromise)); status != http.StatusOK {
		t.Errorf("the broker's own page gets %d", status)
	}
	for _, page := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		for _, target := range []string{url, "http://localhost:" + port} {
			hostile := b.tab()
			hostile.do(chromedp.Navigate(page))
			plan := string(object(t, map[string]string{"target": target, "id": r.ID, "inputSha256": r.InputSHA256, "token": token}))
			got := value(hostile, chromedp.Evaluate[[]string](`attack(`+plan+`)`, chromedp.EvalAwaitPromise, gesture))
			if len(got) < 50 {
				t.Errorf("%s against %s made only %d attempts: %q", page, target, len(got), got)
			}
			for _, line := range got {
				if !strings.HasSuffix(line, ": nothing") {
					t.Errorf("%s against %s: %s", page, target, line)
				}
			}
			hostile.close()
		}
	}
	if after := d.everything(); after != before {
		t.Errorf("the broker's state was\n%s\nand is\n%s", before, after)
	}
	// Ports share cookies. There is none to share.
	if cookies := value(b, chromedp.Evaluate[string](`document.cookie`)); cookies != "" {
		t.Errorf("the page has the cookies %q", cookies)
	}
	if sent := stolen.sent.tail(1 << 20); strings.Contains(sent, "Cookie") || strings.Contains(sent, "Authorization") {
		t.Errorf("the hostile server was sent %s", sent)
	}

	// The broker itself under its other name: the page is another one there, without the key.
	other := b.tab()
	other.do(chromedp.Navigate("http://localhost:" + port))
	other.see(pairHere, "Pair from here")
	other.keeps("")
	other.close()

	b.tap(open + " button.allow") // and nobody took this one's place
	if out := h.wait(); out != allowed {
		t.Errorf("the hook printed %s", out)
	}
	if r := d.settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		t.Errorf("decided by %+v", r.DecidedBy)
	}
	b.quiet()
}

// gesture lets a script do what browsers allow only after a tap, such as opening a window.
func gesture(p *runtime.EvaluateParams) {
	yes := true
	p.UserGesture = &yes
}

// thief serves the hostile page and notes what the browser sends along.
type thief struct{ sent output }

func (s *thief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_ = r.Header.Write(&b) // a buffer takes all
	_, _ = s.sent.Write(b.Bytes())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(hostilePage)
}

// everything is all of the broker's state that a page could want to change, but for the times
// at which the paired page itself called.
func (d *daemon) everything() string {
	d.t.Helper()
	var all []any
	for _, path := range []string{"/v1/requests?state=pending", "/v1/requests?state=ended", "/v1/pair", "/v1/tokens", "/v1/sessions"} {
		var v any
		d.get(path, &v)
		all = append(all, v)
	}
	b, err := json.MarshalIndent(append(all, d.devices()), "", " ")
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}
