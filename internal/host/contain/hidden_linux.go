//go:build linux && (amd64 || arm64)

package contain

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"assent/internal/policy/secrets"
)

// hidden is what a command cannot read of the directories that it may. A refusal by the kernel goes to
// the command alone, which may keep it to itself ("2>/dev/null ||"). So what was hidden is said
// afterwards, whether the command came upon it or not.
type hidden struct {
	names []string // the first few
	count int
}

// maxHiddenNames bounds the names that are said.
const maxHiddenNames = 3

func (h *hidden) add(e entry) {
	name := oneLine(e.name)
	if e.dir {
		name += "/"
	}
	if h.count++; len(h.names) < maxHiddenNames && !slices.Contains(h.names, name) {
		h.names = append(h.names, name)
	}
}

// line says what was hidden, and why, "" if nothing was.
func (h *hidden) line(why string) string {
	if h.count == 0 {
		return ""
	}
	more := ""
	if n := h.count - len(h.names); n > 0 {
		more = " and " + strconv.Itoa(n) + " more"
	}
	return "assent: it ran contained, and could not read these" + why + strings.Join(h.names, ", ") + more + "\n"
}

// isRepository says whether a directory of those names is one of git.
func isRepository(all []entry) bool {
	head, other := false, false
	for _, e := range all {
		head = head || e.name == "HEAD"
		other = other || e.name == "objects" || e.name == "commondir"
	}
	return head && other
}

// tells says whether a file that git or a person writes for git may hold a secret: a configuration with what
// is not known to be harmless, or an address with who enters. repository says that the file lies in a
// repository itself, and log that it is one of the logs of its references.
func (t *tree) tells(fd int, name string, repository, log bool) bool {
	holds, most := entered, maxGitLog
	switch {
	case log:
		holds = func(text string) bool { return slices.ContainsFunc(strings.Split(text, "\n"), entered) }
	case repository && name == "FETCH_HEAD", name == ".gitmodules", name == ".lfsconfig":
	case repository && strings.HasPrefix(name, "config"), strings.HasSuffix(name, "gitconfig"):
		holds, most = configTells, maxGitConfig
	default:
		return false
	}
	sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(sub)
	var st unix.Stat_t
	if unix.Fstat(sub, &st) != nil || st.Size > int64(most) {
		return true
	}
	b := make([]byte, st.Size+1) // one more: it may grow
	n := 0
	for n < len(b) {
		m, err := unix.Read(sub, b[n:])
		if err != nil {
			return true
		}
		if m == 0 {
			return holds(unsafe.String(&b[0], n))
		}
		n += m
	}
	return true
}

// namedSecret refuses a path that leads to a file or directory of secrets and does not itself say so:
// who named it meant something else.
func namedSecret(name, real string) error {
	if path.Clean(name) == real {
		return nil // what is below a directory is looked through
	}
	st, err := os.Stat(real)
	file := err != nil || !st.IsDir()
	if secrets.Top(path.Dir(real)).Secret(path.Base(real), file) || slices.ContainsFunc(strings.Split(path.Dir(real), "/"), secrets.Directory) {
		return Refusal(oneLine(name) + " leads to " + oneLine(path.Base(real)) + ", which may hold secrets")
	}
	return nil
}

// file makes the rule for a file that was named.
func (t *tree) file(name string) error {
	fd, err := resolved(name, unix.O_PATH)
	if err != nil {
		return Refusal(oneLine(name) + ": " + err.Error())
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Refusal(oneLine(name) + ": " + err.Error())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Refusal(oneLine(name) + " is no file any more")
	}
	return t.rules.add(fd, readFile|execute)
}
