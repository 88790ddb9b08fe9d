package doctor

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
	"assent/internal/agent/copilot"
	copilotinstall "assent/internal/agent/copilot/install"
	"assent/internal/agent/droid"
	droidinstall "assent/internal/agent/droid/install"
	"assent/internal/host/regular"
	"assent/internal/setup/installer"
	"assent/internal/text/strictjson"
)

// checkOthers looks at the agents of this machine that have no check of their own: whether they ask, and
// whether one takes a hook that fails for a yes.
func (x *examination) checkOthers(ctx context.Context) []Finding {
	found := installer.OnMachine(x.Env)
	findings := x.untried(ctx, found)
	for _, at := range found {
		if at.Name == installer.Claude || at.Name == codex.Name {
			continue
		}
		f := Finding{Name: at.Name, Status: OK}
		o, err := installer.Options(at.Name, x.Env, x.StateDir, nil, installer.Choices{})
		var plan install.Plan
		if err == nil {
			plan, err = install.Uninstall(o)
		}
		switch {
		case at.Name == droid.Name && plan.Changed() && shadowed(x.Env) != "":
			f.Status, f.Fix = Fail, "move them into settings.json"
			f.Detail = "hooks are in " + plan.Path + ", but Droid takes those of " + shadowed(x.Env) + " in their place: nothing is asked"
		case err != nil:
			f.Status, f.Detail, f.Fix = Fail, err.Error(), "fix the file, then assent install "+at.Name
		case !plan.Changed():
			f.Status, f.Detail, f.Fix = Warn, at.Program+" is here, without hooks of assent: it asks in its terminal only", "assent install "+at.Name
		default:
			f.Detail = "hooks are in " + plan.Path
		}
		findings = append(findings, f)
		if err == nil && plan.Changed() && agents.Reader(at.Name).Facts().Failed.Runs {
			findings = append(findings, takesFailureForYes(at, plan.Before, x.Env))
		}
	}
	return append(findings, x.overACPOnly()...)
}

// untried names the agents whose version is none that assent was tried with. They are asked at once: some take
// seconds to say it.
func (x *examination) untried(ctx context.Context, found []installer.Found) []Finding {
	versions := make([]string, len(found))
	var asked sync.WaitGroup
	for i, at := range found {
		if at.Name == installer.Claude { // it has a check of its own
			continue
		}
		asked.Go(func() {
			versions[i], _ = install.AskVersion(ctx, at.Program, x.Env("PATH"), x.Env("HOME")) // "": it does not say
		})
	}
	asked.Wait()
	var findings []Finding
	for i, at := range found {
		facts := agents.Reader(at.Name).Facts()
		newest := cmp.Or(facts.Newest, facts.Version)
		switch v := versions[i]; {
		case v == "":
		case install.Older(v, facts.Version):
			findings = append(findings, Finding{at.Name, Warn, at.Title + " is " + v + ", older than " + facts.Version + ", the oldest that assent was tried with", "update it"})
		case install.Older(newest, v):
			findings = append(findings, Finding{Name: at.Name, Status: OK, Detail: at.Title + " is " + v + ", newer than " + newest + ", the newest that assent was tried with; it is treated like that one"})
		}
	}
	return findings
}

// overACPOnly names the agents of this machine that no hook of ours can answer for, and the way to them.
func (x *examination) overACPOnly() []Finding {
	var findings []Finding
	for _, a := range installer.HooklessOnMachine(x.Env) {
		f := Finding{Name: a.Name, Status: OK, Detail: a.Title + " is here (" + a.Program + "), and assent installs no hooks for it: " + a.Why + "; it asks in its terminal only"}
		if a.Command != "" {
			f.Detail += ". In an editor: " + a.Command
		}
		findings = append(findings, f)
	}
	return findings
}

// takesFailureForYes says what was done about an agent that may run what its hook does not answer.
func takesFailureForYes(at installer.Found, hooks []byte, env func(string) string) Finding {
	f := Finding{Name: at.Name, Status: Danger, Detail: at.Title + " takes a hook that fails for a yes where it may run a call unasked; "}
	again := "assent install " + at.Name + " --on-failure deny"
	switch {
	case at.Name == droid.Name && bytes.Contains(hooks, []byte("'--on-failure' 'deny'")) && !bytes.Contains(hooks, []byte("|| { echo 'assent")):
		f.Status, f.Fix = Fail, "assent install droid"
		f.Detail += "its hook denies then, but was written by an older assent: if it cannot be run or crashes, the call runs"
	case bytes.Contains(hooks, []byte("'--on-failure' 'deny'")):
		f.Detail += "its hook denies then, always"
	case at.Name == copilot.Name && copilotAllows(env):
		f.Status, f.Fix = Fail, again
		f.Detail += "its settings say so (defaultPermissionMode), and its hook does not know: what is asked while assent is away runs"
	case bytes.Contains(hooks, []byte("'--on-failure' 'abstain'")):
		f.Fix = again
		f.Detail += "its hook was told to say nothing then (--on-failure abstain)"
	default:
		f.Detail += "its hook denies then, where it can tell; it cannot tell what was said in the session (/allow-all)"
	}
	return f
}

// shadowed is the file in which Droid has hooks that it takes in the place of ours, and for what; "" if there is none.
func shadowed(env func(string) string) string {
	file, events, err := droidinstall.Shadowed(env)
	if err != nil {
		return file + " (" + err.Error() + ")"
	}
	if len(events) == 0 {
		return ""
	}
	return file + " (" + strings.Join(events, ", ") + ")"
}

// copilotAllows reports whether Copilot's settings have every session start without asking.
func copilotAllows(env func(string) string) bool {
	home, err := copilotinstall.Home(env)
	if err != nil {
		return false
	}
	for _, name := range []string{"settings.json", "config.json"} {
		b, err := regular.Read(filepath.Join(home, name), 1<<20, 0)
		if err != nil {
			continue
		}
		ms, err := strictjson.Object(b)
		if err != nil {
			continue
		}
		for _, m := range ms {
			if m.Key == "defaultPermissionMode" && string(m.Value) == `"allow-all"` {
				return true
			}
		}
	}
	return false
}
