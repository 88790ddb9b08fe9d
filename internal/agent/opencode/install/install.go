// Package install says what assent writes for OpenCode and Kilo: one file, a plugin that is assent's alone.
package install

import (
	_ "embed"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/opencode"
)

//go:embed assent.js
var plugin string

// Options are those of an install of the plugin of the named agent, which runs this command. ask has OpenCode
// ask about commands, edits and web pages where its settings say nothing: it does all of them otherwise.
func Options(id, title string, env func(string) string, stateDir string, command []string, ask bool) (install.Options, error) {
	config := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		if env("HOME") == "" {
			return install.Options{}, errors.New("where " + title + " keeps its plugins is not known: HOME is not set")
		}
		config = filepath.Join(env("HOME"), ".config")
	}
	argv, err := json.Marshal(append(append([]string(nil), command...), "--agent", id))
	if err != nil {
		return install.Options{}, err
	}
	text := strings.Replace(plugin, `["HOOK"]`, string(argv), 1)
	notes := []install.Note{{Key: "asks", Text: title + " does everything without asking unless its settings have permission rules, such as {\"permission\": {\"bash\": \"ask\", \"edit\": \"ask\", \"webfetch\": \"ask\"}} in " + id + ".json"}}
	if ask {
		text = strings.Replace(text, "const ASK = false", "const ASK = true", 1)
		notes[0].Text = title + " asks about commands, edits and web pages from now on, unless its settings say otherwise"
	}
	return install.Options{
		Scope: install.User, StateDir: stateDir, Command: command,
		Format: &install.Format{Agent: title, Path: filepath.Join(config, id, "plugin", "assent.js"), Events: opencode.Events, Whole: []byte(text), Notes: notes},
	}, nil
}
