package shell

import "testing"

func TestOutlives(t *testing.T) {
	for _, text := range []string{
		"cat a", "cat a | sort -u | head", "(cd sub; cat a)", "(cd sub && x=1 && cat $x)", "cat $(cd sub; ls)", "for f in *.go; do wc -l $f; done",
		"if cat a; then cat b; fi", "X=1 cat a", "case a in a) cat a;; esac", "while false; do cat a; done", "time cat a", "{ cat a; }", "[[ -f a ]] && cat a", "! cat a",
		"grep set a", "cat a 2>/dev/null", "cat a\ncat b", "cat <(cd sub; cat a)",
	} {
		if why := Outlives(text); why != "" {
			t.Errorf("Outlives(%q) = %q, want nothing", text, why)
		}
	}
	for _, text := range []string{
		"cd sub; cat a", "cat a && cd sub", "cat a || cd ..", "pushd sub", "x=1", "x=1; cat $x", "export X=1", "declare x=1", "readonly x=1", "source a", ". a", "set -e; cat a", "umask 0",
		"trap x EXIT", "exec cat a", "eval cat a", "cat a &", "cat a & cat b", "(cat a &)", "f() { cat a; }; f", "alias x=y", "unset x", "shopt -s extglob", "command cd sub", "builtin cd sub",
		"command -p cd sub", `\cd sub`, `"cd" sub`, `c'd' sub`, `c\d sub`, `$'cd' sub`, `'exec' cat a`, "{ cd sub; }", "if cd sub; then cat a; fi", "for f in a; do cd $f; done", "while read x; do cat $x; done", "cat a | while read x; do cat $x; done", "cat a | cd sub",
		"let x=1", "((x=1))", "wait", "jobs", "time cd sub", "! cd sub", "coproc cat a", "case a in a) cd sub;; esac", "cat a; (", "\"cat", "", "  ",
	} {
		if why := Outlives(text); why == "" && text != "" && text != "  " {
			t.Errorf("Outlives(%q) says nothing", text)
		}
	}
}
