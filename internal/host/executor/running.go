package executor

import (
	"encoding/json"
	"os"
	"path/filepath"

	"assent/internal/host/process"
	"assent/internal/host/wholefile"
)

// hostFile says, in the directory of the sessions, which host works there.
const (
	hostFile   = "host.json"
	maxRunning = 4 << 10 // bytes of it
)

// Running is a host that works.
type Running struct {
	PID     int    `json:"pid"`
	ID      string `json:"id"` // process.ID
	Version string `json:"version"`
}

// FindRunning returns the host that works on a directory of sessions; false: none does, or that cannot be seen.
func FindRunning(dir string) (Running, bool) {
	var r Running
	text, err := readFile(filepath.Join(dir, hostFile), maxRunning)
	if err != nil || json.Unmarshal(text, &r) != nil {
		return Running{}, false
	}
	return r, process.Look(r.PID, r.ID) == process.Runs
}

// Working reports whether anything works for a session that a host with this directory started.
func Working(dir string) bool {
	abs, err := filepath.Abs(dir)
	return err == nil && len(sessionsAt(abs)) > 0
}

// sayRunning leaves word for FindRunning.
func sayRunning(dir, version string) error {
	pid := os.Getpid()
	text, err := json.Marshal(Running{PID: pid, ID: process.ID(pid), Version: version})
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(dir, hostFile), append(text, '\n'), 0o600) // in the place of what stands there: a link may lead anywhere
}

// sayEnded takes that word back.
func sayEnded(dir string) {
	if r, ok := FindRunning(dir); ok && r.PID == os.Getpid() {
		_ = os.Remove(filepath.Join(dir, hostFile))
	}
}
