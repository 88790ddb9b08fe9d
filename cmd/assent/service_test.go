package main

import (
	"os"
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

// A service starts in no directory of ours, so paths are absolute, and it keeps no password among its
// flags.
func TestServiceSpec(t *testing.T) {
	t.Chdir(t.TempDir())
	a := &app{stateDir: "/home/dev/state & more"}
	env := map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/dev/my state", "ASSENT_TOKEN": "secret", "XDG_CONFIG_HOME": "/x"}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
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
	if s.Program != "/opt/my tools/assent" || !slices.Equal(s.Args[:3], []string{"serve", "--state-dir", "/home/dev/state & more"}) || s.LogFile != "/home/dev/state & more/service.log" {
		t.Errorf("%+v", s)
	}
	for _, want := range [][]string{{"--socket", "/run/user/7/assent/hook.sock"}, {"--no-link"}, {"--tls-cert", cwd + "/c.pem"}, {"--tls-key", "/k.pem"}, {"--hookd-socket", cwd + "/hookd.sock"}, {"--ledger"}} {
		if i := slices.Index(s.Args, want[0]); i < 0 || !slices.Equal(s.Args[i:i+len(want)], want) {
			t.Errorf("no %q in %q", want, s.Args)
		}
	}
	if slices.Contains(s.Args, "--amqp-url") {
		t.Errorf("%q", s.Args)
	}
	if want := []string{"XDG_STATE_HOME=/home/dev/my state", "XDG_CONFIG_HOME=/x", "ASSENT_AMQP_URL=amqp://me:pa%2Fss@rabbit.example.net/"}; !slices.Equal(s.Env, want) {
		t.Errorf("%q", s.Env)
	}
	for _, bad := range []string{"/new\nline", "/bra{{ces", "/\xff", "/\x1b"} {
		if _, err := a.serviceSpec(bad, f, func(string) string { return "" }); err == nil {
			t.Errorf("program %q is written into a service file", bad)
		}
	}
	f.amqpURL = "amqp://me:pass{{word@rabbit.example.net/"
	if _, err := a.serviceSpec("/assent", f, func(string) string { return "" }); err == nil || strings.Contains(err.Error(), "word") {
		t.Errorf("%v", err)
	}
}
