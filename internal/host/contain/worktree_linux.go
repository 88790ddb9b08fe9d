//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
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
	if line(path.Join(common, "HEAD")) == "" || !strings.HasSuffix(common, ".git") {
		return ""
	}
	for _, dir := range []string{"objects", "refs"} {
		if fi, err := os.Lstat(path.Join(common, dir)); err != nil || !fi.IsDir() {
			return ""
		}
	}
	return common
}

// line is the first line of a small regular file; "" without one.
func line(name string) string {
	b := small(name, unix.O_NOFOLLOW, 4096)
	first, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimRight(first, "\r ")
}

// small is the beginning of a regular file; nil without one.
func small(name string, flags, most int) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	b := make([]byte, min(int64(most), st.Size))
	n := 0
	for n < len(b) {
		m, err := unix.Read(fd, b[n:])
		if m <= 0 || err != nil {
			break
		}
		n += m
	}
	return b[:n]
}
