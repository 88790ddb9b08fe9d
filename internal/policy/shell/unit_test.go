package shell

import (
	"fmt"
	"strings"
	"testing"
)

// line is a unit in one line: how it was reached, what it is, and what is special about it.
func line(u Unit) string {
	var b strings.Builder
	if len(u.Via) > 0 {
		b.WriteString("[" + strings.Join(u.Via, ", ") + "] ")
	}
	if u.Kind != Command {
		b.WriteString(u.Kind.String() + " ")
	}
	var words []string
	for _, w := range u.Argv {
		words = append(words, show(w))
	}
	switch u.Kind {
	case Write, ReadFile:
		words = append(words, show(u.Path))
	case Assign:
		words = append(words, u.Name+"="+show(u.Value))
	}
	b.WriteString(strings.Join(words, " "))
	if u.Stdin != Inherit {
		b.WriteString(" <" + u.Stdin.String())
	}
	if u.Stdout != Inherit {
		b.WriteString(" >" + u.Stdout.String())
	}
	if !u.DirKnown {
		b.WriteString(" @?")
	} else if u.Dir != "/p" {
		b.WriteString(" @" + u.Dir)
	}
	if u.DenyOnly {
		b.WriteString(" (deny)")
	}
	return b.String()
}

// show is a word: quoted if it has blanks, with $ if it is not static, * if it may be several, - if
// it may be an option.
func show(w Word) string {
	s := w.Text
	if s == "" || strings.ContainsAny(s, " \n") {
		s = fmt.Sprintf("%q", s)
	}
	if w.Static {
		return s
	}
	mark := "$"
	if w.Glob {
		mark += "*"
	}
	if w.MaybeFlag {
		mark += "-"
	}
	return mark + "(" + s + ")"
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"a && b || c; d & e", []string{"a", "b", "c", "d", "e"}},
		{"a | b |& c", []string{"a >pipe", "b <pipe >pipe", "c <pipe"}},
		{"{ a; b; } > f", []string{"write f", "a >file", "b >file"}},
		{"(a; ! b) < f", []string{"read f", "a <file", "b <file"}},
		{"if a; then b; elif c; then d; else e; fi", []string{"a", "b", "c", "d", "e"}},
		{"while a; do b; done | c", []string{"a >pipe", "b >pipe", "c <pipe"}},
		{"for x in $(a); do b \"$x\"; done", []string{"[$()] a >pipe", "b $-($x)"}},
		{"case $(a) in x) b;; *) c;; esac", []string{"[$()] a >pipe", "b", "c"}},
		{"a $(b `c`) <(d) >(e)", []string{"[$(), $()] c >pipe", "[$()] b $*-(`c`) >pipe", "[<()] d >pipe", "[>()] e <pipe", "a $*-(\"$(b `c`)\") $(<(d)) $(>(e))"}},
		{"time a -l", []string{"[time] a -l"}},
		{"[[ -f $(a) ]] && b", []string{"[$()] a >pipe", "[[ -f $*-($(a))", "b"}},
		{"a >x 2>>y </dev/null 3>&1", []string{"write x", "write y", "a <devnull >file"}},
		{"a >/dev/null 2>&1", []string{"a >devnull"}}, {"a 2>&1 >&2", []string{"a >fd"}},
		{"a <<'E'\n$(b)\nE", []string{"a <heredoc"}}, {"a <<< $(b)", []string{"[$()] b >pipe", "a <heredoc"}},
		{"LANG=C TZ=$(a) b", []string{"assign LANG=C", "[$()] a >pipe", "assign TZ=$*-($(a))", "b"}},
		{"export LANG=C", []string{"assign LANG=C"}},
		// Words.
		{`a 'b c' "d\"e" f\ g ~/x "~/x" a~b`, []string{`a "b c" d"e "f g" /home/u/x ~/x a~b`}},
		{`a *.go b* -x* [ab] $x "$x" "$@" -$x ~u {a,b} x{a,b} {a} $'\x41\n' --o=$x "a$x" $?`, []string{`a $*-(*.go) $*(b*) $*-(-x*) $*-([ab]) $*-($x) $-($x) $*-($@) $*-(-$x) $(~u) a b xa xb {a} "A\n" $*-(--o=$x) $(a$x) $($?)`}},
		// Braces and $'…' are known before anything runs.
		{`a {b,c}{1..2} {-x,"d e"} ~/{f,g} *.{h,i} {$x,j} $'-\x41' {k..m} {n,{o,p}}`, []string{`a b1 b2 c1 c2 -x "d e" /home/u/f /home/u/g $*-(*.h) $*-(*.i) $*-($x) j -A k l m n o p`}},
		{`a {b,c {b} {b}{c,d} {1..300} {01..02} {a..e..2} {b,c}$(d) {,} $'\u00e9' $"b"`, []string{`[$()] d >pipe`, `a $*-({b,c) {b} $*-({b}{c,d}) $*-({1..300}) $*-({01..02}) $*-({a..e..2}) $*-({b,c}$(d)) $*-({,}) $-(é) $-(b)`}},
		{`find . {-exec,b,c,\;}`, []string{"[find -exec] b c", "find ."}},
		// Programs that start others.
		{"timeout -k 1 5 nice -n 3 env LANG=C nohup stdbuf -oL a -l", []string{"[timeout, nice, env] assign LANG=C", "[timeout, nice, env, nohup, stdbuf] a -l"}},
		{"command -p a; builtin b; setsid -w c; ionice -c2 d; chrt -b 0 e; unbuffer f; noglob g", []string{"[command] a", "[builtin] b", "[setsid] c", "[ionice] d", "[chrt] e", "[unbuffer] f", "[noglob] g"}},
		{"command -v a", []string{"command -v a"}},
		{"set -euo pipefail; a", []string{"set -euo pipefail", "a"}}, {"set -Eeu -o errexit +o pipefail +e\na", []string{"set -Eeu -o errexit +o pipefail +e", "a"}},
		{"timeout --weird 5 a b", []string{"[timeout] 5 a b (deny)", "[timeout] a b (deny)", "[timeout] b (deny)", "timeout --weird 5 a b"}},
		{"sudo -u x a b", []string{"[sudo] x a b (deny)", "[sudo] a b (deny)", "[sudo] b (deny)", "sudo -u x a b"}},
		{"npx a b", []string{"[npx] a b (deny)", "[npx] b (deny)", "npx a b"}},
		{"ssh h 'a b; c'", []string{`[ssh] h "a b; c" (deny)`, "[ssh] a b (deny)", "[ssh] c (deny)", `[ssh] "a b; c" (deny)`, `ssh h "a b; c"`}},
		{"docker exec x a", []string{"[docker] exec x a (deny)", "[docker] x a (deny)", "[docker] a (deny)", "docker exec x a"}},
		{"docker ps", []string{"docker ps"}},
		{"bash -c 'a; b' > f", []string{"write f", "[bash -c] a >file", "[bash -c] b >file"}},
		{"bash -c \"sh -c 'a b'\"", []string{"[bash -c, sh -c] a b"}},
		{"find x y -name z -exec a {} \\; -delete -fprint f", []string{"[find -exec] a $({})", "[find -delete] write x", "[find -delete] write y", "[find -fprint] write f", "find x y -name z -delete -fprint f"}},
		{"find . -execdir a {} + -ok b \\;", []string{"[find -execdir] a $*-({}) @?", "[find -ok] b", "find ."}},
		{"a | xargs -0 -n1 b -l", []string{"a >pipe", "[xargs] b -l $*-(…) <devnull"}},
		{"xargs -I{} a {} x{}", []string{"[xargs] a $-({}) $(x{}) <devnull"}}, {"xargs", []string{"[xargs] echo $*-(…) <devnull"}},
		{"git -C sub --no-pager log", []string{"git log @/p/sub"}}, {"git -c a=b -C sub push", []string{"git -c a=b -C sub push"}},
		// Directories.
		{"cd sub && a; b", []string{"cd sub", "a @/p/sub", "b @?"}}, {"cd sub || exit 1; a", []string{"cd sub", "exit 1 @?", "a @/p/sub"}}, {"cd /p; a", []string{"cd /p", "a"}}, {"(cd x && a); b", []string{"cd x", "a @/p/x", "b"}},
		{"cd $x && a", []string{"cd $*-($x)", "a @?"}}, {"cd .. && cd x && a", []string{"cd ..", "cd x @/", "a @/x"}}, {"cd && a", []string{"cd", "a @/home/u"}}, {"cd - && a", []string{"cd -", "a @?"}}, {"if a; then cd x; fi; b", []string{"a @?", "cd x @?", "b @?"}},
		{"while a; do cd x; done; b", []string{"a @?", "cd x @?", "b @?"}}, {"cd x & a", []string{"cd x", "a"}}, {"timeout 5 a && cd x && b", []string{"[timeout] a", "cd x", "b @/p/x"}},
		// What could not be read is guessed at.
		{"a (", []string{"[unread] a (deny)"}},
		{"f() { a; }", []string{"a (deny)"}},
	} {
		t.Run(fmt.Sprintf("%.60s", c.text), func(t *testing.T) {
			s := Read(c.text, here)
			var got []string
			for _, u := range s.Units {
				got = append(got, line(u))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%q:\ngot  %q\nwant %q\ndoubts %v", c.text, got, c.want, s.Doubts)
			}
		})
	}
}

