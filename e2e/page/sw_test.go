package page

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/web"
)

// TestWorkerShowsWhatAMessageHolds runs the service worker's script in the browser, on a registration of
// the test's: what each message becomes, and that a tap opens the card and decides nothing.
func TestWorkerShowsWhatAMessageHolds(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	b := rig.NewBrowser(t)
	b.Pair(d)
	source, err := fs.ReadFile(web.Assets(), "sw.js")
	if err != nil {
		t.Fatal(err)
	}
	rig.Value(b, chromedp.Evaluate[bool](`(() => {
		const heard = {}, shown = [];
		const self = {
			addEventListener: (kind, f) => (heard[kind] = f),
			registration: { showNotification: async (title, o) => void shown.push({ title, body: o.body, tag: o.tag, actions: o.actions ?? [], data: o.data }), getNotifications: async () => [] },
			clients: { matchAll: async () => [], openWindow: async (url) => (window.opened = url) },
			navigator: { setAppBadge: async (n) => (window.badge = n), clearAppBadge: async () => (window.badge = 0) },
			skipWaiting: async () => undefined,
		};
		window.push = async (m) => { shown.length = 0; let done; heard.push({ data: { json: () => m }, waitUntil: (p) => (done = p) }); await done; return JSON.stringify(shown[0]) };
		window.tap = async (data) => { let done; heard.notificationclick({ notification: { close() {}, data }, waitUntil: (p) => (done = p) }); await done; return window.opened };
		`+string(source)+`
		return true;
	})()`))
	for _, tt := range []struct{ name, message, title, body string }{
		{"nothing but that it waits", `{"type":"asked","requestId":"r1","waits":"permission","waiting":3}`, "A request is waiting", "Tap to look at it"},
		{"kinds", `{"type":"asked","requestId":"r1","waiting":1,"project":"shop","risk":"danger","effects":["publishes","of a later version"]}`, "Publishes", "shop · danger"},
		{"a sentence", `{"type":"asked","requestId":"r1","waiting":1,"project":"shop","risk":"attention","effects":["publishes"],"sentence":"Pushes to origin/main"}`, "Pushes to origin/main", "shop · needs attention"},
		{"it waits for long", `{"type":"waits","requestId":"r1","waiting":1,"waits":"question"}`, "A question is waiting, for 10 minutes now", "Tap to look at it"},
		{"an agent has finished", `{"type":"finished","waiting":0,"project":"shop"}`, "An agent has finished", "shop"},
		{"Claude is done, to who may not write", `{"type":"finished","waiting":0,"session":"shop"}`, "An agent has finished", "In shop"},
		{"an agent has spent its budget", `{"type":"blocked","waits":"budget","waiting":0,"sessionId":"s1"}`, "An agent has spent its budget", "Tap to look at it"},
		{"an agent has worked for its time", `{"type":"blocked","waits":"time","waiting":0,"session":"coder"}`, "An agent has worked for its time", "In coder"},
		{"everything is stopped", `{"type":"halted","waiting":0,"halt":"stop","by":"phone"}`, "Everything is stopped by phone", "Rules and grants are suspended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got struct {
				Title, Body string
				Actions     []any
			}
			text := rig.Value(b, chromedp.Evaluate[string](`push(`+tt.message+`)`, chromedp.EvalAwaitPromise))
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got.Title != tt.title || got.Body != tt.body || len(got.Actions) > 0 {
				t.Errorf("%s", text)
			}
		})
	}
	rig.Value(b, chromedp.Evaluate[string](`push({"type":"asked","requestId":"r1","waiting":3})`, chromedp.EvalAwaitPromise))
	if n := rig.Value(b, chromedp.Evaluate[int](`window.badge`)); n != 3 {
		t.Errorf("the badge shows %d", n)
	}
	done := rig.Value(b, chromedp.Evaluate[string](`push({"type":"finished","reply":"s 1","session":"shop","waiting":0})`, chromedp.EvalAwaitPromise))
	if !strings.Contains(done, "Claude is done: shop") || !strings.Contains(done, `"actions":[{"action":"reply","title":"Reply"}]`) {
		t.Errorf("who may write is shown %s", done)
	}
	if to := rig.Value(b, chromedp.Evaluate[string](`tap({reply: "s 1"})`, chromedp.EvalAwaitPromise)); !strings.HasSuffix(to, "/?reply=s%201") {
		t.Errorf("a tap on Reply leads to %q", to)
	}
	failed := rig.Value(b, chromedp.Evaluate[string](`push({"type":"failed","sessionId":"s 2","project":"shop","waiting":0})`, chromedp.EvalAwaitPromise))
	if !strings.Contains(failed, `"data":{"reply":"s 2"}`) {
		t.Errorf("a turn that failed does not open its session: %s", failed)
	}
	if to := rig.Value(b, chromedp.Evaluate[string](`tap({requestId: "r1"})`, chromedp.EvalAwaitPromise)); !strings.HasSuffix(to, "/?request=r1") {
		t.Errorf("a tap leads to %q", to)
	}
}
