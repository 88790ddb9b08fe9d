package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// As the client 2.1.329 writes them, but shortened: the user's aliases and functions, then its own.
const (
	bashSnapshot = `# Snapshot file
unalias -a 2>/dev/null || true
shopt -u autocd
# Functions
eval $'myfn () \n{ \n    echo hi\n}' > /dev/null 2>&1
eval 'sort () 
{ 
    echo mine
}' > /dev/null 2>&1
set -o monitor
# Aliases
alias -- ll='ls -l'
alias -- cat='bat -p'
`
	zshSnapshot = `# Snapshot file
# Functions
myfn () {
	echo hi
}
# Aliases
alias -- G='| grep'
alias -- run-help=man
alias -- 'head'='x'
`
	ownSnapshot = `# Check for rg availability
if ! hash rg 2>/dev/null && ! typeset -f rg >/dev/null 2>&1; then
  function rg {
  (exec -a rg /opt/claude ${1+"$@"})
}
fi
unalias find 2>/dev/null || true
function find {
  (exec -a bfs /opt/claude ${1+"$@"})
}
function grep {
  (exec -a ugrep /opt/claude -G ${1+"$@"})
}
function pkill {
  command pkill ${1+"$@"}
}
export PATH=/usr/bin
`
)

// session makes the directory of a client with these snapshots, and returns the transcript of a session.
func session(t *testing.T, snapshots map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if snapshots != nil {
		if err := os.Mkdir(filepath.Join(dir, "shell-snapshots"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range snapshots {
		if err := os.WriteFile(filepath.Join(dir, "shell-snapshots", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "projects", "-home-dev-project", "s.jsonl")
}

func TestShellOf(t *testing.T) {
	s, err := ShellOf(session(t, map[string]string{"snapshot-bash-1795458740127-7k2jzg.sh": bashSnapshot + ownSnapshot, "other": "alias -- wc=x\n"}))
	if err != nil || s.Kind != "bash" {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, want := range map[string]bool{
		"ll": true, "cat": true, "myfn": true, "sort": true, "pkill": true, "wc": false, "ls": false, "find": false, "grep": false, "git": false, "head": false,
	} {
		if s.Differs(name, nil) != want {
			t.Errorf("Differs(%s) = %v", name, !want)
		}
	}
	for words, want := range map[string]bool{
		"grep x a": false, "grep -n x a": false, "cat a | grep -i --color x": false, "grep --include=*.go x": false,
		"grep -r x .": true, "grep -Rn x": true, "grep -nr x": true, "grep --recursive x": true, "grep --rec x": true, "grep -d recurse x": true, "grep --directories=recurse x": true, "grep $x": true, "grep `x`": true, "grep -z x": true,
	} {
		if s.Differs("grep", strings.Fields(words)) != want {
			t.Errorf("%s: Differs = %v", words, !want)
		}
	}

	s, err = ShellOf(session(t, map[string]string{"snapshot-zsh-1-a.sh": zshSnapshot, "snapshot-zsh-2-b.sh": "alias -- wc=x\n"}))
	if err != nil || s.Kind != "zsh" {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, want := range map[string]bool{"myfn": true, "G": true, "run-help": true, "head": true, "wc": true, "cat": false, "grep": false} {
		if s.Differs(name, []string{"grep", "-r"}) != want {
			t.Errorf("zsh: Differs(%s) = %v", name, !want)
		}
	}
}

func TestShellNotKnown(t *testing.T) {
	many := map[string]string{}
	for i := range maxSnapshots + 1 {
		many[fmt.Sprintf("snapshot-bash-%d-a.sh", i)] = ""
	}
	for name, snapshots := range map[string]map[string]string{
		"no directory": nil, "none yet": {}, "of two kinds": {"snapshot-bash-1-a.sh": "", "snapshot-zsh-1-a.sh": ""}, "of another kind": {"snapshot-fish-1-a.sh": ""},
		"too many": many, "a long one": {"snapshot-bash-1-a.sh": strings.Repeat("#", maxSnapshot+1)},
	} {
		if s, err := ShellOf(session(t, snapshots)); !errors.Is(err, ErrNoShell) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, path := range []string{"", "s.jsonl", "/a/../b/c/d.jsonl"} {
		if s, err := ShellOf(path); !errors.Is(err, ErrNoShell) {
			t.Errorf("%q: %+v, %v", path, s, err)
		}
	}
	// A link leads elsewhere.
	transcript := session(t, map[string]string{})
	link := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(transcript))), "shell-snapshots", "snapshot-bash-1-a.sh")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if s, err := ShellOf(transcript); err == nil {
		t.Errorf("through a link: %+v", s)
	}
}
