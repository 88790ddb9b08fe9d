package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Self is the path of the program that runs under which settings and services can name it for good. Programs that came in a
// cache of npm's, which is emptied now and then, are copied to where they stay if keep is said. version is theirs.
func Self(env func(string) string, version string, keep bool) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	data := DataHome(env)
	if keep {
		if _, err := Keep(self, data, version); err != nil {
			return "", err
		}
	}
	if dir := Lasting(self, data); dir != "" {
		return filepath.Join(dir, "assent"), nil
	}
	return self, nil
}

// Beside finds the program name: beside self, else on PATH. Below the directory of kept programs it may not be there yet.
func Beside(self, name string) (string, error) {
	program := filepath.Join(filepath.Dir(self), name)
	if fi, err := os.Stat(program); err == nil && fi.Mode()&0o111 != 0 || filepath.Base(filepath.Dir(self)) == InUse {
		return program, nil
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside %s nor on PATH; build it (make build) or install it there", name, self)
	}
	if found, err = filepath.Abs(found); err != nil {
		return "", fmt.Errorf("path of %s: %w", name, err)
	}
	return found, nil
}

// Stable prefers the name under which a program is on PATH: a package manager's link there outlives an update, the directory of
// one version does not. A name inside of workTree, the repository that the user stands in, is no such one: the next commit may
// lead it elsewhere. A home that is a repository is the user's own.
func Stable(program, workTree, home string) string {
	found, err := exec.LookPath(filepath.Base(program))
	if err != nil || !filepath.IsAbs(found) {
		return program
	}
	x, err1 := os.Stat(found)
	y, err2 := os.Stat(program)
	if err1 != nil || err2 != nil || !os.SameFile(x, y) {
		return program
	}
	if workTree != "" && workTree != home && strings.HasPrefix(found, workTree+string(filepath.Separator)) {
		return program
	}
	return found
}
