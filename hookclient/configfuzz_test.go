package hookclient

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"assent/internal/hook"
)

// TestReadAsLong: a file of which the end is missing is none: what it requires may stand there.
func TestReadAsLong(t *testing.T) {
	const text = "socket = /s\nrequire = signed\n"
	if b, err := readAsLong(iotest.OneByteReader(strings.NewReader(text)), int64(len(text))); err != nil || string(b) != text {
		t.Errorf("%q, %v", b, err)
	}
	for name, r := range map[string]io.Reader{
		"cut":        strings.NewReader(text[:12]),
		"emptied":    strings.NewReader(""),
		"a bad disk": io.MultiReader(strings.NewReader(text[:12]), iotest.ErrReader(errors.New("input/output error"))),
	} {
		if b, err := readAsLong(r, int64(len(text))); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
}

// FuzzConf: whatever stands in the administrator's file and in the user's, what the first requires is required, by the keys that it names and no
// others; what neither says is not there.
func FuzzConf(f *testing.F) {
	for _, text := range []string{
		"", "socket = /run/s\n", "url = https://a.example,https://b.example\ntoken = t\ncacert = /ca.pem\n", "require = signed\ntrust = device:" + strings.Repeat("x", 43) + " independent\n",
		"require=signed\ntrust-rules = " + strings.Repeat("y", 43) + " since 2026-11-28T06:00:00Z\n", "require = \n", "# require = signed\n", "require = signed\r\n", "\x00require = signed", "socket = s\n",
		"timeout = 1s\non-timeout = allow\ntranscript = maybe\ncontain = 7 /x\nevent = Stop\n",
	} {
		f.Add([]byte(text), []byte("require = signed\ntrust = "+strings.Repeat("z", 43)+"\n"))
		f.Add([]byte("require = signed\n"), []byte(text))
	}
	f.Fuzz(func(t *testing.T, system, user []byte) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		conf := filepath.Join(dir, "hook.conf")
		if err := errors.Join(os.WriteFile(conf, system, 0o600), os.Mkdir(filepath.Join(dir, "assent"), 0o700), os.WriteFile(filepath.Join(dir, "assent", "hook.conf"), user, 0o600)); err != nil {
			t.Fatal(err)
		}
		env := func(name string) string {
			switch name {
			case "XDG_CONFIG_HOME":
				return dir
			case "ASSENT_URL", "ASSENT_TOKEN", "ASSENT_SOCKET":
				return "/environment"
			}
			return ""
		}
		admin := uint32(os.Geteuid())
		got, err := readConfig(nil, env, conf, admin)
		if err != nil {
			t.Fatalf("without flags nothing is wrong with them: %v", err)
		}
		alone, fault := readFile(conf, &admin)
		if fault != nil && got.Fault == nil {
			t.Error("a mistake in the administrator's file is no fault")
		}
		if alone.require != "" {
			var only Config
			_ = only.requires(alone)
			if got.Require != hook.RequireSigned || !got.Enforced || len(got.Trust) != len(only.Trust) || len(got.TrustRules) != len(only.TrustRules) {
				t.Errorf("required %q, enforced %v, by %d and %d keys, want %d and %d", got.Require, got.Enforced, len(got.Trust), len(got.TrustRules), len(only.Trust), len(only.TrustRules))
			}
			for i := range only.Trust {
				if got.Trust[i] != only.Trust[i] {
					t.Errorf("trusts %v", got.Trust)
				}
			}
		}
		if got.OnTimeout != "" && got.OnTimeout != hook.Abstain && got.OnTimeout != hook.Deny || got.OnFailure != "" && got.OnFailure != hook.Abstain && got.OnFailure != hook.Deny {
			t.Errorf("falls back to %q, %q", got.OnTimeout, got.OnFailure)
		}
		if got.Event != "" || got.Timeout < 0 {
			t.Errorf("event %q, timeout %v", got.Event, got.Timeout)
		}
		if got.Token == "/environment" && !strings.HasPrefix(got.Socket, "/environment") && got.URL == "" {
			t.Errorf("a token without a URL, for the socket %q", got.Socket)
		}
		if got.Socket != "" && !filepath.IsAbs(got.Socket) {
			t.Errorf("socket %q", got.Socket)
		}
	})
}

// FuzzParseURL: what is taken for the address of a broker is one, leads to https or to this machine, and fits into the head of a request.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"https://broker.example", "HTTPS://broker.example:8443/a/b//", "http://127.0.0.1:7717", "http://[::1]:80", "http://localhost", "http://localhost.evil.example", "http://127.1", "http://2130706433",
		"http://127.0.0.1@evil.example", "https://x/%0d%0aHost:%20y", "http://[::ffff:127.0.0.1]:1", "http://[::1%25eth0]", "https://x:0", "https://x:", "http://0177.0.0.1", "https://[", "https://a,https://b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		urls, err := parseURLs(s)
		if err != nil {
			return
		}
		for _, u := range urls {
			again, err := ParseURL(u.String())
			if err != nil || again != u {
				t.Errorf("%q is %+v, and that is %+v, %v", s, u, again, err)
			}
			if !u.TLS && !loopback(u.Name) {
				t.Errorf("%q goes in the clear to %q", s, u.Name)
			}
			if strings.ContainsAny(u.Host+u.Path, " \r\n\t\x00@?#") || u.Name == "" || strings.HasSuffix(u.Path, "/") {
				t.Errorf("%q is %+v", s, u)
			}
		}
	})
}
