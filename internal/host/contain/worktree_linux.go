//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// repositoryOf is the directory of git that a linked work tree belongs to, "" if the project is none.
// The file .git of the project names it; that alone may say anything. So the repository must name the
// project as well, in a place that only git writes.
func repositoryOf(project string) string {
	own, ok := strings.CutPrefix(line(path.Join(project, ".git")), "gitdir: ")
	if !ok {
		return ""
	}
	if !path.IsAbs(own) {
		own = path.Join(project, own)
	}
	own, err := filepath.EvalSymlinks(own)
	if err != nil || path.Base(path.Dir(own)) != "worktrees" {
		return ""
	}
	back := line(path.Join(own, "gitdir"))
	if !path.IsAbs(back) {
		back = path.Join(own, back)
	}
	back, err = filepath.EvalSymlinks(back)
	if err != nil || back != path.Join(project, ".git") {
		return ""
	}
	common := path.Dir(path.Dir(own))
	if named := line(path.Join(own, "commondir")); path.Join(own, named) != common && named != common {
		return ""
	}
	if line(path.Join(common, "HEAD")) == "" {
		return ""
	}
	return common
}

// line is the first line of a small regular file; "" without one.
func line(name string) string {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimRight(first, "\r ")
}
