package importer

import (
	"path/filepath"
	"slices"
)

// settingsDirs are the names of the directories in which agents keep settings, at home and in projects.
var settingsDirs = []string{".claude", ".codex", ".copilot", ".gemini", ".github", ".qwen"} // read-only

// maxAbove is how far below such a directory a file of settings lies at most: .codex/rules/x.rules.
const maxAbove = 3

// Project is the directory of the project whose settings these are, "" for the user's own and for a copy.
func (m *Import) Project() string {
	dir, err := filepath.Abs(m.Settings)
	if err != nil {
		return ""
	}
	for range maxAbove {
		if slices.Contains(settingsDirs, filepath.Base(dir)) {
			if dir == filepath.Clean(m.UserDir) {
				return ""
			}
			return filepath.Dir(dir)
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// localAllow says why what these settings allow is left out: it holds in one project; else "".
func (m *Import) localAllow() string {
	project := m.Project()
	if project == "" || m.Everywhere {
		return ""
	}
	return "it lies in a checkout, which may tighten your rules and not loosen them: it holds in " + project + " only, and here it would hold everywhere; --everywhere says that you mean that"
}

// Note says of settings of a project that they are not the user's; "" for others.
func (m *Import) Note() string {
	project := m.Project()
	switch {
	case project == "":
		return ""
	case m.Everywhere:
		return "They come from the checkout " + project + ", not from you, and what they allow holds everywhere now."
	}
	return "They come from the checkout " + project + ", not from you: what they deny and ask about is carried over, what they allow is not."
}
