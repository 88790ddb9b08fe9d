package main

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// What service install keeps is what serve reads back.
func TestServeFlagsComeBack(t *testing.T) {
	given := []string{
		"--listen", "0.0.0.0:1", "--trusted-proxy", "10.0.0.2", "--trusted-proxy", "fd00::/8", "--public-url", "https://a.example,https://b.example",
		"--nats-listen=off", "--nats-replicas", "3", "--no-owner-token", "--socket-group", "a group", "-v",
	}
	f, err := parseServeFlags(given)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parseServeFlags(f.args())
	if err != nil || !reflect.DeepEqual(f, again) {
		t.Errorf("%+v became %+v by %q, %v", f, again, f.args(), err)
	}
	var none serveFlags
	none.add(pflag.NewFlagSet("", pflag.ContinueOnError))
	if args := none.args(); len(args) > 0 {
		t.Errorf("defaults are spelled: %q", args)
	}
	for _, bad := range [][]string{{"--no-such-flag"}, {"word"}, {"--nats-replicas", "x"}} {
		if _, err := parseServeFlags(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// The words as systemd.service(5) and systemd.syntax(7) read them.
func TestSystemdWord(t *testing.T) {
	for in, want := range map[string]string{
		"serve": "serve", "--listen": "--listen", "/a/b.sock": "/a/b.sock", "": `""`,
		"a b": `"a b"`, "50%": "50%%", "$HOME": "$$HOME", `a"b\c`: `"a\"b\\c"`, "it's": `"it's"`, ";": `";"`, "ü": `"ü"`,
	} {
		if got := systemdWord(in); got != want {
			t.Errorf("systemdWord(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestServiceSpec(t *testing.T) {
	t.Chdir(t.TempDir())
	a := &app{stateDir: "/home/dev/state & more"}
	env := map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/dev/my state", "ASSENT_TOKEN": "secret", "XDG_CONFIG_HOME": "/x"}
	f, err := parseServeFlags([]string{"--tls-cert", "c.pem", "--tls-key", "/k.pem", "--hookd-socket", "hookd.sock", "--ledger",
		"--amqp-url", "amqp://me:pa%2Fss@rabbit.example.net/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", env["XDG_RUNTIME_DIR"])
	s, err := a.serviceSpec("/opt/my tools/assent", f, func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	unit := s.systemdUnit()
	for _, part := range []string{
		`ExecStart="/opt/my tools/assent" serve --state-dir "/home/dev/state & more"`, "--socket /run/user/7/assent/hook.sock", "--no-link", "/c.pem",
		"/hookd.sock", " --ledger", "Environment=ASSENT_AMQP_URL=amqp://me:pa%%2Fss@rabbit.example.net/\n",
		`Environment="XDG_STATE_HOME=/home/dev/my state"`, "Restart=on-failure", "UMask=0077", "WantedBy=default.target",
	} {
		if !strings.Contains(unit, part) {
			t.Errorf("no %s in\n%s", part, unit)
		}
	}
	for _, part := range []string{"network", "secret", "multi-user", " c.pem", " hookd.sock", "--amqp-url"} {
		if strings.Contains(unit, part) {
			t.Errorf("%s in\n%s", part, unit)
		}
	}

	texts := xmlTexts(t, s.launchdPlist())
	for _, want := range append(append([]string{s.program}, s.args...), "/home/dev/my state", "/home/dev/state & more/service.log", serviceName) {
		if !slices.Contains(texts, want) {
			t.Errorf("the plist does not hold %q: %q", want, texts)
		}
	}

	for _, bad := range []string{"/new\nline", "/bra{{ces", "/\xff", "/\x1b"} {
		if _, err := a.serviceSpec(bad, f, func(string) string { return "" }); err == nil {
			t.Errorf("program %q is written into a service file", bad)
		}
	}
}

// xmlTexts returns the texts of a document's elements.
func xmlTexts(t *testing.T, doc string) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if c, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			texts = append(texts, string(c))
		}
	}
}

// A unit is for the state directory that it names, not for one whose name begins like it.
func TestServiceOfAnotherStateDirectory(t *testing.T) {
	for kind, s := range map[string]supervisor{
		"systemd": {kind: "systemd", text: serviceSpec.systemdUnit, word: systemdWord},
		"launchd": {kind: "launchd", text: serviceSpec.launchdPlist, word: plistString},
	} {
		for _, dir := range []string{"/home/dev/state2", "/home/dev/state/below", "/home/dev/my state", `/home/dev/a"b`} {
			spec, err := (&app{stateDir: dir}).serviceSpec("/usr/bin/assent", serveFlags{listen: "127.0.0.1:1", socket: "/home/dev/state"}, func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			if text := s.text(spec); !s.serves(text, dir) || s.serves(text, "/home/dev/state") || s.serves(text, "/home/dev/my") {
				t.Errorf("%s, %s:\n%s", kind, dir, text)
			}
		}
	}
}
