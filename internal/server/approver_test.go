package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"assent/internal/api"
)

// TestApprover: the page comes from here and the API from the broker, of whose answers nothing passes that a browser would run.
func TestApprover(t *testing.T) {
	var seen http.Header
	var host, sent string
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, host = r.Header, r.Host
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.Header().Set("Content-Security-Policy", "script-src *")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Service-Worker-Allowed", "/")
		w.Header().Set("Content-Type", map[string]string{"/v1/me": "application/json", "/v1/pair/start": "application/json", "/v1/pair/redeem": "application/json", "/v1/problem": "application/problem+json"}[r.URL.Path])
		switch r.URL.Path {
		case "/v1/page":
			w.Header().Set("Content-Type", "text/html")
		case "/v1/script":
			w.Header().Set("Content-Type", "text/javascript")
		case "/v1/away":
			w.Header().Set("Location", "https://evil.example")
			w.WriteHeader(http.StatusFound)
		case "/v1/problem":
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, `{"from":"broker"}`)
	}))
	defer broker.Close()
	to, err := url.Parse(broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	const here = "127.0.0.1:7727"
	h, err := NewApprover(ApproverConfig{
		Assets: fstest.MapFS{"index.html": {Data: []byte("our page")}, "app.js": {Data: []byte("ours")}},
		Broker: to, Client: api.NewClient(api.ClientConfig{URL: broker.URL}), Transport: http.DefaultTransport, Host: here,
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(method, path string, header map[string]string) *http.Response {
		t.Helper()
		r := httptest.NewRequest(method, "http://"+here+path, nil)
		for name, v := range header {
			r.Header.Set(name, v)
		}
		if v := header["Host"]; v != "" {
			r.Host = v
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		status       int
		body         string
	}{
		{"GET", "/", nil, 200, "our page"},
		{"GET", "/app.js", nil, 200, "ours"},
		{"GET", "/v1/me", nil, 200, `{"from":"broker"}`},
		{"POST", "/v1/me", map[string]string{"Origin": "http://" + here, "Sec-Fetch-Site": "same-origin"}, 200, `{"from":"broker"}`},
		{"GET", "/v1/problem", nil, 403, `{"from":"broker"}`},
		{"GET", "/v1/page", nil, 502, "does not answer as one"},
		{"GET", "/v1/script", nil, 502, "does not answer as one"},
		{"GET", "/v1/unknown", nil, 502, "does not answer as one"},
		{"GET", "/v1/away", nil, 502, "does not answer as one"},
		{"GET", "/other.js", nil, 404, "no such route"},
		{"GET", "/v1/requests/..%2fme", nil, 404, "no such route"},
		{"GET", "/v1/requests/0199F0A0-0000-7000-8000-000000000001", nil, 404, "no such route"},
		{"GET", "/v1/ws?ticket=x", nil, 401, "ask for another one"},
		{"GET", "/v1/me", map[string]string{"Origin": "https://evil.example"}, 403, "another origin"},
		{"GET", "/v1/me", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "another origin"},
		{"GET", "/", map[string]string{"Host": "evil.example"}, 421, "that Host"},
	} {
		r := get(c.method, c.path, c.header)
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != c.status || !strings.Contains(string(b), c.body) {
			t.Errorf("%s %s %v: %d %s (%v), want %d %q", c.method, c.path, c.header, r.StatusCode, b, err, c.status, c.body)
		}
		if csp := r.Header.Values("Content-Security-Policy"); len(csp) != 1 || csp[0] != policy || r.Header.Get("Set-Cookie")+r.Header.Get("Location")+r.Header.Get("Service-Worker-Allowed") != "" {
			t.Errorf("%s %s: the broker's headers go on: %v", c.method, c.path, r.Header)
		}
	}
	// A browser that is paired here has code that does not come from the broker, whatever it says itself.
	for _, path := range []string{"/v1/pair/start", "/v1/pair/redeem"} {
		r := httptest.NewRequest("POST", "http://"+here+path, strings.NewReader(`{"name":"desk","codeOrigin":"broker","publicKey":{"kty":"EC"}}`))
		r.Header.Set("Origin", "http://"+here)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 || sent != `{"codeOrigin":"independent","name":"desk","publicKey":{"kty":"EC"}}` {
			t.Errorf("%s: %d, and the broker is sent %s", path, w.Code, sent)
		}
		for _, bad := range []string{"", "null", "[1]", "{", `{"name":"` + strings.Repeat("x", maxPairing) + `"}`} {
			sent = ""
			r := httptest.NewRequest("POST", "http://"+here+path, strings.NewReader(bad))
			r.Header.Set("Origin", "http://"+here)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code < 400 || sent != "" {
				t.Errorf("%s %.20q: %d, and the broker is sent %s", path, bad, w.Code, sent)
			}
		}
	}
	get("POST", "/v1/me", map[string]string{"Origin": "http://" + here, "Cookie": "a=b", "Authorization": "Bearer x"})
	if seen.Get("Origin") != broker.URL || host != to.Host || seen.Get("Cookie") != "" || seen.Get("Authorization") != "Bearer x" {
		t.Errorf("the broker is sent %v for %s", seen, host)
	}
}
