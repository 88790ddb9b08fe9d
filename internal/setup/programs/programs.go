// Package programs knows assent's programs as files: how they came onto this machine, and a place for
// them that stays where the one they came in does not.
package programs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Names are the programs that belong together, in the order in which an update replaces them: the one
// that says which version is there comes last.
var Names = []string{"assent-contain", "assent-hook", "assent-hook-strict", "assent"}

// Links are the other names of the programs, beside them.
var Links = map[string]string{"hookd-emit": "assent-hook", "hookd-query": "assent"}

// Way is how programs came onto a machine.
type Way string

// The ways.
const (
	ByHand   Way = "hand"   // unpacked, copied or built
	ByScript Way = "script" // install.sh, which keeps a list of what it installed
	ByDebian Way = "deb"
	ByBrew   Way = "brew"
	ByNPM    Way = "npm" // there, or in the place that Keep made for them
)

// Of says how the program at path came. dpkg is the directory of Debian's lists, such as
// /var/lib/dpkg/info.
func Of(path, dpkg string) Way {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	parts := strings.Split(path, string(filepath.Separator))
	switch {
	case slices.Contains(parts, "node_modules"), kept(path):
		return ByNPM
	case slices.Contains(parts, "Cellar"):
		return ByBrew
	}
	if list, err := os.ReadFile(filepath.Join(dpkg, "assent.list")); err == nil && slices.Contains(strings.Split(string(list), "\n"), path) {
		return ByDebian
	}
	if _, err := os.Stat(List(filepath.Dir(path))); err == nil && filepath.Base(filepath.Dir(path)) == "bin" {
		return ByScript
	}
	return ByHand
}

// Instead is the command that updates what came this way, "" where assent update does.
func (w Way) Instead() string {
	switch w {
	case ByNPM:
		return "npx assent@latest up (or npm install -g assent@latest, then assent install)"
	case ByDebian:
		return "sudo apt install ./assent_VERSION_" + runtime.GOARCH + ".deb"
	case ByBrew:
		return "brew upgrade assent"
	}
	return ""
}

// List is the list that install.sh keeps of the files it installed, for programs in bin.
func List(bin string) string { return filepath.Join(filepath.Dir(bin), "share", "assent", "installed") }

// Below a user's data directory stand kept programs, one directory for each version, and a link to
// the one in use.
const (
	keptDir = "assent/programs"
	InUse   = "current"
)

// kept reports whether a path without links is of kept programs.
func kept(path string) bool {
	return strings.HasSuffix(filepath.Dir(filepath.Dir(path)), string(filepath.Separator)+filepath.FromSlash(keptDir))
}

// Lasting is the directory under which the programs beside self can be named for good, in settings and
// services, where their own is a cache or a directory of one version; "" if their own does. data is the
// user's data directory. They may not be there yet: see Keep.
func Lasting(self, data string) string {
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	if kept(self) {
		return filepath.Join(filepath.Dir(filepath.Dir(self)), InUse)
	}
	if data != "" && slices.Contains(strings.Split(self, string(filepath.Separator)), "node_modules") {
		return filepath.Join(data, filepath.FromSlash(keptDir), InUse)
	}
	return ""
}

// Keep copies the programs beside self to where Lasting says, and has its link lead to them. It does
// nothing where that is "", or they are there already. The version before is left, older ones go: a
// hook that runs still has its own file open.
func Keep(self, data, version string) (changed bool, err error) {
	link := Lasting(self, data)
	if link == "" {
		return false, nil
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	root := filepath.Dir(link)
	before, _ := os.Readlink(link) // "" the first time
	name := filepath.Base(filepath.Dir(self))
	if !kept(self) {
		if name, err = copyTo(root, filepath.Dir(self), version); err != nil {
			return false, fmt.Errorf("keep the programs in %s: %w", root, err)
		}
	}
	if name == before {
		return false, nil
	}
	fresh := filepath.Join(root, fmt.Sprintf(".%s-%d", InUse, os.Getpid()))
	if err := os.Symlink(name, fresh); err != nil {
		return false, fmt.Errorf("keep the programs: %w", err)
	}
	if err := os.Rename(fresh, link); err != nil {
		return false, errors.Join(fmt.Errorf("keep the programs: %w", err), os.Remove(fresh))
	}
	prune(root, name, before)
	return true, nil
}

// copyTo copies the programs in from below root and returns the name of their directory: the version,
// with some of their digest behind it where other programs of that version are there.
func copyTo(root, from, version string) (name string, err error) {
	if version == "" || strings.ContainsAny(version, "/\x00") || strings.HasPrefix(version, ".") || version == InUse {
		return "", fmt.Errorf("the version %q can name no directory", version)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := os.Chmod(fresh, 0o755); err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, program := range Names {
		if err := Copy(filepath.Join(from, program), filepath.Join(fresh, program), sum); err != nil {
			return "", err
		}
	}
	for link, to := range Links {
		if err := os.Symlink(to, filepath.Join(fresh, link)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{version, fmt.Sprintf("%s-%x", version, sum.Sum(nil)[:4])} {
		switch err := os.Rename(fresh, filepath.Join(root, name)); {
		case err == nil, same(fresh, filepath.Join(root, name)):
			return name, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
	return "", fmt.Errorf("another file has the name %s", version)
}

// Copy copies a program to a file that is not there yet, durable, and writes it into sum, too.
func Copy(from, to string, sum io.Writer) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(dst, sum), src)
	if err == nil {
		err = dst.Chmod(0o755) // whatever the umask says
	}
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// same reports whether two directories hold the same programs.
func same(x, y string) bool {
	for _, program := range Names {
		a, errA := os.ReadFile(filepath.Join(x, program))
		b, errB := os.ReadFile(filepath.Join(y, program))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// prune removes the versions that nothing names any more.
func prune(root string, keep ...string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return // leftovers do no harm
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(root, e.Name(), "assent-hook")); e.IsDir() && err == nil && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(keep, e.Name()) {
			_ = os.RemoveAll(filepath.Join(root, e.Name())) // as above
		}
	}
}

// DataHome is the user's data directory, $XDG_DATA_HOME or ~/.local/share; "" where nobody says.
func DataHome(env func(string) string) string {
	if d := env("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Clean(d)
	}
	if d := env("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".local", "share")
	}
	return ""
}
