package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
)

// TestSignatures: enforced is said only where nothing lacks. The administrator's file of this machine is not there, so
// what is required stands in the user's.
func TestSignatures(t *testing.T) {
	home := t.TempDir()
	conf := filepath.Join(home, "assent", "hook.conf")
	if err := os.Mkdir(filepath.Dir(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home, "HOME": home}[name] }
	key := "device:" + strings.Repeat("a", 43)
	settings := func(scope install.Scope, only bool, words ...string) install.Settings {
		return install.Settings{Path: "/s/" + string(scope), Scope: scope, ManagedOnly: only, Hooks: []install.Hook{{Event: hook.EventPermissionRequest, Words: words, Ours: true}}}
	}
	strict := []string{"/usr/bin/assent-hook-strict", "--socket", "/s"}
	root := func(string) error { return nil }
	for name, c := range map[string]struct {
		conf     string
		settings []install.Settings
		roots    func(string) error
		want     string
	}{
		"nobody wants it": {"", []install.Settings{settings(install.User, false, "/usr/bin/assent-hook")}, root, ""},
		"no key":          {"", []install.Settings{settings(install.Managed, true, strict...)}, root, "fail signatures are required and no key is trusted"},
		"a wrong key":     {"require = signed\ntrust = x\n", []install.Settings{settings(install.Managed, true, strict...)}, root, "fail the hooks ask nobody: "},
		"a hook that checks nothing": {"require = signed\ntrust = " + key + "\n", []install.Settings{settings(install.User, false, "/usr/bin/assent-hook")}, root,
			"fail signatures are required, and /usr/bin/assent-hook checks none"},
		"rules alone": {"require = signed\ntrust-rules = " + key + "\n", []install.Settings{settings(install.Managed, true, strict...)}, root, "No device is trusted; rules that 1 key may sign are evaluated by the hook"},
		"the user's file": {"require = signed\ntrust = " + key + "\n", []install.Settings{settings(install.Managed, true, strict...)}, root,
			"warn an allow needs a signature, advisory only: the agent's user can undo it, because they are required in a file of the user's, not in /etc/assent/hook.conf. 1 key trusted; the code that signs with " + key + " comes from the broker"},
		"nothing is root's": {"require = signed\ntrust = " + key + " independent\n", []install.Settings{settings(install.User, false, strict...), settings(install.Managed, false, strict...)},
			func(path string) error { return errors.New(path + " is not root's") },
			"/s/managed lacks allowManagedHooksOnly, so a hook of the user's may answer first; /s/managed is not root's; /usr/bin/assent-hook-strict is not root's; hooks of the user's settings run. 1 key trusted, all of code that does not come"},
		"no managed settings": {"require = signed\ntrust = " + key + "\n", []install.Settings{settings(install.Local, false, "/usr/bin/assent", "hook", "--socket", "/s")}, root, "no managed settings run the hook; hooks of the user's settings run"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(conf, []byte(c.conf), 0o600); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range signatures(c.settings, env, c.roots, nil) {
				got += string(f.Status) + " " + f.Detail + "\n"
			}
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestSignaturesOfBrokersPage: a key that hook.conf calls independent, and that was paired as one of the broker's page, is told.
func TestSignaturesOfBrokersPage(t *testing.T) {
	mine, theirs := strings.Repeat("a", 43), strings.Repeat("b", 43)
	paired := func() ([]device, error) {
		return []device{{Name: "desk", Thumbprint: mine, CodeOrigin: hook.CodeIndependent}, {Name: "phone", Thumbprint: theirs, CodeOrigin: hook.CodeBroker}}, nil
	}
	trust := []hookclient.Trusted{{Thumbprint: mine, Independent: true}, {Thumbprint: strings.Repeat("c", 43), Independent: true}}
	if got := otherwise(trust, paired); got != nil {
		t.Errorf("%+v", got)
	}
	if got := otherwise([]hookclient.Trusted{{Thumbprint: theirs}}, paired); got != nil {
		t.Errorf("%+v", got)
	}
	got := otherwise(append(trust, hookclient.Trusted{Thumbprint: theirs, Independent: true}), paired)
	if len(got) != 1 || got[0].Status != Warn || !strings.Contains(got[0].Detail, "device:"+theirs+" independent, and phone was paired") {
		t.Errorf("%+v", got)
	}
	if got := otherwise(trust, func() ([]device, error) { return nil, errors.New("no") }); got != nil {
		t.Errorf("%+v", got)
	}
}
