package strict

import (
	"os"
	"path/filepath"
	"time"

	"assent/hookclient"
	"assent/internal/setup/programs"
)

// Verify is hookclient.Config.Verify of a program that runs with cfg and this environment.
func Verify(cfg *hookclient.Config, env func(string) string) func(hookclient.Offer) (out []byte, why string) {
	socket := cfg.Socket
	return func(o hookclient.Offer) ([]byte, string) {
		t := Trust{Devices: o.Thumbprints()}
		if len(o.TrustRules) > 0 {
			t.Rules = rulesOf(o.TrustRules, socket, env)
		}
		asked := Asked{ID: o.ID, Event: o.Event, Raw: o.Raw, Began: o.Began, Deadline: o.Deadline, Origin: o.Origin}
		return Print(asked, o.Body, t, time.Now())
	}
}

// rulesOf is whose rules are evaluated, and with what, on this machine.
func rulesOf(keys []hookclient.TrustedRules, socket string, env func(string) string) (r Rules) {
	for _, k := range keys {
		r.Keys = append(r.Keys, RulesKey{k.Thumbprint, k.Since})
	}
	if r.Home, r.HomeErr = home(env); r.HomeErr == nil {
		r.Seen = filepath.Join(r.Home, ".local/state/assent/rules-seen")
	}
	r.Protected = []string{filepath.Dir(hookclient.SystemConf)}
	if socket != "" {
		r.Protected = append(r.Protected, socket)
	}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if dir := env(name); filepath.IsAbs(dir) {
			r.Protected = append(r.Protected, filepath.Join(dir, "assent"))
		}
	}
	if dir := env("ASSENT_STATE_DIR"); filepath.IsAbs(dir) {
		r.Protected = append(r.Protected, dir)
	}
	if self, err := os.Executable(); err == nil {
		for _, name := range programs.Names {
			r.Protected = append(r.Protected, filepath.Join(filepath.Dir(self), name))
		}
	}
	return r
}
