package hookclient

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/hook"
)

// A hook on the machine of one broker of a cluster goes on at another one, under the same id and with the same
// secret, when its own is gone, breaks off or cannot record. The transcript, which it reads for its own machine, stays there.
func TestSocketThenURL(t *testing.T) {
	t.Parallel()
	for name, local := range map[string]http.HandlerFunc{
		"no broker on the socket": nil,
		"it breaks off while it holds the request": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
		"its cluster is away": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(hook.HeaderRetry, "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"it has no room": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type asked struct{ id, secret, token, said string }
			var mu sync.Mutex
			var here, there []asked
			note := func(to *[]asked, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				mu.Lock()
				defer mu.Unlock()
				*to = append(*to, asked{r.Header.Get(hook.HeaderRequestID), r.Header.Get(hook.HeaderReattachSecret), r.Header.Get("Authorization"),
					r.Header.Get(hook.HeaderContextLength)})
			}
			cfg := Config{Socket: filepath.Join(t.TempDir(), "s"), Token: "t", Timeout: time.Minute}
			if local != nil {
				l, err := net.Listen("unix", cfg.Socket)
				if err != nil {
					t.Fatal(err)
				}
				own := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					note(&here, r)
					local(w, r)
				}))
				own.Listener.Close()
				own.Listener = l
				own.Start()
				t.Cleanup(own.Close)
			}
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note(&there, r)
				_, _ = io.WriteString(w, "{}")
			}))
			t.Cleanup(other.Close)
			cfg.URL = other.URL
			got := SubmitWith(t.Context(), cfg, submitted, Transcript{Text: []byte("{\"said\":\"words\"}\n")})
			if !got.Answered || string(got.Body) != "{}" {
				t.Fatalf("%+v", got)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(there) != 1 || there[0].id != submitted.ID || there[0].token != "Bearer t" || there[0].said != "" {
				t.Errorf("the other broker heard %+v", there)
			}
			for _, a := range here {
				if a.id != submitted.ID || a.secret != there[0].secret || a.token != "" {
					t.Errorf("on the socket %+v, by URL %+v", a, there)
				}
			}
			if (local != nil) != (len(here) > 0) || len(here) > 0 && here[0].said == "" {
				t.Errorf("the broker on the socket heard %+v", here)
			}
		})
	}
}

// The small program cannot speak TLS. It asks the broker on its socket, and fails at once where that is not there.
func TestSocketBesideAnHTTPSURL(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	cfg := Config{Socket: socket, URL: "https://broker.example", Token: "t", Timeout: time.Minute}
	if got := Submit(t.Context(), cfg, submitted); got.Answered || got.Expired || !strings.Contains(got.Why, "no broker at "+socket) {
		t.Errorf("without a broker: %+v", got)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	own.Listener.Close()
	own.Listener = l
	own.Start()
	defer own.Close()
	if got := Submit(t.Context(), cfg, submitted); !got.Answered {
		t.Errorf("with one: %+v", got)
	}
}
