package install

import (
	"fmt"
	"path/filepath"
	"slices"
)

// OptionsFrom is where the agent of this environment keeps its settings, and assent its state.
func OptionsFrom(env func(string) string, stateDir string) (Options, error) {
	o := Options{Home: env("HOME"), ConfigDir: env("CLAUDE_CONFIG_DIR"), StateDir: stateDir}
	if o.ConfigDir != "" && !filepath.IsAbs(o.ConfigDir) {
		return o, fmt.Errorf("CLAUDE_CONFIG_DIR is %q, which Claude Code takes from wherever it is started; make it an absolute path", o.ConfigDir)
	}
	return o, nil
}

// Auto reports whether Claude Code will start in auto mode in a terminal, where hardly a call
// reaches assent, and nothing that the settings or the options say makes it ask.
func Auto(settings []Settings, o Options) bool {
	if len(o.AskRules) > 0 || o.DefaultMode != "" || !slices.ContainsFunc(o.Versions, StartsInAuto) {
		return false
	}
	mode, asks := Mode(settings)
	return asks == 0 && (mode == "" || mode == "auto")
}

// StartsInAuto reports whether a version's own default mode in a terminal is auto. 2.1.197 is the
// last one that is known to start otherwise.
func StartsInAuto(version string) bool { return Older(Oldest, version) }

// Mode is the default mode that the settings give, the last file's, and how many permissions.ask
// rules there are.
func Mode(settings []Settings) (mode string, asks int) {
	for _, s := range settings {
		if s.DefaultMode != "" {
			mode = s.DefaultMode
		}
		asks += len(s.Ask)
	}
	return mode, asks
}

// Plugin is the id of assent's plugin for Claude Code, "" if none of the settings switches it on.
func Plugin(settings []Settings) string {
	for _, s := range settings {
		if s.Plugin != "" {
			return s.Plugin
		}
	}
	return ""
}
