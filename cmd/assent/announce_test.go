package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// systemd says which stream it keeps; a desktop's terminals inherit its variables, and their
// pipes are not kept.
func TestJournalsAreKept(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(os.Getpid())
	for name, c := range map[string]struct {
		env  map[string]string
		kept bool
	}{
		"make run in a pipe":                 {nil, false},
		"the journal":                        {map[string]string{"JOURNAL_STREAM": fmt.Sprintf("%d:%d", st.Dev, st.Ino), "INVOCATION_ID": "x"}, true},
		"a pipe in a desktop's terminal":     {map[string]string{"JOURNAL_STREAM": fmt.Sprintf("%d:%d", st.Dev, st.Ino+1), "INVOCATION_ID": "x", "SYSTEMD_EXEC_PID": "1"}, false},
		"a unit whose output goes to a file": {map[string]string{"INVOCATION_ID": "x", "SYSTEMD_EXEC_PID": pid}, true},
		"nonsense":                           {map[string]string{"JOURNAL_STREAM": ":"}, false},
	} {
		if got := kept(w, func(k string) string { return c.env[k] }); got != c.kept {
			t.Errorf("%s: kept %v", name, got)
		}
	}
	if kept(&bytes.Buffer{}, func(string) string { return pid }) {
		t.Error("a buffer is kept")
	}
}