// TestProgramNames: a rule that allows git means the git of the system, one that denies it any.
func TestProgramNames(t *testing.T) {
	for _, row := range []struct{ in, want string }{{"git x", "git git"}, {"/usr/bin/git x", "git git"}, {"./git x", " git"}, {"/tmp/git x", " git"}, {"/usr/bin/../../tmp/git x", " git"}, {"bin/git x", " git"}, {`g\it x`, "git git"}} {
		t.Run(row.in, func(t *testing.T) {
			u := Read(row.in, here).Units[0]
			if got := u.Program + " " + u.Base; got != row.want {
				t.Errorf("%s: %q, want %q", row.in, got, row.want)
			}
		})
	}
}

// TestGuesses: rules that deny see what a script with doubts may run.
func TestGuesses(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"git status # note\\\nrm -rf ~", "rm"}, {"echo hi \\\r\nrm -rf ~", "rm"}, {"echo a\rrm b", "rm"}, {"eval rm x", "rm"}, {"eval 'rm x'", "rm"}, {"exec rm x", "rm"}, {"trap 'rm x' EXIT", "rm"}, {"f() { rm x; }", "rm"}, {"bash <<'E'\nrm x\nE", "rm"},
		{"sudo timeout 5 rm x", "rm"}, {"sudo bash -c 'ls; rm x'", "rm"}, {"bash -c \"rm $x\"", "rm"}, {"su -c 'rm x'", "rm"}, {"watch 'rm x'", "rm"}, {"env -S 'rm x'", "rm"}, {"$SUDO rm x", "rm"}, {"/tmp/sudo rm x", "rm"}, {"rm (", "rm"}, {"/tmp/rm x", "rm"},
		{strings.Repeat("a;", 90) + "rm x;" + strings.Repeat("b ", maxChars), "rm"}, {"coproc rm x", "rm"}, {"timeout -x 5 rm x", "rm"}, {"flock f -c 'rm x'", "rm"},
	} {
		t.Run(fmt.Sprintf("%.60s", row.in), func(t *testing.T) {
			found := false
			for _, u := range Read(row.in, here).Units {
				found = found || u.Base == row.want
			}
			if !found {
				t.Errorf("%.60q: %s is not seen", row.in, row.want)
			}
		})
	}
	seen := false
	for _, u := range Read("find . -name f >&--delete", here).Units {
		for _, w := range u.Argv {
			seen = seen || u.Base == "find" && w.Text == "-delete"
		}
	}
	if !seen {
		t.Error("the -delete that bash takes out of >&--delete is not seen")
	}
}
