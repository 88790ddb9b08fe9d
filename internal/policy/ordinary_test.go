package policy

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/policy/shell"
)

// Of a word that is taken for ordinary the long way finds nothing: for every name of the list of secrets, every part of a
// protected path, copies and beginnings of them, alone and as parts of flags, in several directories.
func TestOrdinaryWords(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "u")
	for _, dir := range []string{"u/p/sub", "u/p/users", "u/p/secrets", "u/p/.aws", "u/.ssh", "u/.config/x", "u/.local/state/assent"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"u/p/link": "../.ssh", "u/p/n": "../.local", "u/p/-f": "../.ssh/id_rsa", "u/p/away": "../.ssh", "u/p/1": "../.ssh/id_rsa"} {
		if err := os.Symlink(to, filepath.Join(top, at)); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, "version: 1\n")
	l := secrets()
	var words []string
	add := func(w string) {
		words = append(words, w, strings.ToUpper(w), "-"+w, "-f"+w, "-abc"+w, "--x="+w, w+"=1", w+"~", w+".bak", "._"+w, w+"x", w[:len(w)-1])
	}
	for _, all := range [][]string{l.allNames, l.allDirectories, l.allKinds, l.words} {
		for _, w := range all {
			add(w)
		}
	}
	for _, g := range l.shapes {
		add(strings.NewReplacer("*", "y", "?", "z").Replace(g.src))
	}
	for _, ps := range [][]pathGlobOf{l.paths, l.closed, l.open} {
		for _, p := range ps {
			for part := range strings.SplitSeq(p.glob.src, "/") {
				if part != "" {
					add(part)
				}
			}
		}
	}
	for _, signs := range s.protect.signs {
		for _, sign := range signs {
			add(sign)
			add("x" + sign + "y")
		}
	}
	for _, w := range []string{"link", "n", "f", "away", "1", "test", "sub", "users", "main.go", "-rn", "-n1", "--count=1", "rsrc", "..", ".", "a..b", "x", "TODO"} {
		add(w)
	}
	ordinary := 0
	for _, dir := range []string{"u/p", "u/p/users", "u/p/.aws", "u/p/away", "u/p/gone/deeper", "u", ""} {
		for _, readlink := range []func(string) (string, error){readlink, nil} {
			if readlink == nil && dir != "u/p" {
				continue
			}
			e := newScope()
			e.call, e.readlink, e.linkless = &Call{}, e.remembered(readlink), linkless
			e.cwd, e.project, e.home = filepath.Join(home, "p"), filepath.Join(home, "p"), home
			for _, base := range []string{"cat", "git"} {
				for _, w := range words {
					if w == "" {
						continue
					}
					argv := []shell.Word{{Text: base, Prefix: base, Static: true}, {Text: w, Prefix: w, Static: true}}
					u := &shell.Unit{Kind: shell.Command, Program: base, Base: base, Argv: argv, Dir: filepath.Join(top, dir), DirKnown: true}
					if e.findOrdinary(s.protect, u); !e.isOrdinary(1, u) {
						continue
					}
					ordinary++
					e.work = 0
					for _, how := range []touch{{}, {namesOnly: true}, {changes: true, directories: true}} {
						if why := s.protect.word(argv[1], u, e, how); why != "" {
							t.Errorf("%s in %q is ordinary, and %s", w, dir, why)
						}
					}
					if found := e.secretWord(nil, argv[1], u, wordFile, true); found != nil {
						t.Errorf("%s in %q is ordinary, and a secret", w, dir)
					}
				}
			}
			e.release()
		}
	}
	// Paths of the list, in a directory that is that of the path.
	e := newScope()
	defer e.release()
	e.call, e.cwd, e.project, e.home = &Call{}, "/home/u/p", "/home/u/p", "/home/u"
	for _, p := range l.paths {
		whole := strings.NewReplacer("**/", "", "*", "y", "?", "z").Replace(p.glob.src)
		dir, name := path.Split(whole)
		if dir == "" || strings.ContainsAny(whole, "[]") {
			continue
		}
		w := shell.Word{Text: name, Prefix: name, Static: true}
		u := &shell.Unit{Kind: shell.Command, Program: "cat", Base: "cat", Argv: []shell.Word{w, w}, Dir: path.Join("/home/u/p", dir), DirKnown: true}
		if e.findOrdinary(s.protect, u); !e.isOrdinary(1, u) {
			continue
		}
		e.work = 0
		if found := e.secretWord(nil, w, u, wordFile, true); found != nil {
			t.Errorf("%s is ordinary, and a secret", whole)
		}
	}
	if ordinary < 1000 && len(top) < 60 && !strings.HasPrefix(top, "/private") { // as tests mostly lie
		t.Errorf("only %d words were ordinary", ordinary)
	}
}
