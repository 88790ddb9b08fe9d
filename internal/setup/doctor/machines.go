package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"assent/internal/machines"
	"assent/internal/text/show"
)

// silentFor is how long a machine with a token may say nothing before somebody should look.
const silentFor = 7 * 24 * time.Hour

// checkMachines asks the broker whose hooks came: of which version, and in which modes their sessions are.
func (x *examination) checkMachines(ctx context.Context) (findings []Finding) {
	document(ctx, x, "machines", "/v1/machines", "view", func(list *[]machines.Machine) Finding {
		findings = machineFindings(*list, x.broker.Version, time.Now())
		return Finding{}
	})
	return findings // a credential that may not look is told of with the rules
}

// machineFindings says what of the machines somebody should look at; version is the broker's, "" if that is
// not known.
func machineFindings(list []machines.Machine, version string, now time.Time) (findings []Finding) {
	add := func(status Status, detail, fix string) {
		findings = append(findings, Finding{"machines", status, detail, fix})
	}
	for _, m := range list {
		who := machineName(m)
		if m.Differs {
			add(Warn, fmt.Sprintf("%s: its hooks are %s, the broker is %s", who, m.HookVersion, cmp.Or(version, "another version")), versionFix(m, version))
		}
		if n := len(m.NotAsking); n > 0 {
			var modes []string
			for _, s := range m.NotAsking {
				if !slices.Contains(modes, s.Mode) {
					modes = append(modes, s.Mode)
				}
			}
			slices.Sort(modes)
			add(Warn, fmt.Sprintf("%s: %s in a mode that asks for nothing, or hardly anything: %s", who, show.Count(n, "session"), strings.Join(modes, ", ")),
				"there: assent doctor says which setting it is; docs/managed.md says how to forbid it")
		}
		if last := later(m.Heard, m.Used); m.Name != "" && now.Sub(last) > silentFor {
			since := "never"
			if !last.IsZero() {
				since = "not since " + last.Local().Format("2006-01-02")
			}
			add(Warn, fmt.Sprintf("%s was heard of %s: are its hooks off, or is it gone?", who, since), "there: assent doctor; if it is gone: assent token list, assent token revoke ID")
		}
	}
	if len(findings) == 0 && len(list) > 0 {
		add(OK, show.Count(len(list), "machine")+": hooks of the broker's version, all sessions ask", "")
	}
	return findings
}

func machineName(m machines.Machine) string {
	switch {
	case m.Name != "" && m.Host != "" && m.Host != m.Name:
		return fmt.Sprintf("%s (calls itself %s)", m.Name, m.Host)
	case m.Name != "":
		return m.Name
	}
	return cmp.Or(m.Host, "a machine without a name")
}

// versionFix is what to run so that hooks and broker are of one version.
func versionFix(m machines.Machine, version string) string {
	local := strings.HasPrefix(m.Submitter, "user:")
	switch {
	case semver.Compare("v"+m.HookVersion, "v"+version) > 0 && local:
		return "restart the broker: assent service install, or stop it and start it again"
	case semver.Compare("v"+m.HookVersion, "v"+version) > 0:
		return "update the broker: assent update"
	case local:
		return "assent install, with the assent that the broker is"
	}
	return "there: assent update"
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
