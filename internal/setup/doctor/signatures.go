package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assent/hookclient"
	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// signatures says whether Claude Code's hooks print an allow only if a trusted device signed it, whether the agent's user
// could undo that, and where the code comes from that signs. rootsAlone says why a path is not root's alone; paired lists the
// broker's devices, nil where they cannot be looked at.
func signatures(settings []install.Settings, env func(string) string, rootsAlone func(path string) error, paired func() ([]device, error)) []Finding {
	var managed, other *install.Settings // that run our hook for permission requests
	var words []string
	for i, s := range settings {
		for _, h := range s.Hooks {
			if !h.Ours || h.Event != hook.EventPermissionRequest || s.Err != nil {
				continue
			}
			if s.Scope == install.Managed {
				managed, words = &settings[i], h.Words
			} else if other = &settings[i]; words == nil {
				words = h.Words
			}
		}
	}
	args := []string{"assent-hook"}
	if len(words) > 0 {
		args = words
	}
	cfg, err := read(args, env)
	if err != nil || cfg.Require == "" && !verifies(words) {
		return nil // nobody wants it, or the flags have a line of their own
	}
	finding := func(status Status, detail, fix string) []Finding {
		return []Finding{{"signatures", status, detail, fix}}
	}
	const again = "sudo assent install --strict"
	switch {
	case cfg.Fault != nil:
		return finding(Fail, "the hooks ask nobody: "+cfg.Fault.Error(), "fix that line or file")
	case len(words) > 0 && !verifies(words):
		return finding(Fail, fmt.Sprintf("signatures are required, and %s checks none, so its requests are left to the agent", words[0]), again)
	case len(cfg.Trust)+len(cfg.TrustRules) == 0:
		return finding(Fail, "signatures are required and no key is trusted, so nothing is allowed", again+" --trust 'device:KEY independent', with a key of assent device list")
	}
	var missing []string
	lacks := func(is bool, what string) {
		if is {
			missing = append(missing, what)
		}
	}
	lacks(!cfg.Enforced, "they are required in a file of the user's, not in "+hookclient.SystemConf)
	if cfg.Enforced {
		if err := rootsAlone(hookclient.SystemConf); err != nil {
			lacks(true, err.Error())
		}
	}
	if managed == nil {
		lacks(true, "no managed settings run the hook")
	} else {
		lacks(!managed.ManagedOnly, managed.Path+" lacks allowManagedHooksOnly, so a hook of the user's may answer first")
		lacks(managed.DisableAllHooks, managed.Path+" sets disableAllHooks")
		lacks(!filepath.IsAbs(words[0]), words[0]+" is no absolute path")
		for _, path := range []string{managed.Path, words[0]} {
			if err := rootsAlone(path); err != nil && filepath.IsAbs(path) {
				lacks(true, err.Error())
			}
		}
	}
	lacks(other != nil && (managed == nil || !managed.ManagedOnly), "hooks of the user's settings run")
	keys := keysOf(cfg.Trust)
	if n := len(cfg.TrustRules); n > 0 {
		keys += "; rules that " + show.Count(n, "key") + " may sign are evaluated by the hook"
	}
	said := otherwise(cfg.Trust, paired)
	if len(missing) > 0 {
		return append(said, finding(Warn, "an allow needs a signature, advisory only: the agent's user can undo it, because "+strings.Join(missing, "; ")+". "+keys, again)...)
	}
	return append(said, finding(OK, "an allow needs a signature, enforced: settings, program and hook.conf are root's, and an agent that is not root cannot change them. "+keys, "")...)
}

// device is one that is paired with the broker, as it lists them.
type device struct {
	Name       string
	Thumbprint string
	CodeOrigin hook.CodeOrigin
}

// otherwise says which keys hook.conf calls independent and were paired as keys of the broker's page.
func otherwise(trust []hookclient.Trusted, paired func() ([]device, error)) []Finding {
	if paired == nil {
		return nil
	}
	devices, err := paired()
	if err != nil {
		return nil // what the broker has against it is said elsewhere
	}
	var all []Finding
	for _, t := range trust {
		i := slices.IndexFunc(devices, func(d device) bool { return d.Thumbprint == t.Thumbprint })
		if t.Independent && i >= 0 && devices[i].CodeOrigin == hook.CodeBroker {
			all = append(all, Finding{"signatures", Warn,
				"hook.conf calls device:" + t.Thumbprint + " independent, and " + show.Line(devices[i].Name) + " was paired with it as a page of the broker's: then who steals the broker can have it sign what it did not show",
				"pair the browser at assent approver instead, or write broker behind that key in hook.conf"})
		}
	}
	return all
}

// verifies reports whether a hook's command checks signatures.
func verifies(words []string) bool {
	return len(words) > 0 && (filepath.Base(words[0]) == hookclient.StrictName || filepath.Base(words[0]) == "assent")
}

// keysOf says of trusted keys where the code comes from that signs with them.
func keysOf(trust []hookclient.Trusted) string {
	all := show.Count(len(trust), "key") + " trusted"
	i := slices.IndexFunc(trust, func(t hookclient.Trusted) bool { return !t.Independent })
	switch {
	case len(trust) == 0:
		return "No device is trusted"
	case i < 0:
		return all + ", all of code that does not come from the broker: who steals that allows nothing"
	}
	return all + "; the code that signs with device:" + trust[i].Thumbprint + " comes from the broker: who steals that can have it sign what it did not show"
}
