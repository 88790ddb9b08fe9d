package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Places among the fields of /proc/PID/stat behind the program's name.
const (
	atState    = 0
	atParent   = 1
	atTerminal = 4
	atStart    = 19
)

// ID names the process with this pid; empty where it cannot be told.
func ID(pid int) string {
	f, err := stat(pid)
	if err != nil || len(f) <= atStart {
		return ""
	}
	return name(f[atStart], here())
}

// Look says whether the process that ID named so still runs.
func Look(pid int, id string) State {
	start, namespace, ok := parts(id)
	if !ok || pid <= 0 || namespace != here() {
		return Unknown
	}
	f, err := stat(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// It may be hidden (hidepid), or there is no /proc.
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return Gone
		}
		return Unknown
	case err != nil || len(f) <= atStart:
		return Unknown
	case f[atStart] != start, f[atState] == "Z", f[atState] == "X":
		return Gone
	}
	return Runs
}

// NoTerminal reports whether it is certain that the process has no controlling terminal.
func NoTerminal(pid int) bool {
	f, err := stat(pid)
	return err == nil && len(f) > atTerminal && f[atTerminal] == "0"
}

// Parent is the process that started this one, or that it was left to; 0 where it cannot be told.
func Parent(pid int) int {
	f, err := stat(pid)
	if err != nil || len(f) <= atParent {
		return 0
	}
	n, err := strconv.Atoi(f[atParent])
	if err != nil {
		return 0
	}
	return n
}

// maxArgs bounds how much of a command line is read, in bytes.
const maxArgs = 64 << 10

// Args are the words of a process's command line, of a long one the first; nil where they cannot be told.
func Args(pid int) []string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxArgs))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

func stat(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	return fields(string(b)), nil
}

// here is the pid namespace of this process and the boot of its machine.
var here = sync.OnceValue(func() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space = strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]")
	id := strings.TrimSpace(string(boot))
	if space == "" || id == "" {
		return ""
	}
	return space + "." + id
})
