package install

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assent/internal/agent/claude/events"
)

// The versions of Claude Code that were tried. Older ones than Oldest are refused.
const (
	Oldest = events.Oldest
	Driven = events.Driven
	Newest = events.Newest
)

// Events returns the events that hooks are written for: those that all versions know, without
// the ones that no observer should listen to.
func Events(versions []string) ([]string, error) {
	for _, v := range versions {
		if !versionPattern.MatchString(v) {
			return nil, fmt.Errorf("%q is no version of Claude Code; want three numbers, like %s", v, Newest)
		}
		if Older(v, Oldest) {
			return nil, fmt.Errorf("version %s of Claude Code is older than %s, the oldest that was tried, and may not know these hooks; update it, or say --claude-version %s if another one will read the settings", v, Oldest, Newest)
		}
	}
	var names []string
	for _, e := range events.All {
		if e.Never == "" && e.Unwanted == "" && known(e, versions) {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// Unknown returns those of names that one of the versions does not know: at start it would ask
// about the settings.
func Unknown(names, versions []string) []string {
	var unknown []string
	for _, n := range names {
		if i := slices.IndexFunc(events.All, func(e events.Event) bool { return e.Name == n }); i < 0 || !known(events.All[i], versions) {
			unknown = append(unknown, n)
		}
	}
	return unknown
}

func known(e events.Event, versions []string) bool {
	return e.Since == "" || !slices.ContainsFunc(versions, func(v string) bool { return Older(v, e.Since) })
}

var versionPattern = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.\d{1,9}`)

// Older reports whether version a comes before b; both begin with three numbers.
func Older(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:]) < 0
}

// Modes are the permission modes in which requests reach a hook.
var Modes = []string{"default", "manual", "acceptEdits", "plan"}

// modeName is how the settings spell a mode: 2.1.197 rejects a whole file that says manual.
func modeName(mode string) string {
	if strings.EqualFold(mode, "manual") {
		return "default"
	}
	return mode
}
