//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a look for what a command names.
const (
	maxMentioned     = 200
	maxMentionedName = 4096
)

// mentioned are the words of the command that name a file or directory which is there, and which it cannot
// read. A command may keep to itself that it could not, and say that there is none; so it is said for it. What it
// finds by other ways than by its words nobody knows here. dirs are those of systemDirs, roots what may be read
// besides.
func (c *command) mentioned(dirs, roots []string) (out hidden) {
	cwd, err := os.Getwd()
	if err != nil {
		return out
	}
	home := variable(c.env, "HOME")
	seen, said := 0, []string{}
	for _, arg := range c.cfg.Argv {
		if c.cfg.Shell == "" && arg == c.cfg.Argv[0] {
			continue // the program
		}
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`|&;<>(){}=,\\", r) }) {
			if seen++; seen > maxMentioned {
				return out
			}
			name := word
			for _, begin := range []string{"~/", "$HOME/"} {
				if rest, ok := strings.CutPrefix(word, begin); ok && home != "" {
					name = home + "/" + rest
				}
			}
			if word == "~" {
				name = home
			}
			if name == "" || name == "/" || len(name) > maxMentionedName || name[0] == '-' {
				continue
			}
			if !path.IsAbs(name) {
				name = cwd + "/" + name
			}
			if in := path.Clean(name); in == "/dev" || strings.HasPrefix(in, "/dev/") {
				continue // devices, and what the command was given
			}
			if real, err := filepath.EvalSymlinks(name); err == nil && !slices.Contains(said, word) && !c.opened(real, dirs, roots) {
				said = append(said, word)
				out.add(entry{name: strings.TrimSuffix(word, "/")})
			}
		}
	}
	return out
}

// opened says whether a path lies in what is opened, whatever is kept away there.
func (c *command) opened(real string, dirs, roots []string) bool {
	in := func(dir string) bool { return real == dir || strings.HasPrefix(real, dir+"/") }
	if in(c.tmp) || real == "/usr" || real == "/usr/local" || slices.ContainsFunc(roots, in) {
		return true
	}
	resolved := func(dir string) bool {
		to, err := filepath.EvalSymlinks(dir)
		return in(dir) || err == nil && in(to)
	}
	return slices.ContainsFunc(dirs, resolved) || slices.ContainsFunc(settings, func(s string) bool { return resolved("/etc/" + s) }) ||
		slices.ContainsFunc(others, func(o struct {
			path   string
			rights uint64
		}) bool {
			return resolved(o.path)
		})
}
