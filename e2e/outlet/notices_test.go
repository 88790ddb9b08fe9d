package outlet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"assent/e2e/rig"
)

// posted collects what was posted to a service.
type posted struct {
	mu     sync.Mutex
	bodies []string      // guarded by mu
	heads  []http.Header // guarded by mu
}

func (p *posted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies, p.heads = append(p.bodies, string(body)), append(p.heads, r.Header.Clone())
	_, _ = io.WriteString(w, "{}")
}

func (p *posted) get(t *testing.T, n int) (string, http.Header) {
	t.Helper()
	rig.Eventually(t, rig.Soon, "a notice", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.bodies) >= n })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies[n-1], p.heads[n-1]
}

// stub is a service under a loopback address.
func stub(t *testing.T, h http.Handler) (host string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestNotices tells an ntfy server and a webhook of a request that waits, beside services that
// hang, answer without end, and are not there.
func TestNotices(t *testing.T) {
	t.Parallel()
	var ntfy, hook posted
	over := make(chan struct{})
	defer close(over) // before the services close, which wait for it
	hang := stub(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	endless := stub(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for r.Context().Err() == nil {
			select {
			case <-over:
				return
			default:
			}
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	d := rig.NewDaemon(t, "--public-url", "https://box.example")
	d.WriteNotices(fmt.Sprintf(`notices:
  - {name: hangs, url: "ntfy://%s/topic-hunter2?scheme=http", after: 0s}
  - {name: endless, url: "ntfy://%s/topic-hunter2?scheme=http", after: 0s}
  - {name: nobody, webhook: "http://127.0.0.1:1/hunter2", secret: "whsec_%[4]s", after: 0s}
  - {name: phone, url: "ntfy://%[3]s/topic-hunter2?scheme=http", after: 0s, show-session: true}
  - {name: bot, webhook: "http://%[5]s/hunter2", secret: "whsec_%[4]s", after: 0s, settled: true}
`, hang, endless, stub(t, &ntfy), base64.StdEncoding.EncodeToString(secret), stub(t, &hook)))
	d.Start()

	h := d.Hook(rig.Bash("s1", "echo secret-command"))
	r := d.WaitPending(1)[0]
	text, _ := ntfy.get(t, 1)
	if !strings.HasPrefix(text, "A request waits") || !strings.Contains(text, "https://box.example/?request="+r.ID) || strings.Contains(text, "secret") {
		t.Errorf("the ntfy server got %q", text)
	}
	body, head := hook.get(t, 1)
	rig.Valid(t, "Webhook", []byte(body))
	if strings.Contains(body, "secret") {
		t.Errorf("the webhook got the input: %s", body)
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", head.Get("webhook-id"), head.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); head.Get("webhook-signature") != want {
		t.Errorf("signed %q, want %q", head.Get("webhook-signature"), want)
	}
	var doc struct {
		Type string
		Data struct{ RequestID, URL string }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || doc.Type != "request.asked" || doc.Data.RequestID != r.ID || doc.Data.URL != "https://box.example/?request="+r.ID {
		t.Errorf("%+v, %v", doc, err)
	}

	// The hook goes on while others hang.
	d.Allow(r)
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	if body, _ := hook.get(t, 2); !strings.Contains(body, `"request.settled"`) || !strings.Contains(body, r.ID) {
		t.Errorf("the webhook got %s", body)
	}
	rig.Eventually(t, rig.Soon, "the log tells of the webhook that is not there", func() bool {
		return strings.Contains(d.Out.Tail(1<<20), "notice nobody cannot be told")
	})
	if code := d.Stop(); code != 0 {
		t.Errorf("the broker ended with code %d", code)
	}
	said := d.Out.Tail(1 << 20)
	if strings.Contains(said, "hunter2") || strings.Contains(said, "whsec_") {
		t.Errorf("the log shows a secret:\n%s", said)
	}

	// A person tries them.
	out := d.Said("notices", "test", "phone")
	if !strings.Contains(out, "phone: sent") {
		t.Errorf("assent notices test says %q", out)
	}
	if text, _ := ntfy.get(t, 2); !strings.Contains(text, "A test from assent") {
		t.Errorf("the ntfy server got %q", text)
	}
	if out := d.Said("notices", "test", "nobody"); !strings.Contains(out, "nobody: not sent") {
		t.Errorf("assent notices test says %q", out)
	}
	if err := os.Chmod(d.NoticesFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := d.Said("notices", "test"); !strings.Contains(out, "chmod 600") {
		t.Errorf("assent notices test says %q", out)
	}
	d.Start()
	if said := d.Out.Tail(1 << 20); !strings.Contains(said, "nobody is told by notices") {
		t.Errorf("the log says nothing of a file that others can read:\n%s", said)
	}
}
