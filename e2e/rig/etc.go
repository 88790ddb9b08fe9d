package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Etc is an /etc of a test's own, in which /etc/claude-code and /etc/assent can be written.
type Etc struct {
	t       *testing.T
	Dir     string // what is written into the two
	wrapper string
}

// NewEtc makes one in dir. The test is skipped where that cannot be had.
func NewEtc(t *testing.T, dir string) *Etc {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can have another /etc")
	}
	e := &Etc{t: t, Dir: filepath.Join(dir, "etc"), wrapper: filepath.Join(dir, "with-etc")}
	for _, name := range []string{"claude-code", "assent", "assent-bin"} {
		if err := os.MkdirAll(filepath.Join(e.Dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nexec unshare --mount sh -c 'mount -t overlay overlay -o lowerdir=%[1]s:/etc /etc && mount --bind %[1]s/claude-code /etc/claude-code && mount --bind %[1]s/assent /etc/assent && exec \"$@\"' sh \"$@\"\n"
	if err := os.WriteFile(e.wrapper, []byte(fmt.Sprintf(script, e.Dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(e.wrapper, "test", "-d", "/etc/assent").CombinedOutput(); err != nil {
		t.Skipf("this test needs an overlay over /etc: %v %s", err, out)
	}
	return e
}

// Command is a program that sees this /etc.
func (e *Etc) Command(program string, args ...string) *exec.Cmd {
	return exec.Command(e.wrapper, append([]string{program}, args...)...)
}

// Wrap makes a program that runs the given one with this /etc.
func (e *Etc) Wrap(program string) string {
	e.t.Helper()
	wrapped := filepath.Join(filepath.Dir(e.wrapper), filepath.Base(program)+"-with-etc")
	if err := os.WriteFile(wrapped, []byte(fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", e.wrapper, program)), 0o755); err != nil {
		e.t.Fatal(err)
	}
	return wrapped
}

// Programs are assent's, where every user of this /etc can run them and only root can replace them: the directory.
func (e *Etc) Programs() string {
	e.t.Helper()
	for _, name := range programs {
		err := os.Link(Program(name), filepath.Join(e.Dir, "assent-bin", name))
		if err != nil && !errors.Is(err, os.ErrExist) {
			b, readErr := os.ReadFile(Program(name))
			if err = errors.Join(readErr, os.WriteFile(filepath.Join(e.Dir, "assent-bin", name), b, 0o755)); err != nil {
				e.t.Fatal(err)
			}
		}
	}
	return "/etc/assent-bin"
}
