package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Versions are those of the clients that will read the settings. A client that is too old is an
// error, and so is it if none says its version.
func Versions(clients []Client) (versions []string, notes []Note, err error) {
	if len(clients) == 0 {
		return nil, nil, errors.New("no claude was found on PATH, nor in ~/.local/bin and ~/.claude/local; install Claude Code first, or say which version will read the settings: --claude-version " + Newest)
	}
	var list []string
	for _, c := range clients {
		if c.Err != nil {
			notes = append(notes, Note{Key: "no-version", Text: fmt.Sprintf("%v; it is left out of account", c.Err)})
			continue
		}
		if _, err := Events([]string{c.Version}); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		versions = append(versions, c.Version)
		list = append(list, c.Version+" at "+c.Path)
	}
	if len(versions) == 0 {
		return nil, nil, fmt.Errorf("no claude says its version: %w; run it by hand, or say --claude-version V", clients[0].Err)
	}
	if len(list) > 1 {
		notes = append(notes, Note{Key: "several-versions", Text: "several Claude Codes are here (" + strings.Join(list, ", ") + "); only events that all of them know are written"})
	}
	return versions, notes, nil
}

// ParseAsk reads permission rules with commas between them; a comma inside of brackets belongs to a
// rule.
func ParseAsk(list string) ([]string, error) {
	var rules []string
	depth, from := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth <= 0:
			if rule := strings.TrimSpace(list[from:i]); rule != "" {
				rules = append(rules, rule)
			}
			from = i + 1
		}
	}
	if depth != 0 || len(rules) == 0 {
		return nil, fmt.Errorf("--ask %s: want rules such as Bash(git push:*) with commas between", list)
	}
	for _, r := range rules {
		tool, _, pattern := strings.Cut(r, "(")
		if tool == "" || strings.ContainsAny(tool, " )") || pattern && !strings.HasSuffix(r, ")") {
			return nil, fmt.Errorf("--ask: %q is no permission rule; want a tool, or a tool and a pattern like Bash(git push:*)", r)
		}
	}
	return rules, nil
}

// AutoNote is for somebody whose client starts in auto mode, see Auto.
func AutoNote() Note {
	return Note{Key: "auto-mode", Text: "in a terminal Claude Code starts in auto mode, where most calls run or are refused without asking any hook; --ask makes risky commands reach assent all the same, --default-mode default makes everything reach it that needs permission"}
}

// Surroundings are notes about an install in cwd: where its settings count, what other settings do
// beside them, and whether the hook's program will last.
func Surroundings(o Options, plan Plan, settings []Settings, cwd string) []Note {
	var notes []Note
	add := func(key, text string) { notes = append(notes, Note{Key: key, Text: text}) }
	if (o.Scope == Project || o.Scope == Local) && cwd != o.Dir {
		text := "Claude Code reads " + plan.Path + " when it is started in " + o.Dir
		if o.Scope == Local {
			text += ", and newer ones below it too"
		}
		add("directory", text)
	}
	for _, s := range settings {
		if s.Path == plan.Path {
			continue
		}
		ours, others := 0, 0
		for _, h := range s.Hooks {
			switch {
			case h.Ours:
				ours++
			case h.Event == "PermissionRequest":
				others++
			}
		}
		if ours > 0 {
			events := "1 event"
			if ours > 1 {
				events = fmt.Sprintf("%d events", ours)
			}
			add("other-scope", fmt.Sprintf("%s runs assent's hook for %s too; Claude Code runs a hook once only if both are written alike, so keep one: assent uninstall --scope %s", s.Path, events, s.Scope))
		}
		if others > 0 {
			add("second-decider", "a hook in "+s.Path+" answers permission requests too: both are asked, and the first decision counts")
		}
		if s.Scope == Managed && s.ManagedOnly && o.Scope != Managed {
			add("managed-only", s.Path+" lets no hooks run but its own, so what is written here does nothing")
		}
		if s.DisableAllHooks {
			add("hooks-disabled", s.Path+" says disableAllHooks: no hook runs until you take that out")
		}
	}
	if p := o.Command[0]; strings.HasPrefix(p, filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		add("temporary-path", p+" is in a directory for temporary files; when it is gone, Claude Code asks in its terminal only")
	}
	return notes
}

// Left are notes about other settings in which assent's hooks stay when they go from this file.
func Left(plan Plan, settings []Settings) []Note {
	var notes []Note
	for _, s := range settings {
		if s.Path != plan.Path && slices.ContainsFunc(s.Hooks, func(h Hook) bool { return h.Ours }) {
			notes = append(notes, Note{Key: "other-scope", Text: fmt.Sprintf("%s still runs assent's hook: assent uninstall --scope %s", s.Path, s.Scope)})
		}
	}
	return notes
}
