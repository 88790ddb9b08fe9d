package main

import (
	"slices"
	"testing"
)

// The service of the host is of this terminal's state directory, broker and programs, and holds nothing else of it.
func TestAgentsSpec(t *testing.T) {
	a := &app{stateDir: "/state", url: "https://box.example.net", caCert: "/ca.pem"}
	env := map[string]string{"PATH": "/usr/bin:/home/dev/bin", "XDG_CONFIG_HOME": "/home/dev/config", "XDG_STATE_HOME": "relative", "ASSENT_TOKEN": "secret", "ANTHROPIC_API_KEY": "secret"}
	s, err := a.agentsSpec("/usr/bin/assent", "box", func(name string) string { return env[name] })
	if err != nil || s.Program != "/usr/bin/assent" ||
		!slices.Equal(s.Args, []string{"agent", "serve", "--state-dir", "/state", "--name", "box", "--url", "https://box.example.net", "--cacert", "/ca.pem"}) ||
		!slices.Equal(s.Env, []string{"XDG_CONFIG_HOME=/home/dev/config", "PATH=/usr/bin:/home/dev/bin"}) {
		t.Errorf("%+v, %v", s, err)
	}
	env["PATH"] = "/bin\n/x"
	if _, err := a.agentsSpec("/usr/bin/assent", "box", func(name string) string { return env[name] }); err == nil {
		t.Error("a line feed got into the unit")
	}
}
