package phone

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// standIn writes a tailscale that says what is given, by its first two arguments.
func standIn(t *testing.T, script string) func(string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tailscale")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncase \"$1 $2\" in\n"+script+"\nesac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(string) (string, error) { return path, nil }
}

const running = `'status --json') echo '{"BackendState":"Running","Self":{"DNSName":"Box.tail1.ts.net."},"CertDomains":["box.tail1.ts.net"]}';;`

// These tests are not parallel: a program that was just written cannot be run while another is being started.
func TestFindTail(t *testing.T) {
	for script, want := range map[string]string{
		running: "",
		`'status --json') echo '{"BackendState":"NeedsLogin"}';;`:                                                    "tailscale up",
		`'status --json') echo '{"BackendState":"Running","Self":{"DNSName":""}}';;`:                                 "MagicDNS",
		`'status --json') echo '{"BackendState":"Running","Self":{"DNSName":"box.t.ts.net."}}';;`:                    "HTTPS certificates",
		`'status --json') echo '{"BackendState":"Running","Self":{"DNSName":"a\"b.ts.net."},"CertDomains":["x"]}';;`: "no name",
		`'status --json') echo 'not json';;`:                                                                         "cannot be read",
		`'status --json') echo 'Access denied' >&2; exit 1;;`:                                                        "--operator",
		`'status --json') head -c 5000000 /dev/zero;;`:                                                               "too much",
	} {
		tail, err := FindTail(t.Context(), standIn(t, script))
		if want == "" {
			if err != nil || tail.Name != "box.tail1.ts.net" {
				t.Errorf("%v %+v", err, tail)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	if tail, err := FindTail(t.Context(), func(string) (string, error) { return "", os.ErrNotExist }); tail != nil || err != nil {
		t.Errorf("without one: %v %v", tail, err)
	}
}

// TestPlanLeavesTheRest: a port that serves something else, or that everybody on the internet reaches,
// is not used, and undoing takes away only what is still ours.
func TestPlanLeavesTheRest(t *testing.T) {
	const target = "http://127.0.0.1:7717"
	for name, c := range map[string]struct {
		serves, url string
		undone      bool
	}{
		"nothing":     {`{}`, "https://box.tail1.ts.net", false},
		"nothing, ''": {`null`, "https://box.tail1.ts.net", false},
		"ours":        {`{"TCP":{"443":{"HTTPS":true}},"Web":{"box.tail1.ts.net:443":{"Handlers":{"/":{"Proxy":"http://127.0.0.1:7717"}}}}}`, "https://box.tail1.ts.net", true},
		"another's":   {`{"TCP":{"443":{"HTTPS":true}},"Web":{"box.tail1.ts.net:443":{"Handlers":{"/":{"Proxy":"http://127.0.0.1:3000"}}}}}`, "https://box.tail1.ts.net:8443", false},
		"shared":      {`{"TCP":{"443":{"HTTPS":true}},"Web":{"box.tail1.ts.net:443":{"Handlers":{"/":{"Proxy":"http://127.0.0.1:7717"},"/x":{"Proxy":"http://127.0.0.1:1"}}}}}`, "https://box.tail1.ts.net:8443", false},
		"plain TCP":   {`{"TCP":{"443":{"TCPForward":"127.0.0.1:1"}}}`, "https://box.tail1.ts.net:8443", false},
		"a funnel":    {`{"TCP":{"443":{"HTTPS":true}},"Web":{"box.tail1.ts.net:443":{"Handlers":{"/":{"Proxy":"http://127.0.0.1:7717"}}}},"AllowFunnel":{"box.tail1.ts.net:443":true}}`, "https://box.tail1.ts.net:8443", false},
		"two":         {`{"TCP":{"443":{},"8443":{}}}`, "https://box.tail1.ts.net:7443", false},
		"all":         {`{"TCP":{"443":{},"8443":{},"7443":{},"9443":{}}}`, "", false},
	} {
		tail, err := FindTail(t.Context(), standIn(t, running+"\n'serve status') echo '"+c.serves+"';;"))
		if err != nil {
			t.Fatal(err)
		}
		d, args, err := tail.Plan(t.Context(), target)
		if c.url == "" {
			if err == nil {
				t.Errorf("%s: %v", name, args)
			}
			continue
		}
		if err != nil || d.URL != c.url || d.Target != target || args[0] != "serve" || args[1] != "--bg" || slices.Contains(args, "funnel") {
			t.Errorf("%s: %v %+v %q", name, err, d, args)
		}
		undo, err := tail.Undo(t.Context(), &Door{Way: Tailscale, URL: "https://box.tail1.ts.net", Port: 443, Target: target})
		if err != nil || (undo != nil) != c.undone {
			t.Errorf("%s: undo %q %v", name, undo, err)
		}
	}
}
