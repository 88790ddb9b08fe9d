package service

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

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

var spec = Spec{
	Program: "/opt/my tools/assent",
	Args:    []string{"serve", "--state-dir", "/home/dev/state & more", "--tls-cert", "/c.pem", "--no-link"},
	Env:     []string{"XDG_STATE_HOME=/home/dev/my state", "ASSENT_AMQP_URL=amqp://me:pa%2Fss@rabbit.example.net/"},
	LogFile: LogFile("/home/dev/state & more"),
}

func TestSystemdUnit(t *testing.T) {
	unit := OfBroker.systemdUnit(spec)
	for _, part := range []string{
		"# " + writtenBy + "\n", `ExecStart="/opt/my tools/assent" serve --state-dir "/home/dev/state & more" --tls-cert /c.pem --no-link` + "\n",
		`Environment="XDG_STATE_HOME=/home/dev/my state"` + "\n", "Environment=ASSENT_AMQP_URL=amqp://me:pa%%2Fss@rabbit.example.net/\n",
		"Restart=on-failure", "UMask=0077", "WantedBy=default.target",
	} {
		if !strings.Contains(unit, part) {
			t.Errorf("no %s in\n%s", part, unit)
		}
	}
	for _, part := range []string{"network", "multi-user"} {
		if strings.Contains(unit, part) {
			t.Errorf("%s in\n%s", part, unit)
		}
	}
}

// A host is stopped without its agents, which are bound by nothing that is meant for it.
func TestUnitOfAgents(t *testing.T) {
	m := systemd("/home/dev", OfAgents, nil)
	unit := m.Text(Spec{Program: "/usr/bin/assent", Args: []string{"agent", "serve", "--state-dir", "/state", "--name", "box"}})
	for _, part := range []string{"uninstall --agents\n", "KillMode=process\n", "After=assent.service\n", "RestartPreventExitStatus=2 4\n", "ExecStart=/usr/bin/assent agent serve --state-dir /state --name box\n"} {
		if !strings.Contains(unit, part) {
			t.Errorf("no %s in\n%s", part, unit)
		}
	}
	if strings.Contains(unit, "UMask") || strings.Contains(unit, "NoNewPrivileges") || !m.Serves(unit, "/state") || m.file != "/home/dev/.config/systemd/user/assent-agents.service" {
		t.Errorf("%s:\n%s", m.file, unit)
	}
}

func TestLaunchdPlist(t *testing.T) {
	texts := xmlTexts(t, OfBroker.launchdPlist(spec))
	for _, want := range append([]string{"assent", spec.Program, "XDG_STATE_HOME", "/home/dev/my state", "/home/dev/state & more/service.log"}, spec.Args...) {
		if !slices.Contains(texts, want) {
			t.Errorf("the plist does not hold %q: %q", want, texts)
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

// What would break a file, or be read by the service library's template language, is reported.
func TestUnwritable(t *testing.T) {
	if text, found := spec.Unwritable(); found {
		t.Errorf("%q is refused", text)
	}
	for _, bad := range []string{"/new\nline", "/bra{{ces", "/\xff", "/\x1b"} {
		for i, s := range []Spec{{Program: bad}, {Args: []string{"serve", bad}}, {Env: []string{bad}}} {
			if text, found := s.Unwritable(); !found || text != bad {
				t.Errorf("%d: %q: %q, %v", i, bad, text, found)
			}
		}
	}
}

// A unit is for the state directory that it names, not for one whose name begins like it.
func TestServesOneStateDirectory(t *testing.T) {
	for _, m := range []Manager{systemd("/home/dev", OfBroker, nil), launchd("/home/dev", OfBroker, nil)} {
		for _, dir := range []string{"/home/dev/state2", "/home/dev/state/below", "/home/dev/my state", `/home/dev/a"b`} {
			text := m.Text(Spec{Program: "/usr/bin/assent", Args: []string{"serve", "--state-dir", dir, "--socket", "/home/dev/state", "--no-link"}})
			if !m.Serves(text, dir) || m.Serves(text, "/home/dev/state") || m.Serves(text, "/home/dev/my") {
				t.Errorf("%s, %s:\n%s", m.Kind(), dir, text)
			}
		}
	}
}

// A service finds what the hooks of this terminal find, and keeps nothing else of its environment.
func TestSpecOf(t *testing.T) {
	env := map[string]string{"XDG_STATE_HOME": "/home/dev/my state", "XDG_CONFIG_HOME": "not/absolute", "ASSENT_TOKEN": "secret"}
	s := SpecOf("/bin/assent", "/state", func(name string) string { return env[name] }, "serve", "--no-link")
	if s.Program != "/bin/assent" || s.LogFile != LogFile("/state") || !slices.Equal(s.Args, []string{"serve", "--no-link"}) || !slices.Equal(s.Env, []string{"XDG_STATE_HOME=/home/dev/my state"}) {
		t.Errorf("%+v", s)
	}
}
