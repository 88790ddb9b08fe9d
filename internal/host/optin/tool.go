package optin

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool returns the path of a program such as git, which the host runs by itself and asks nobody about: the first one in the
// search path of an environment (PATH) that nobody but this user and root can replace, and that is in none of the projects,
// to which an agent may write. It is "" where there is none.
func Tool(environ []string, name string, projects ...string) string {
	for _, kv := range environ {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if !filepath.IsAbs(dir) {
				continue
			}
			path, err := exec.LookPath(filepath.Join(dir, name))
			if err != nil || within(path, projects) {
				continue
			}
			if real, err := program(path); err == nil && !within(real, projects) {
				return path
			}
		}
	}
	return ""
}

// within says whether a path is in one of some directories.
func within(path string, dirs []string) bool {
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); dir != "" && (err != nil || filepath.IsLocal(rel)) {
			return true
		}
	}
	return false
}
