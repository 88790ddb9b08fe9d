package process

import (
	"errors"
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
