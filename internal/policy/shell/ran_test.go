package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assent/internal/policy/shell/bashtest"
)

// Texts whose meaning depends on where cd led and on what variables hold.
var movingSeeds = []string{
	"cd a; ls", "cd a⏎ls x", "cd nowhere; ls", "cd a && ls; pwd", "cd nowhere && ls; cat x", "cd a || cd b; ls", "cd a || exit 1; ls", "cd a || return; ls",
	"cd a && false; ls", "cd a; cd sub; ls", "cd a/sub; cd ..; cat y", "(cd a; ls); ls", "cd a | cat; ls", "! cd a && ls", "{ cd a; ls; }; ls", "cd a && cd nowhere || ls",
	"cd a; cd -; ls", "cd; ls", "cd ~; ls", "cd a 2>/dev/null; head x", "timeout 5 cd a; ls", "cd a && { cd sub; ls; }; ls", "if cd a; then ls; fi; ls", "cd a && ls || cat z",
	"f=a; cat $f", `f=a; cat "$f"`, "f='a b'; cat $f", `f='a b'; cat "$f"`, "f=a.txt g=b.txt; wc $f $g", "f=a; f=b; cat $f", "f=a && cat $f", "false && f=a; cat x$f", "f=a; (f=b; cat $f); cat $f",
	"for f in a b; do cat $f; done", `for f in a b; do echo "== $f"; head -5 "x/$f.go"; done; cat q$f`, "for f in a b; do for g in 1 2; do cat $f$g; done; done", "for f in {a,b}.go; do wc $f; done",
	`for f in *.go; do wc -l "$f"; done`, "for f in *.go; do wc -l $f; done", "f=a; for g in 1 2; do cat x$f; f=b; done", "f=a; while read l; do cat $f; f=b; done < list", `ls | while read f; do cat "$f"; done`,
	"f=a; if true; then f=b; fi; cat x$f", "f=a; case x in x) f=b;; esac; cat x$f", "f=a; true | f=b; cat $f", "f=a; f=b & cat $f", "f=$(cat x); echo \"$f\"", "f=a; g=$f/b; cat $g", "f=*.go; cat $f; cat \"$f\"",
	"f=a; echo \"exit $?\"; cat ${f}x", "f=a.go; cat ${f%.go}.py", "f=abc; echo ${#f}", "cat $HOME/x", "cat \"$PWD/x\"", "cd a; cat \"$PWD/x\"", "f=-n; head $f x", "f=; cat $f x; cat \"$f\" y",
	"f=a cat $f", "f=a; f=b cat $f; cat $f", "f=a; read f < list; cat x$f", "X=a; cat $X/b; D=/p; ls $D", "f=a; cat <(sort $f) <(sort b)", "f=a; bash -c 'cat x$f'", "f=a; echo {$f,b}; echo \"{$f,b}\"",
	"f=~/x; cat $f", "f='$HOME'; cat $f", "f='*.go'; cat $f; cat \"$f\"", "f=a; for f in b c; do :; done; cat $f", "for f in a b; do [ -f $f ] && cat $f || continue; done", "f=a; [[ -f $f ]] && cat $f",
	"for f in a b; do (cd $f; ls); done; ls", "for f in a b; do cd $f; ls; cd ..; done; ls", "f=a; f+=b; cat $f", "for f in a 'b c'; do cat $f; done", "f=x; g=f; cat ${!g}",
}

// recorder has bash write down each program that it would start, with its arguments and directory,
// instead of starting it. Its PATH leads nowhere.
const recorder = `
rec() { builtin printf '%s\0' "$PWD" "$#" "$@" >&9; return "$STATUS"; }
command_not_found_handle() { rec "$@"; }
for b in printf echo test true false : pwd type kill umask jobs fg bg disown suspend times hash wait pushd popd dirs shift; do
	eval "$b() { rec $b \"\$@\"; }"
done
ulimit -f 20000
run() { ( exec 9>>"$OUT/$1"; ulimit -t 1; cd "$ROOT" && eval "$2" ) < /dev/null > /dev/null 2>&1; }
`

