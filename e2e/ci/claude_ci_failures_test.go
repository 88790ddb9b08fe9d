package ci

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/ci/report"
)

// Whatever is wrong with the broker, a run denies, in time, and says why: to the model, on standard
// error, and in the report.
func TestCIDeniesWhatNobodyCanBeAskedAbout(t *testing.T) {
	t.Parallel()
	broken := func(t *testing.T, status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, c *ciRun)
		why     string
	}{
		"expired token": {func(_ *testing.T, c *ciRun) {
			url, _ := c.Owner()
			c.asks(url, strings.TrimSpace(c.Command("token", "create", "--role", "submit", "--name", "ci", "--ttl", "1ms")))
		}, "does not accept the token"},
		"wrong port": {func(t *testing.T, c *ciRun) {
			s := httptest.NewServer(http.NotFoundHandler())
			s.Close()
			c.asks(s.URL, "t")
		}, "does not answer"},
		"wrong path":   {func(t *testing.T, c *ciRun) { c.asks(broken(t, 404, "not found"), "t") }, "refused the event (HTTP 404)"},
		"another page": {func(t *testing.T, c *ciRun) { c.asks(broken(t, 200, "<html>"), "t") }, "answer is not readable"},
		"another API":  {func(t *testing.T, c *ciRun) { c.asks(broken(t, 200, `{"behavior":"allow"}`), "t") }, "no assent broker"},
		"broker fails": {func(t *testing.T, c *ciRun) { c.asks(broken(t, 500, `{"title":"internal error"}`), "t") }, "refused the event (HTTP 500)"},
		"certificate": {func(t *testing.T, c *ciRun) {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			c.asks(s.URL, "t")
		}, "--cacert FILE"},
		"unknown version": {func(t *testing.T, c *ciRun) { c.pretend("17.0.0 (Claude Code)") }, "Claude Code 17.0.0 is unknown to this assent"},
		"no version":      {func(t *testing.T, c *ciRun) { c.pretend("hello") }, "says no version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bareCI(t, "--timeout", "20s", "--fail-on-deny")
			c.T = t
			tt.prepare(t, c)
			run := c.Headless([]modelserver.Use{c.Touch("out.txt")})
			if res := c.Result(run); res.Exit != 86 || c.Exists("out.txt") {
				t.Errorf("result %+v", res)
			}
			if q := c.one(); q.Verdict != report.Denied || q.By.Kind != report.Failure || !strings.Contains(q.Reason, tt.why) || q.LatencyMS >= 20_000 {
				t.Errorf("report %+v", q)
			}
			c.mentions(".md", tt.why)
			c.mentions(".xml", tt.why)
			if !strings.Contains(run.Stderr(), tt.why) {
				t.Errorf("standard error says\n%s", run.Stderr())
			}
			if res := c.Model.Results(); len(res) != 1 || !strings.Contains(res[0].Content, tt.why) || !strings.Contains(res[0].Content, "could not put this permission request to anybody") {
				t.Errorf("the model read %+v", res)
			}
		})
	}
}

// pretend puts a program before the client that says another version.
func (c *ciRun) pretend(version string) {
	c.T.Helper()
	path := filepath.Join(c.Dir, "claude")
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + version + "'; exit; fi\nexec '" + c.Config.Program + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		c.T.Fatal(err)
	}
	c.Config.Program = path
}

// A client that asks no hook with -p denies by itself; the report says that it cannot know of it.
func TestCIOldClientIsToldToUpdate(t *testing.T) {
	t.Parallel()
	c := newCI(t, rig.ClaudeRules, "--fail-on-deny")
	c.Config.Program = rig.Need(t, "claude-oldest")
	run := c.Headless([]modelserver.Use{c.Touch("out.txt")})
	if res := c.Result(run); res.Exit != 86 || c.Exists("out.txt") {
		t.Errorf("result %+v", res)
	}
	const words = "asks no hook for permission with -p"
	c.mentions(".md", words, "update Claude Code")
	if !strings.Contains(run.Stderr(), words) || len(c.reported().Requests) != 0 {
		t.Errorf("standard error says\n%s", run.Stderr())
	}
}
