package claude

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"assent/internal/host/regular"
)

// Shell is the shell that runs the commands of a session, as far as the client's own notes tell: before
// a session's first command it writes down what the user's start-up files define, and every command
// begins by reading that (2.1.329, measured).
type Shell struct {
	Kind string // bash or zsh
	// defined are the names of aliases and functions, apart from those that the client itself defines
	// in place of find and grep.
	defined map[string]bool
	find    bool // the client runs a find of its own
	grep    bool // and a grep
}

// Bounds of what is read for one Shell.
const (
	maxSnapshots = 32
	maxSnapshot  = 1 << 20
)

// ErrNoShell is the error of ShellOf where the shell is not known for certain: no command of the session
// has run yet, or sessions of two kinds of shells share the directory.
var ErrNoShell = errors.New("the session's shell is not known")

var (
	snapshotName  = regexp.MustCompile(`^snapshot-(bash|zsh)-[0-9A-Za-z-]+\.sh$`)
	snapshotAlias = regexp.MustCompile(`(?m)^alias -- ('?)([^\s=']+)('?)=`)
	// bash: eval $'name () \n{ …', zsh: name () {, the client's own: function name {
	snapshotFunction = regexp.MustCompile(`(?m)^(?:eval \$?['"])?(?:function )?([^\s()'"$]+)\s*(?:\(\)|\{)`)
	ownFunction      = regexp.MustCompile(`(?m)^\s*function (find|grep|rg|pkill) \{$`)
)

// ShellOf reads what the client of the session with this transcript, and others that share its
// directory, noted of its shell. An error is ErrNoShell, or one of reading.
func ShellOf(transcript string) (*Shell, error) {
	if !filepath.IsAbs(transcript) || filepath.Clean(transcript) != transcript {
		return nil, ErrNoShell
	}
	// <config>/projects/<project>/<session>.jsonl
	config := filepath.Dir(filepath.Dir(filepath.Dir(transcript)))
	root, err := os.OpenRoot(filepath.Join(config, "shell-snapshots"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoShell
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxSnapshots + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxSnapshots {
		return nil, ErrNoShell
	}
	s := &Shell{defined: map[string]bool{}}
	for _, name := range names {
		kind := snapshotName.FindStringSubmatch(name)
		if kind == nil {
			continue
		}
		if s.Kind != "" && s.Kind != kind[1] {
			return nil, ErrNoShell
		}
		s.Kind = kind[1]
		text, err := readSnapshot(root, name)
		if err != nil {
			return nil, err
		}
		s.add(text)
	}
	if s.Kind == "" {
		return nil, ErrNoShell
	}
	return s, nil
}

func readSnapshot(root *os.Root, name string) (string, error) {
	fi, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxSnapshot {
		return "", ErrNoShell
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that took its place would not open
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := regular.Check(f, 0); err != nil {
		return "", ErrNoShell
	}
	b, err := regular.All(f, maxSnapshot)
	if errors.Is(err, regular.ErrLarge) {
		err = ErrNoShell
	}
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// add notes what one text defines. It rather takes a word for a name than not.
func (s *Shell) add(text string) {
	for _, m := range snapshotAlias.FindAllStringSubmatch(text, -1) {
		s.defined[m[2]] = true
	}
	own := map[string]bool{}
	for _, m := range ownFunction.FindAllStringSubmatch(text, -1) {
		own[m[1]] = true
	}
	for _, m := range snapshotFunction.FindAllStringSubmatch(text, -1) {
		if !own[m[1]] {
			s.defined[m[1]] = true
		}
	}
	s.find, s.grep = s.find || own["find"], s.grep || own["grep"]
	// It defines rg only where there is none, which is known only when it runs, and pkill to be safe.
	_, without, _ := strings.Cut(text, "if ! hash rg")
	s.defined["rg"] = s.defined["rg"] || without != "" && !onPath("rg")
	s.defined["pkill"] = s.defined["pkill"] || own["pkill"]
}

// onPath says whether a program lies where a contained command looks for it.
func onPath(name string) bool {
	return slices.ContainsFunc([]string{"/usr/local/bin", "/usr/bin", "/bin"}, func(dir string) bool {
		fi, err := os.Stat(filepath.Join(dir, name))
		return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
	})
}

// Differs says whether a command that runs a program in a fresh shell could mean another one there: an
// alias, a function, or a search with grep through directories, where the client's own leaves out what
// git ignores. words are those of the whole command.
func (s *Shell) Differs(program string, words []string) bool {
	if s.defined[program] {
		return true
	}
	if program != "grep" || !s.grep {
		return false
	}
	for _, w := range words {
		letters, short := strings.CutPrefix(w, "-")
		if short && !strings.HasPrefix(letters, "-") && strings.ContainsAny(letters, "rRdzZ") {
			return true
		}
		for _, long := range []string{"--r", "--de", "--di", "--n", "--z"} { // --recursive, --dereference-recursive, --directories, --null
			if strings.HasPrefix(w, long) {
				return true
			}
		}
	}
	return strings.ContainsAny(strings.Join(words, " "), "$`") // a flag may come from there
}
