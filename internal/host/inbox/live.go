package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assent/internal/host/process"
	"assent/internal/host/regular"
)

// ErrUnsure says that nobody can tell whether another process works on the session: not all was found that would say so. What
// wraps it names what to do.
var ErrUnsure = errors.New("whether the session is open in another place cannot be told")

const (
	maxNames = 1 << 16  // names in the directory
	maxFiles = 4096     // files that are read
	maxFile  = 16 << 10 // bytes of one
	// A client that is writing its file is done in a moment.
	rereads    = 5
	rereadWait = 20 * time.Millisecond
)

// Dir is where the client of a user with this home keeps its sessions' files. configDir is the value of
// CLAUDE_CONFIG_DIR, if any.
func Dir(home, configDir string) string {
	if configDir == "" {
		configDir = filepath.Join(home, ".claude")
	}
	return filepath.Join(configDir, "sessions")
}

// Find returns the live session with this id that has an inbox, of those whose files are in dir; ErrNone
// where there is none.
func Find(dir, sessionID string) (Session, error) {
	live, err := Live(dir, sessionID, 0)
	for _, s := range live {
		if s.Socket != "" {
			return s, nil
		}
	}
	return Session{}, errors.Join(ErrNone, err)
}

// Live returns the processes that work on the session with this id, of those whose files are in dir. An error is ErrUnsure: there may
// be others. own is a process of which the caller knows what it works on, so that its file leaves nothing open; 0 if there is none.
func Live(dir, sessionID string, own int) (live []Session, err error) {
	names, err := list(dir)
	left := rereads
	for _, name := range names {
		path := filepath.Join(dir, name)
		s, of, bad := read(path, sessionID)
		for bad != nil && left > 0 && writer(s, name) != own && mayRun(writer(s, name)) {
			left--
			time.Sleep(rereadWait)
			s, of, bad = read(path, sessionID)
		}
		if !of {
			continue
		}
		pid, state := writer(s, name), process.Unknown
		if bad == nil {
			state = s.state()
		} else if !mayRun(pid) {
			state = process.Gone
		}
		switch {
		case state == process.Runs:
			live = append(live, s)
		case state == process.Unknown && pid != own && err == nil:
			if bad == nil {
				bad = fmt.Errorf("%s: when its process began cannot be told", path)
			}
			err = fmt.Errorf("%w: %w, and process %d runs; end that process, or, if it is no Claude Code, remove %s", ErrUnsure, bad, pid, path)
		}
	}
	return live, err
}

// writer is the process whose file it is: so says its text, or else its name.
func writer(s Session, name string) int {
	if s.PID > 0 {
		return s.PID
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
	if err != nil {
		return 0
	}
	return pid
}

// list returns the names of the files that have to be read.
func list(dir string) (names []string, err error) {
	unsure := func(err error) error {
		return fmt.Errorf("%w: %w; fix that on the machine where it is", ErrUnsure, err)
	}
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0) // a pipe that an agent put there would never open
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no client has run
	}
	if err != nil {
		return nil, unsure(err)
	}
	defer d.Close()
	all, err := d.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unsure(err)
	}
	full := len(all) == maxNames
	for _, name := range all {
		stem, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		// Clients that were killed leave their files. Where there are many, these are not worth reading.
		if pid, err := strconv.Atoi(stem); err == nil && len(all) > maxFiles && !mayRun(pid) {
			continue
		}
		names = append(names, name)
	}
	if full || len(names) > maxFiles {
		names = names[:min(len(names), maxFiles)]
		return names, unsure(fmt.Errorf("%s holds more files than are read", dir))
	}
	return names, nil
}

// cutOff is the beginning of a session's file, as far as to say which session it is.
var cutOff = regexp.MustCompile(`^\s*\{\s*(?:"\w+"\s*:\s*(?:\d+|"[^"\\]*")\s*,\s*)*"sessionId"\s*:\s*"([^"\\]*)"`)

// read reads the file of a session. of says whether it is of the one with this id, or may be: then err says what is wrong with it.
func read(path, sessionID string) (s Session, of bool, err error) {
	// What is no file any more when it is opened is neither followed nor waited for.
	b, err := regular.Read(path, maxFile, regular.NoLink|regular.Mine)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, false, nil // it ended
	case err != nil:
		return s, true, err
	case json.Valid(b):
		if !bytes.Contains(b, []byte(sessionID)) { // many others are not worth taking apart
			return s, false, nil
		}
		err = json.Unmarshal(b, &s)
		if err == nil && s.SessionID == "" {
			err = errors.New("it does not say of which session it is")
		}
		if err == nil && s.SessionID != sessionID {
			return s, false, nil
		}
	default:
		if m := cutOff.FindSubmatch(b); m != nil && string(m[1]) != sessionID {
			return s, false, nil
		}
		err = errors.New("it is not whole")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return s, true, err
}

// state is whether the process that the file names runs. Another one may have its number by now.
func (s Session) state() process.State {
	id := process.ID(s.PID)
	start, _, _ := strings.Cut(id, ".")
	switch {
	case !mayRun(s.PID), start != "" && s.ProcStart != "" && start != s.ProcStart:
		return process.Gone
	case start == "" || s.ProcStart == "":
		return process.Unknown
	case process.Look(s.PID, id) == process.Gone:
		return process.Gone
	}
	return process.Runs
}

// mayRun reports whether a process of this user may have this number: it has not ended, and is no other user's.
func mayRun(pid int) bool {
	if pid <= 0 {
		return false // clients name their files by their numbers
	}
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return false
	}
	id := process.ID(pid)
	return id == "" || process.Look(pid, id) != process.Gone
}
