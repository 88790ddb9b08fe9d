package install

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The versions of Claude Code that were tried. Older ones than Oldest are refused.
const (
	Oldest = "2.1.197"
	Newest = "2.1.329"
)

// event is a hook event of Claude Code.
type event struct {
	name  string
	since string // the first version known to have it; empty: Oldest
	// never says why no hook may run for it, unwanted why none is written for it though one may.
	never, unwanted string
}

// events are all 33 of 2.1.329, in the order that a session meets them.
var events = []event{
	{name: "PermissionRequest"},
	{name: "SessionStart"}, {name: "Setup"}, {name: "InstructionsLoaded"}, {name: "ConfigChange"},
	{name: "UserPromptSubmit"}, {name: "UserPromptExpansion"},
	{name: "PreToolUse"}, {name: "PostToolUse"}, {name: "PostToolUseFailure"}, {name: "PostToolBatch"},
	{name: "PermissionDenied"}, {name: "Notification"}, {name: "Elicitation"}, {name: "ElicitationResult"},
	{name: "SubagentStart"}, {name: "SubagentStop"},
	{name: "TeammateIdle"}, {name: "TaskCreated"}, {name: "TaskCompleted"},
	{name: "PreCompact"}, {name: "PostCompact"},
	{name: "PreModelSwitch", since: Newest}, {name: "PostModelSwitch", since: Newest},
	{name: "CwdChanged"}, {name: "DirectoryAdded", since: Newest}, {name: "WorktreeRemove"},
	{name: "Stop"}, {name: "StopFailure"}, {name: "SessionEnd"},
	{name: "FileChanged", unwanted: "it fires only for files that its matcher names"},
	{name: "MessageDisplay", unwanted: "it fires for every piece of an answer"},
	{name: "WorktreeCreate", never: "a hook there replaces git, and work trees would no longer be made"},
}

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
	for _, e := range events {
		if e.never == "" && e.unwanted == "" && e.known(versions) {
			names = append(names, e.name)
		}
	}
	return names, nil
}

// Unknown returns those of names that one of the versions does not know: at start it would ask
// about the settings.
func Unknown(names, versions []string) []string {
	var unknown []string
	for _, n := range names {
		if i := slices.IndexFunc(events, func(e event) bool { return e.name == n }); i < 0 || !events[i].known(versions) {
			unknown = append(unknown, n)
		}
	}
	return unknown
}

func (e event) known(versions []string) bool {
	return e.since == "" || !slices.ContainsFunc(versions, func(v string) bool { return Older(v, e.since) })
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
