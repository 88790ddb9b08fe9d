package phone

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestGuideServesPublicThings asks the guide for what it has, and for what it must not have.
func TestGuideServesPublicThings(t *testing.T) {
	t.Parallel()
	d := home(t)
	var mu sync.Mutex
	var steps []Step
	g := &Guide{Host: "127.0.0.1:7719", Check: "127.0.0.1:7720", Root: d.RootDER(), Name: "assent on <box>", Saw: func(s Step, from netip.Addr) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, s)
	}}
	ask := func(h http.Handler, method, host, path string) (*http.Response, string) {
		r := httptest.NewRequest(method, "http://"+host+path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Result().Body)
		return w.Result(), string(body)
	}
	res, page := ask(g.Handler(), "GET", g.Host, "/")
	// The page could be anybody's, so it is no place to compare the fingerprint with.
	if res.StatusCode != 200 || strings.Contains(page, Fingerprint(g.Root)) || !strings.Contains(page, `href="https://127.0.0.1:7720/"`) {
		t.Errorf("%s\n%s", res.Status, page)
	}
	if csp := res.Header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "connect-src https://127.0.0.1:7720") {
		t.Errorf("csp %s", csp)
	}
	if _, root := ask(g.Handler(), "GET", g.Host, "/assent-root.crt"); !bytes.Equal([]byte(root), g.Root) {
		t.Error("another root")
	}
	_, profile := ask(g.Handler(), "GET", g.Host, "/assent-root.mobileconfig")
	if err := xml.Unmarshal([]byte(profile), new(struct {
		XMLName xml.Name `xml:"plist"`
	})); err != nil {
		t.Errorf("the profile: %v", err)
	}
	m := regexp.MustCompile(`<data>([^<]*)</data>`).FindStringSubmatch(profile)
	if der, err := base64.StdEncoding.DecodeString(m[1]); err != nil || !bytes.Equal(der, g.Root) {
		t.Errorf("the profile holds another root: %v", err)
	}
	ask(g.CheckHandler(), "GET", g.Check, "/trusted")
	want := []Step{Opened, Downloaded, Downloaded, Trusted}
	if len(steps) != len(want) {
		t.Errorf("steps %v", steps)
	}
	for i := range min(len(want), len(steps)) {
		if steps[i] != want[i] {
			t.Errorf("step %d is %s", i, steps[i])
		}
	}
	for _, c := range []struct {
		method, host, path string
		want               int
	}{
		{"GET", "evil.example", "/", http.StatusMisdirectedRequest},
		{"GET", "127.0.0.1:7720", "/", http.StatusMisdirectedRequest},
		{"POST", g.Host, "/", http.StatusMethodNotAllowed},
		{"POST", g.Host, "/v1/pair/start", http.StatusNotFound},
		{"GET", g.Host, "/v1/requests", http.StatusNotFound},
	} {
		if res, _ := ask(g.Handler(), c.method, c.host, c.path); res.StatusCode != c.want {
			t.Errorf("%s %s %s: %s", c.method, c.host, c.path, res.Status)
		}
	}
	for _, secret := range []string{"PRIVATE", "pair="} {
		if strings.Contains(page+profile, secret) {
			t.Errorf("it serves %s", secret)
		}
	}
}

func TestAtHome(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"192.168.1.20": true, "10.0.0.5": true, "172.16.3.4": true, "127.0.0.1": true, "fd00::5": true, "169.254.1.1": true,
		"8.8.8.8": false, "0.0.0.0": false, "::": false, "100.64.0.1": false, "224.0.0.1": false, "fe80::1": false, "2001:db8::1": false, "::ffff:8.8.8.8": false,
	} {
		if err := AtHome(netip.MustParseAddr(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Addresses(); err != nil {
		t.Error(err)
	}
}
