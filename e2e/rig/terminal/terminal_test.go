package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTerminal types into a shell, sees what it draws at once and later, and is told of its end.
func TestTerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	dir, err := os.MkdirTemp("", "assent-e2e-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	term, err := Open(t.Context(), Config{
		Dir: dir, Work: "/", Env: []string{"PATH=" + os.Getenv("PATH"), "WORD=a 'word'", "TERM=xterm"},
		Argv: []string{"/bin/sh", "-c", `echo "begun: $WORD"; read line; echo "read: $line"; while [ ! -e "` + filepath.Join(dir, "go") + `" ]; do read -r x <&0 || :; done`},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}()
	wait := func(pattern string) {
		t.Helper()
		if _, err := term.Wait(t.Context(), regexp.MustCompile(pattern)); err != nil {
			t.Fatal(err)
		}
	}
	wait(`begun: a 'word'`)
	if err := term.Send(t.Context(), "some -text"); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Key(t.Context(), "Enter"); err != nil {
		t.Fatal(err)
	}
	wait("read: some -text")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Key(t.Context(), "Enter"); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Wait(t.Context(), regexp.MustCompile("never")); err == nil || !strings.Contains(err.Error(), "the terminal has gone") {
		t.Errorf("its end: %v", err)
	}
}

func TestQuote(t *testing.T) {
	want := `a b'c"$(x)\`
	out, err := exec.Command("/bin/sh", "-c", "printf %s "+quote(want)).Output()
	if err != nil || string(out) != want {
		t.Errorf("the shell reads %q (%v), want %q", out, err, want)
	}
}
