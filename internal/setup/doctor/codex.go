package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
	"assent/internal/agent/codex/hooklist"
	codexinstall "assent/internal/agent/codex/install"
	"assent/internal/setup/installer"
	"assent/internal/text/show"
)

// codexPatience is how long Codex may take to say what it knows of its hooks.
const codexPatience = 20 * time.Second

// checkCodex looks at Codex, if it is on this machine: its hooks, and whether it runs them.
func (x *examination) checkCodex(ctx context.Context) []Finding {
	program := installer.Program(codex.Name, x.Env)
	home, err := codexinstall.Home(x.Env)
	if program == "" || err != nil {
		return nil // nothing to say of an agent that is not here
	}
	s, ok := install.Read(filepath.Join(home, "hooks.json"))
	var have []string
	for _, h := range s.Hooks {
		if h.Ours {
			have = append(have, h.Event)
		}
	}
	f := Finding{Name: "codex", Status: OK}
	switch {
	case ok && s.Err != nil:
		f.Status, f.Detail, f.Fix = Fail, s.Err.Error(), "fix the file"
		return []Finding{f}
	case len(have) == 0:
		f.Status, f.Detail, f.Fix = Warn, program+" is here, without hooks of assent: it asks in its terminal only", "assent install codex"
		return []Finding{f}
	}
	for _, e := range codex.Events {
		if !slices.Contains(have, e) {
			f.Status, f.Detail, f.Fix = Warn, s.Path+" has no hook for "+e, "assent install codex"
			return []Finding{f}
		}
	}
	dir, _, err := x.Where()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, codexPatience)
		defer cancel()
		var runs map[string]bool
		if runs, err = codexTrust(ctx, program, dir, s.Path); err == nil {
			return []Finding{trusted(f, s.Path, runs)}
		}
	}
	f.Status, f.Detail, f.Fix = Warn, "hooks are in "+s.Path+"; whether Codex trusts them it does not say: "+show.Line(err.Error()), "start codex: it asks about hooks that it does not trust"
	return []Finding{f}
}

// trusted says whether Codex runs the hooks, by what it says of each.
func trusted(f Finding, path string, runs map[string]bool) Finding {
	var not []string
	for event, is := range runs {
		if !is {
			not = append(not, event)
		}
	}
	slices.Sort(not)
	switch {
	case len(runs) == 0:
		f.Status, f.Detail, f.Fix = Warn, "Codex does not list the hooks of "+path, "start codex, and look at /hooks"
	case len(not) > 0:
		f.Status, f.Fix = Fail, "start codex, and choose \"Trust all and continue\""
		f.Detail = fmt.Sprintf("Codex does not run %s of assent: not trusted, or changed since (%s)", show.Count(len(not), "hook"), show.Line(strings.Join(not, ", ")))
	default:
		f.Detail = fmt.Sprintf("%s in %s, and Codex trusts them", show.Count(len(runs), "hook"), path)
	}
	return f
}

// codexTrust asks Codex what it knows of the hooks of a file, and returns whether it runs them, by event.
func codexTrust(ctx context.Context, program, dir, file string) (runs map[string]bool, err error) {
	hooks, err := hooklist.Of(ctx, []string{program, "app-server"}, nil, dir)
	if err != nil {
		return nil, err
	}
	runs = map[string]bool{}
	for _, h := range hooks {
		if strings.HasPrefix(h.Key, file+":") && (h.Command == "" || strings.Contains(h.Command, "assent")) {
			runs[h.EventName] = h.Runs()
		}
	}
	return runs, nil
}
