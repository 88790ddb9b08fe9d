package joined

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/setup/hookconf"
)

func TestParseLink(t *testing.T) {
	for _, c := range []struct{ link, broker, code, want string }{
		{"https://box.example.net/#join=abc", "https://box.example.net", "abc", ""},
		{"  https://box:7717/#join=abc\n", "https://box:7717", "abc", ""},
		{"http://127.0.0.1:7717/#join=abc", "http://127.0.0.1:7717", "abc", ""},
		{"http://box/#join=abc", "", "", "want https"},
		{"https://box/#pair=abc", "", "", "this link pairs a browser"},
		{"https://box/", "", "", "has no #join="},
		{"https://box/#join=", "", "", "has no #join="},
		{"https://me@box/#join=abc", "", "", "want scheme and host"},
		{"https://box/path#join=abc", "", "", "want scheme and host"},
		{"https://box/?x#join=abc", "", "", "want scheme and host"},
		{"::", "", "", "this is no link"},
	} {
		t.Run(c.link, func(t *testing.T) {
			broker, code, err := ParseLink(c.link)
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
			case err != nil || broker != c.broker || code != c.code:
				t.Errorf("%s, %s, %v", broker, code, err)
			}
		})
	}
}

func TestKeepAndForget(t *testing.T) {
	state, conf := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "conf")
	if j, err := Load(state); err != nil || j != (Broker{}) {
		t.Errorf("before: %+v, %v", j, err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := Broker{URL: "https://box", Name: "laptop", TokenID: "id", Scope: "user", Hooks: true, At: time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC)}
	if err := want.Keep(state, conf, "secret", ca); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(state); err != nil || got != want {
		t.Errorf("kept %+v, %v", got, err)
	}
	for name, value := range map[string]string{"token": "secret", "cacert": CAFile(conf)} {
		if got, err := hookconf.Get(hookconf.Path(conf), name); err != nil || got != value {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if b, err := os.ReadFile(File(state)); err != nil || strings.Contains(string(b), "secret") {
		t.Errorf("the secret stands beside: %s, %v", b, err)
	}
	for range 2 { // what is gone already is forgotten, too
		if err := Forget(state, conf); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{File(state), CAFile(conf), hookconf.Path(conf)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there yet: %v", path, err)
		}
	}
	if err := want.Keep(state, conf, "secret", filepath.Join(conf, "none")); err == nil || !strings.HasPrefix(err.Error(), "--cacert: ") {
		t.Errorf("no certificate: %v", err)
	}
	if err := os.WriteFile(File(state), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(state); err == nil || !strings.Contains(err.Error(), File(state)) {
		t.Errorf("one that is damaged: %v", err)
	}
}