// TestBashRunsTheSame has bash run texts that are read without doubt, with programs that only write
// down what they are given, and expects each among what was read. It is run with programs that
// succeed and with programs that fail.
func TestBashRunsTheSame(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	root := t.TempDir()
	for _, dir := range []string{"a/sub", "b/sub", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"m.go", "n.go", "a/x.go", "list"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("a\nb c\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Dir: root, Home: filepath.Join(root, "home"), Project: root}
	var batch []string
	tried, certain, ran, bad := 0, 0, 0, 0
	flush := func() {
		for _, status := range []string{"0", "1"} {
			calls := runBatch(t, bash, o, batch, status)
			for i, text := range batch {
				units := Read(text, o).Units
				for _, c := range calls[i] {
					if ran++; !slices.ContainsFunc(units, c.isOne) {
						if bad++; bad <= 10 {
							t.Errorf("%q: bash runs %q in %s, which is not among what was read", text, c.argv, strings.TrimPrefix(c.dir, root))
						}
					}
				}
			}
		}
		batch = batch[:0]
	}
	add := func(text string) {
		s := Read(text, o)
		// A loop that programs which always fail, or never do, keep running has no end.
		runnable := len(s.Doubts) == 0 && bashtest.Printable(text) && !strings.Contains(text, "until") && strings.Count(text, "while") == strings.Count(text, "while read") && !strings.Contains(text, "rec")
		for _, u := range s.Units {
			runnable = runnable && u.Kind != Write && (u.Kind != Command || !strings.Contains(u.Argv[0].Text, "/"))
		}
		if !runnable {
			return
		}
		certain++
		if batch = append(batch, text); len(batch) == 200 {
			flush()
		}
	}
	var seeds []string
	for _, s := range movingSeeds {
		seeds = append(seeds, strings.ReplaceAll(s, "⏎", "\n"))
		add(seeds[len(seeds)-1])
	}
	flush()
	if certain < len(seeds)/2 {
		t.Errorf("only %d of %d texts are read without doubt", certain, len(seeds))
	}
	bashtest.Mutants(seeds, *mutantSeed, func(text string) bool {
		tried++
		add(text)
		return tried < *mutantCount/10
	})
	flush()
	t.Logf("%d mutants, %d without doubt, %d programs run, %d of them not read", tried, certain, ran, bad)
	if certain < tried/10 || ran < certain/2 {
		t.Errorf("of %d mutants %d are read without doubt, and run %d programs: the comparison says little", tried, certain, ran)
	}
}

// ranCall is a program that bash would have started.
type ranCall struct {
	dir  string
	argv []string
}

// isOne says whether a unit may be the call.
func (c ranCall) isOne(u Unit) bool {
	switch {
	case u.Kind != Command, u.Dirs != nil && !slices.Contains(u.Dirs, c.dir), u.DirKnown && u.Dir != c.dir:
		return false
	}
	return slices.ContainsFunc(append([][]Word{u.Argv}, u.Alt...), func(words []Word) bool {
		for i, w := range words {
			switch {
			case !w.Static && (w.Glob || i >= len(c.argv)):
				return true // any number of words
			case i >= len(c.argv), w.Static && c.argv[i] != w.Text, !strings.HasPrefix(c.argv[i], w.Prefix):
				return false
			}
		}
		return len(words) == len(c.argv)
	})
}

// runBatch returns the calls of each text.
func runBatch(t *testing.T, bash string, o Options, texts []string, status string) [][]ranCall {
	var script strings.Builder
	script.WriteString(recorder)
	for i, text := range texts {
		fmt.Fprintf(&script, "run %d '%s'\n", i, strings.ReplaceAll(text, "'", `'\''`))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", file)
	cmd.Env = []string{"PATH=/nonexistent", "HOME=" + o.Home, "ROOT=" + o.Dir, "OUT=" + dir, "STATUS=" + status}
	cmd.Dir = o.Dir
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) { // the status is that of the last text
		t.Fatal(err)
	}
	all := make([][]ranCall, len(texts))
	for i := range texts {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Split(string(data), "\x00")
		for len(fields) > 2 {
			n, err := strconv.Atoi(fields[1])
			if err != nil || n+2 > len(fields) {
				t.Fatalf("%q: the calls of bash cannot be read at %q", texts[i], fields[:min(len(fields), 8)])
			}
			all[i] = append(all[i], ranCall{fields[0], fields[2 : 2+n]})
			fields = fields[2+n:]
		}
	}
	return all
}
