package hookclient

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

var submitted = hook.Event{ID: "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1", Type: hook.EventPermissionRequest, Agent: "claude", Time: time.Unix(1, 0), Raw: []byte(`{"a":1}`)}

func TestSubmit(t *testing.T) {
	t.Parallel()
	const yes = `{"hookSpecificOutput":{}}`
	for name, tt := range map[string]struct {
		status  int
		body    string
		want    Answer
		timeout time.Duration
	}{
		"answered":  {status: 200, body: yes, want: Answer{Answered: true, Body: []byte(yes), Outcome: hook.Allowed, By: &hook.Approver{Kind: hook.KindRule, Name: "git push?", File: "/a b"}}},
		"abstained": {status: 204, want: Answer{Answered: true, Outcome: hook.Allowed, By: &hook.Approver{Kind: hook.KindRule, Name: "git push?", File: "/a b"}}},
		"token":     {status: 401, want: Answer{Why: "does not accept the token"}},
		"broken":    {status: 500, want: Answer{Why: "HTTP 500"}},
		"full":      {status: 503, want: Answer{Why: "cannot record now"}},
		"taken":     {status: 409, want: Answer{Why: "another request under the same id"}},
		"held":      {want: Answer{Expired: true}, timeout: 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get(hook.HeaderRequestID) != submitted.ID || r.Header.Get(hook.HeaderOnTimeout) != "deny" || r.Header.Get(hook.HeaderRemaining) == "" {
					t.Errorf("headers %v", r.Header)
				}
				if tt.status == 0 {
					<-held
					return
				}
				for name, v := range map[string]string{hook.HeaderOutcome: "allowed", hook.HeaderByKind: "rule", hook.HeaderByName: "git push?", hook.HeaderByFile: "/a b"} {
					w.Header().Set(name, hook.EscapeHeader(v))
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			t.Cleanup(s.Close)
			t.Cleanup(func() { close(held) })
			got := Submit(t.Context(), Config{URL: s.URL, OnTimeout: hook.Deny, Timeout: cmp.Or(tt.timeout, time.Minute)}, submitted)
			want := tt.want
			if got.Answered != want.Answered || string(got.Body) != string(want.Body) || got.Expired != want.Expired || !strings.Contains(got.Why, want.Why) || (got.Why == "") != (want.Why == "") {
				t.Errorf("%+v, want %+v", got, want)
			}
			if want.By != nil && (got.By == nil || *got.By != *want.By || got.Outcome != want.Outcome) {
				t.Errorf("by %+v, want %+v", got.By, want.By)
			}
		})
	}
}

// A broker that died while it held the request is the reason that is given when the time is up.
func TestSubmitSaysThatTheBrokerDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		died := func(context.Context, URL) (net.Conn, error) {
			if dials++; dials > 1 {
				return nil, syscall.ECONNREFUSED
			}
			ours, theirs := net.Pipe()
			go func() {
				defer func() { _ = theirs.Close() }()
				if r, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
					t.Error(err)
				} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
					t.Error(err)
				}
				_, _ = theirs.Read(make([]byte, 1)) // what follows the body, which is nothing
			}()
			return ours, nil
		}
		got := Submit(t.Context(), Config{URL: "http://127.0.0.1:1", Dial: died, Timeout: 5 * time.Minute}, submitted)
		if !got.Expired || got.Answered || !strings.Contains(got.Why, "does not answer") || !strings.Contains(got.Why, "refused") || dials < 3 {
			t.Errorf("%+v after %d attempts", got, dials)
		}
	})
}

func TestSubmitEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the other side go
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	if got := Submit(ctx, Config{URL: s.URL, Timeout: time.Hour}, submitted); got.Answered || got.Expired || got.Why == "" {
		t.Errorf("%+v", got)
	}
	if why := Tell(t.Context(), Config{Socket: "/nowhere/s"}, submitted); !strings.Contains(why, "no broker") {
		t.Errorf("told: %q", why)
	}
	if got := Submit(t.Context(), Config{URL: "http://elsewhere.example"}, submitted); !strings.Contains(got.Why, "use https") {
		t.Errorf("%+v", got)
	}
}

// An event that no hook brought is completed as one of this process, and keeps its ID while it is
// retried.
func TestSubmitCompletesAnEvent(t *testing.T) {
	t.Parallel()
	var ids []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := hook.EventFromHeaders(r.Header.Get)
		if ids = append(ids, e.ID); len(ids) == 1 {
			panic(http.ErrAbortHandler)
		}
		if e.Agent != "codex" || e.Type != hook.EventPermissionRequest || e.Source != hook.SourceMCP || e.Attempt != 2 || time.Since(e.Time) > time.Hour ||
			e.Origin.Host == "" || e.Origin.PID == 0 || e.Origin.AgentLabel != "" /* the variable is Claude Code's */ || r.Header.Get(hook.HeaderReattachSecret) == "" {
			t.Errorf("%+v", e)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	cfg := Config{URL: s.URL, Agent: "codex", Timeout: time.Minute, Env: func(name string) string {
		if name == "CLAUDE_AGENT_ID" {
			return name
		}
		return ""
	}}
	got := Submit(t.Context(), cfg, hook.Event{Type: hook.EventPermissionRequest, Source: hook.SourceMCP, Raw: []byte("{}")})
	if !got.Answered || len(got.Body) > 0 || len(ids) != 2 || len(ids[0]) != 36 || ids[0] != ids[1] {
		t.Errorf("%+v, ids %q", got, ids)
	}
	if got := Submit(t.Context(), cfg, hook.Event{Raw: make([]byte, MaxPayload+1)}); got.Answered || !strings.Contains(got.Why, "larger than") {
		t.Errorf("%+v", got)
	}
}

// The words of an agent that somebody hands on go where its own hook would send them.
func TestSubmitWithTranscript(t *testing.T) {
	for _, tt := range []struct {
		setting string
		path    string
		why     string
	}{{"", "/v1/hooks", hook.SaidOff}, {"off", "/v1/hooks", hook.SaidOff}, {"on", "/v1/hooks/context", ""}} {
		t.Run("to another host, transcript="+tt.setting, func(t *testing.T) {
			var path, body, why string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				path, body, why = r.URL.Path, string(b), r.Header.Get(hook.HeaderContextWhy)
				_, _ = io.WriteString(w, "{}")
			}))
			defer s.Close()
			got := SubmitWith(t.Context(), Config{URL: s.URL, Transcript: tt.setting, Timeout: time.Minute}, submitted, Transcript{Text: []byte("words\n")})
			want := string(submitted.Raw)
			if tt.why == "" {
				want += "words\n"
			}
			if !got.Answered || path != tt.path || body != want || why != tt.why {
				t.Errorf("%+v: %s %q %q", got, path, body, why)
			}
		})
	}
}
