package hookclient

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

func TestReadConfig(t *testing.T) {
	cases := []struct {
		name  string
		args  string
		file  string
		env   map[string]string
		want  Config // compared without Env, Spool, Fault
		fault string // part of Config.Fault
		err   string
	}{
		{name: "nothing", want: Config{Socket: "$HOME/.local/state/assent/hook.sock"}},
		{name: "runtime dir", env: map[string]string{"XDG_RUNTIME_DIR": "/run/u", "ASSENT_STATE_DIR": "/st"}, want: Config{Socket: "/run/u/assent/hook.sock"}},
		{name: "state dir", env: map[string]string{"ASSENT_STATE_DIR": "/st"}, want: Config{Socket: "/st/hook.sock"}},
		{name: "XDG state", env: map[string]string{"XDG_STATE_HOME": "/xs"}, want: Config{Socket: "/xs/assent/hook.sock"}},
		{name: "relative directories lead nowhere", env: map[string]string{"XDG_RUNTIME_DIR": "run", "ASSENT_STATE_DIR": ".", "XDG_STATE_HOME": "st"},
			want: Config{Socket: "$HOME/.local/state/assent/hook.sock"}},
		{name: "flags", args: "--agent codex --event X --socket=/s -timeout 5s --on-timeout deny --on-failure=deny",
			want: Config{Agent: "codex", Event: "X", Socket: "/s", Timeout: 5 * time.Second, OnTimeout: hook.Deny, OnFailure: hook.Deny}},
		{name: "file", file: "# mine\n\nsocket = /s\n timeout=1m \non-timeout = deny\non-failure = abstain\nagent = claude\n",
			want: Config{Agent: "claude", Socket: "/s", Timeout: time.Minute, OnTimeout: hook.Deny, OnFailure: hook.Abstain}},
		{name: "environment", env: map[string]string{"ASSENT_URL": "https://h", "ASSENT_TOKEN": "t", "ASSENT_TIMEOUT": "2m", "ASSENT_ON_TIMEOUT": "deny", "ASSENT_ON_FAILURE": "deny", "ASSENT_AGENT": "a"},
			want: Config{URL: "https://h", Token: "t", Timeout: 2 * time.Minute, OnTimeout: hook.Deny, OnFailure: hook.Deny, Agent: "a"}},
		{name: "flag over file over environment", args: "--timeout 1s", file: "timeout = 2s\non-failure = deny", env: map[string]string{"ASSENT_TIMEOUT": "3s", "ASSENT_ON_FAILURE": "abstain", "ASSENT_ON_TIMEOUT": "deny"},
			want: Config{Socket: "$HOME/.local/state/assent/hook.sock", Timeout: time.Second, OnFailure: hook.Deny, OnTimeout: hook.Deny}},

		{name: "environment cannot redirect a flag", args: "--socket /s", env: map[string]string{"ASSENT_URL": "https://evil", "ASSENT_SOCKET": "/evil", "ASSENT_TOKEN": "x"}, want: Config{Socket: "/s"}},
		{name: "environment cannot redirect the file", file: "url = https://h\ntoken = t", env: map[string]string{"ASSENT_URL": "https://evil", "ASSENT_SOCKET": "/evil", "ASSENT_TOKEN": "x"},
			want: Config{URL: "https://h", Token: "t"}},
		{name: "the file's token stays with the file's or a flag's URL", file: "token = secret", env: map[string]string{"ASSENT_URL": "https://evil"}, want: Config{URL: "https://evil"}},
		{name: "token for a URL in a flag", args: "--url https://h", file: "token = t", env: map[string]string{"ASSENT_TOKEN": "x"}, want: Config{URL: "https://h", Token: "t"}},
		{name: "token from the environment", args: "--url https://h", env: map[string]string{"ASSENT_TOKEN": "x"}, want: Config{URL: "https://h", Token: "x"}},

		{name: "owner of the socket", args: "--socket /s --socket-owner assent", want: Config{Socket: "/s", SocketOwner: "assent"}},
		{name: "owner of the socket in the file", args: "--socket /s", file: "socket-owner = 998", env: map[string]string{"ASSENT_SOCKET_OWNER": "evil"}, want: Config{Socket: "/s", SocketOwner: "998"}},
		{name: "owner beside a socket in the environment", env: map[string]string{"ASSENT_SOCKET": "/s", "ASSENT_SOCKET_OWNER": "998"}, want: Config{Socket: "/s", SocketOwner: "998"}},
		{name: "environment cannot widen a flag", args: "--socket /s", env: map[string]string{"ASSENT_SOCKET_OWNER": "evil"}, want: Config{Socket: "/s"}},
		{name: "environment cannot widen the file", file: "socket = /s", env: map[string]string{"ASSENT_SOCKET_OWNER": "evil"}, want: Config{Socket: "/s"}},
		{name: "environment cannot widen the default", env: map[string]string{"XDG_RUNTIME_DIR": "/run/u", "ASSENT_SOCKET_OWNER": "evil"}, want: Config{Socket: "/run/u/assent/hook.sock"}},

		{name: "allow is no fallback", args: "--on-failure allow", err: `want "abstain" or "deny"`},
		{name: "allow is no fallback in the file", file: "on-timeout = allow", fault: "on-timeout", want: Config{Socket: "$HOME/.local/state/assent/hook.sock"}},
		{name: "a bad file keeps what flags say", args: "--on-failure deny --socket /s", file: "timeout = soon", fault: "timeout", want: Config{Socket: "/s", OnFailure: hook.Deny}},
		{name: "unknown line", args: "--socket /s", file: "sokcet = /x", fault: "a line is none of", want: Config{Socket: "/s"}},
		{name: "file is too large", args: "--socket /s", file: strings.Repeat("#\n", maxConf), fault: "sensible size", want: Config{Socket: "/s"}},
		{name: "socket and URL in the file", file: "socket = /s\nurl = https://h\ntoken = t", want: Config{Socket: "/s", URL: "https://h", Token: "t"}},
		{name: "the layer that decides has no URL", args: "--socket /s", file: "url = https://h\ntoken = t", want: Config{Socket: "/s"}},
		{name: "relative socket beside a URL in the file", file: "socket = s\nurl = https://h\ntoken = t", fault: "absolute", want: Config{}},
		{name: "relative socket in the environment", env: map[string]string{"ASSENT_SOCKET": "evil.sock"}, fault: "absolute", want: Config{}},
		{name: "socket and URL as flags", args: "--socket /s --url https://h", file: "token = t", want: Config{Socket: "/s", URL: "https://h", Token: "t"}},
		{name: "unknown flag", args: "--foo x", err: "unknown flag --foo"},
		{name: "token as a flag", args: "--token x", err: "unknown flag --token"},
		{name: "no value", args: "--socket", err: "needs a value"},
		{name: "empty value", args: "--socket=", err: "needs a value"},
		{name: "argument", args: "x", err: "unexpected argument"},
		{name: "no time", args: "--timeout 0s", err: "want a duration"},
		{name: "help", args: "--socket /s --help", err: ErrHelp.Error()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			if c.file != "" {
				dir := filepath.Join(home, ".config", "assent")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "hook.conf"), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := ReadConfig(strings.Fields(c.args), func(k string) string {
				if k == "HOME" {
					return home
				}
				return c.env[k]
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (got.Fault != nil) != (c.fault != "") || got.Fault != nil && !strings.Contains(got.Fault.Error(), c.fault) {
				t.Errorf("fault %v, want %q", got.Fault, c.fault)
			}
			c.want.Socket = strings.Replace(c.want.Socket, "$HOME", home, 1)
			if got.Socket != c.want.Socket || got.SocketOwner != c.want.SocketOwner || got.URL != c.want.URL || got.Token != c.want.Token || got.Timeout != c.want.Timeout || got.Agent != c.want.Agent ||
				got.Event != c.want.Event || got.OnTimeout != c.want.OnTimeout || got.OnFailure != c.want.OnFailure {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// A flag may be relative: whoever typed it knows where he stands. Nothing else is taken from
// the working directory.
func TestReadConfigWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"hook.conf", "assent/hook.conf", ".config/assent/hook.conf"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("url = https://evil"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, home := range []string{"", ".", "/nowhere"} {
		got, err := ReadConfig(nil, func(k string) string {
			return map[string]string{"HOME": home, "XDG_CONFIG_HOME": ".config"}[k]
		})
		if err != nil || got.URL != "" || got.Fault != nil {
			t.Errorf("HOME=%q: %+v %v", home, got, err)
		}
	}
	got, err := ReadConfig([]string{"--socket", "a.sock"}, func(string) string { return "" })
	if err != nil || !filepath.IsAbs(got.Socket) || filepath.Base(got.Socket) != "a.sock" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := ReadConfig([]string{"-h"}, os.Getenv); !errors.Is(err, ErrHelp) {
		t.Error(err)
	}
}

// TestSystemConf: the administrator's file stands between the flags and the user's, and counts only while
// it is the administrator's.
func TestSystemConf(t *testing.T) {
	dir := t.TempDir()
	system, user := filepath.Join(dir, "system.conf"), filepath.Join(dir, "assent/hook.conf")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": dir, "ASSENT_URL": "http://127.0.0.1:1", "ASSENT_TOKEN": "env", "ASSENT_ON_FAILURE": "abstain"}[name]
	}
	me := uint32(os.Getuid())
	read := func(args ...string) Config {
		t.Helper()
		c, err := readConfig(args, env, system, me)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := read(); c.URL != "http://127.0.0.1:1" || c.Token != "env" || c.Fault != nil {
		t.Errorf("no file: %+v", c)
	}
	write(user, "url = https://user.example\ntoken = user\non-failure = abstain\ntimeout = 5s\ncacert = /user.pem\n")
	write(system, "url = https://system.example\non-failure = deny\ncacert = /system.pem\n")
	c := read()
	if c.URL != "https://system.example" || c.OnFailure != hook.Deny || c.Timeout != 5*time.Second || c.Token != "user" || c.CACert != "/system.pem" || c.Fault != nil {
		t.Errorf("the administrator's wins: %+v", c)
	}
	write(system, "token = system\n")
	if c := read(); c.URL != "https://user.example" || c.Token != "system" {
		t.Errorf("%+v", c)
	}
	if c := read("--socket", "/flag.sock", "--on-failure", "deny"); c.Socket != "/flag.sock" || c.URL != "" || c.OnFailure != hook.Deny {
		t.Errorf("flags win: %+v", c)
	}
	if err := os.Remove(user); err != nil {
		t.Fatal(err)
	}
	if c := read(); c.URL != "http://127.0.0.1:1" || c.Token != "env" { // the file's token is not for whom a repository names
		t.Errorf("%+v", c)
	}
	if err := os.Chmod(system, 0o666); err != nil {
		t.Fatal(err)
	}
	if c := read(); c.Fault == nil || c.Token == "system" {
		t.Errorf("a file that others can write counts: %+v", c)
	}
	if err := os.Chmod(system, 0o644); err != nil {
		t.Fatal(err)
	}
	if c, _ := readConfig(nil, env, system, me+1); c.Fault == nil || c.Token == "system" {
		t.Errorf("another user's file counts: %+v", c)
	}
	write(system, "cacert = relative.pem\n")
	if c := read(); c.Fault == nil || c.CACert != "" {
		t.Errorf("%+v", c)
	}
}

// Several brokers are given one by one, or with commas; one that is wrong is a fault.
func TestSeveralBrokers(t *testing.T) {
	env := func(string) string { return "" }
	cfg, err := ReadConfig([]string{"--url", "http://127.0.0.1:1", "--url=http://127.0.0.1:2,http://[::1]:3"}, env)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := newTargets(&cfg)
	if err != nil || len(targets) != 3 || targets[2].name != "http://[::1]:3" {
		t.Errorf("%d targets of %q, %v", len(targets), cfg.URL, err)
	}
	c := client{cfg: cfg}
	if err := c.aim(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for range 4 {
		names = append(names, c.to.name)
		c.turn()
	}
	if names[0] == names[1] || names[0] != names[3] {
		t.Errorf("tried in the order %q", names)
	}
	for _, bad := range []string{"http://127.0.0.1:1,", "http://127.0.0.1:1,http://elsewhere:2", strings.Repeat("http://127.0.0.1:1,", maxTargets) + "http://127.0.0.1:1"} {
		if CheckURLs(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
