// Package process names processes so that one that ended is not taken for a later one of the same
// number, and says whether such a one still runs. It knows Linux only; elsewhere it knows nothing.
//
// The hook client runs it at each event: it reads three small files.
package process

import "strings"

// State is whether a process runs.
type State int

// The states. Unknown: it belongs to another machine, boot or pid namespace, or cannot be seen.
const (
	Unknown State = iota
	Runs
	Gone
)

// name is START.NAMESPACE.BOOT: when the process began, in ticks of the kernel's clock, the inode of
// the pid namespace in which its number counts, and the id of the machine's boot.
func name(start, namespace string) string {
	if start == "" || namespace == "" {
		return ""
	}
	return start + "." + namespace
}

// parts undoes name.
func parts(id string) (start, namespace string, ok bool) {
	start, namespace, ok = strings.Cut(id, ".")
	return start, namespace, ok && start != "" && namespace != ""
}

// fields are those of /proc/PID/stat behind the program's name, which may hold anything: the state
// is the first.
func fields(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}
