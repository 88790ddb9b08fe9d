package inbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assent/internal/host/process"
)

// What an agent put in the place of the directory is not waited for, the host would hang, and with it every cancel. Nor does it say
// that nobody works on the session.
func TestDirectoryOfSessionsIsOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	if live, err := Live(dir, "25e5a0e9", 0); len(live) != 0 || err != nil {
		t.Errorf("no client has run: %+v, %v", live, err)
	}
	if err := syscall.Mkfifo(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	if live, err := Live(dir, "25e5a0e9", 0); len(live) != 0 || !errors.Is(err, ErrUnsure) {
		t.Errorf("%+v, %v", live, err)
	}
}

// A file that may be the session's, of a process that may run, is a doubt; what a client has left behind is none.
func TestNotKnownWhetherSomebodyWorks(t *testing.T) {
	if process.ID(os.Getpid()) == "" {
		t.Skip("this system does not tell when a process began")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	here, gone := os.Getpid(), ended.Process.Pid
	text := func(format string) string { return fmt.Sprintf(format, here) }
	large := text(`{"pid":%d,"sessionId":"25e5a0e9","x":"`) + strings.Repeat("x", maxFile) + `"}`
	for name, x := range map[string]struct {
		text   string
		pid    int
		unsure bool
	}{
		"empty":                             {"", here, true},
		"cut off before the id":             {text(`{"pid":%d,"sess`), here, true},
		"cut off behind the id":             {text(`{"pid":%d,"sessionId":"25e5a0e9","procSt`), here, true},
		"cut off, of an ended process":      {`{"pid":`, gone, false},
		"cut off, of another session":       {text(`{"pid":%d,"sessionId":"another","cwd":"/25e5`), here, false},
		"cut off, another session within":   {`{"parent":{"sessionId":"another"},`, here, true},
		"large":                             {large, here, true},
		"large, of an ended process":        {large, gone, false},
		"without when its process began":    {text(`{"pid":%d,"sessionId":"25e5a0e9"}`), here, true},
		"the id somewhere else":             {text(`{"pid":%d,"session_id":"25e5a0e9"}`), here, true},
		"of a later process of this number": {text(`{"pid":%d,"sessionId":"25e5a0e9","procStart":"1"}`), here, false},
		"of another session":                {text(`{"pid":%d,"sessionId":"another","cwd":"/25e5a0e9"}`), here, false},
		"of no session":                     {`[]`, here, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, strconv.Itoa(x.pid)+".json")
			if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
			live, err := Live(dir, "25e5a0e9", 0)
			if len(live) != 0 || errors.Is(err, ErrUnsure) != x.unsure || (err == nil) == x.unsure {
				t.Errorf("%+v, %v", live, err)
			}
			if x.unsure && !strings.Contains(err.Error(), "remove "+path) {
				t.Errorf("it does not say what to do: %v", err)
			}
			if _, err := Live(dir, "25e5a0e9", here); err != nil {
				t.Errorf("its own process: %v", err)
			}
		})
	}
}

// What cannot be read may say that somebody works on the session.
func TestFilesThatCannotBeRead(t *testing.T) {
	here := strconv.Itoa(os.Getpid()) + ".json"
	for name, put := range map[string]func(dir string) error{
		"a pipe": func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, here), 0o600) },
		"a link": func(dir string) error { return os.Symlink("elsewhere", filepath.Join(dir, here)) },
	} {
		dir := t.TempDir()
		if err := put(dir); err != nil {
			t.Fatal(err)
		}
		if live, err := Live(dir, "25e5a0e9", 0); len(live) != 0 || !errors.Is(err, ErrUnsure) {
			t.Errorf("%s: %+v, %v", name, live, err)
		}
	}
}

// Clients that were killed leave their files, and nothing is lost among them. Of more than are read it is not said that they are all.
func TestManyFiles(t *testing.T) {
	start := startOf(os.Getpid())
	if start == "" {
		t.Skip("this system does not tell when a process began")
	}
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const most = 1 << 22 // no pid is as high
	for i := range maxFiles + 1 {
		put(strconv.Itoa(most+i)+".json", "{}")
	}
	put(strconv.Itoa(os.Getpid())+".json", fmt.Sprintf(`{"pid":%d,"sessionId":"25e5a0e9","procStart":%q}`, os.Getpid(), start))
	if live, err := Live(dir, "25e5a0e9", 0); len(live) != 1 || err != nil {
		t.Errorf("%+v, %v", live, err)
	}
	if live, err := Live(dir, "another", 0); len(live) != 0 || err != nil {
		t.Errorf("another session: %+v, %v", live, err)
	}
	for i := range maxFiles {
		put(fmt.Sprintf("x%d.json", i), "{}")
	}
	if _, err := Live(dir, "another", 0); !errors.Is(err, ErrUnsure) {
		t.Errorf("more than are read: %v", err)
	}
}
