package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notes says what a person should know who is about to have hooks for these events in this file.
func (d *document) notes(o Options, p Plan, events []string) []Note {
	var notes []Note
	add := func(key, format string, args ...any) { notes = append(notes, Note{key, fmt.Sprintf(format, args...)}) }
	if p.Path != p.Target {
		add("symlink", "%s is a link: %s is written, and the link stays", p.Path, p.Target)
	}
	if p.attributes.links > 1 {
		add("hard-links", "%s has %d names; the others keep the old text", p.Target, p.attributes.links)
	}
	if o.Scope == Project {
		add("shared-file", "%s is shared with others: it will name paths of this machine, and the hook fails for everybody without them; --scope local keeps it to you", p.Path)
	}
	if f := d.foreign("PermissionRequest"); len(f) > 0 {
		add("second-decider", "another tool answers permission requests too (%s): both are asked, and the first decision counts", short(strings.Join(f, ", ")))
	}
	if v := last(d.root(), "disableAllHooks"); v != nil && string(packed(*v)) == "true" {
		add("hooks-disabled", "%s says disableAllHooks: no hook runs until you take that out", p.Path)
	}
	if flags := d.flagsThatGo(o); flags != "" {
		add("flags-removed", "the hook for PermissionRequest had %s; install writes flags of its own, with --ci those that deny when nobody answers", flags)
	}
	gone := d.oursOutside(o, events)
	for _, event := range slices.Sorted(maps.Keys(gone)) {
		add("event-removed", "assent's hook for %s goes: %s", short(event), gone[event])
	}
	if o.Format != nil {
		notes = append(notes, o.Format.Notes...)
	}
	for _, v := range o.Versions {
		switch {
		case Older(Newest, v):
			add("newer", "Claude Code %s is newer than %s, with which assent was tried; events that came since are left out", v, Newest)
		case Older(v, Driven):
			add("older", "Claude Code %s: assent was tried with %s and %s; in 2.1.197 claude -p asks no hook for permission", v, Oldest, Driven)
		}
	}
	return notes
}
