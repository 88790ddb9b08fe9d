package shell

import (
	"fmt"
	"strings"
	"testing"
)

var here = Options{Dir: "/p", Home: "/home/u", Project: "/p"}

func codes(s Script) string {
	var out []string
	for _, d := range s.Doubts {
		out = append(out, d.Code)
	}
	return strings.Join(out, " ")
}

// TestDoubts has a case for each thing that makes reading uncertain.
func TestDoubts(t *testing.T) {
	for _, c := range []struct{ code, text string }{
		// What the parser reads otherwise than bash.
		{DoubtComment, "git status # note\\\nrm -rf ~"},
		{DoubtComment, "# note \\\nrm -rf ~"},
		{DoubtCharacter, "echo hi \\\r\nrm -rf ~"},
		{DoubtRedirect, "find . -name f >&--delete"},
		{DoubtRedirect, "find . -name f <&--delete"},
		{DoubtCharacter, "echo a\rrm b"},
		{DoubtCharacter, "ls\x00 -l"},
		{DoubtHeredoc, "cat <<'E'#\nx\nE"},
		{DoubtHeredoc, "echo \"$(cat <<'EOF'\nx\nEOF ; rm -rf ~ )\nEOF\n)\""},
		{DoubtHeredoc, "cat <<-EOF\n$$\tEOF\nrm x\nEOF"},
		{DoubtRedirect, "echo <<<2>1 x"},
		{DoubtRedirect, "echo >4>&1 x"},
		{DoubtComment, "echo $(ls $((1))# note\n)"},
		{DoubtProgram, "else rm x"},
		{DoubtExpansion, "echo ${x##>(*/}"},
		{DoubtExpansion, `echo "${x:-'$(rm y)'}"`},
		{DoubtExpansion, "echo `echo '`rm x`'`"},
		{DoubtSyntax, "time -p & ls"},
		{DoubtHeredoc, "echo \"$(cat <<E\nx\nE\necho a; rm b)\""},
		{DoubtHeredoc, "echo $(cat <<E | sort\nx\nE\n)"},
		{DoubtHeredoc, "cat <(cat <<E\nx\nE\nls)"},
		{DoubtSyntax, "ls |\n\ntime -p rm x"},
		{DoubtRedirect, ">|a &>>LANG=C; ls"},
		{DoubtRedirect, ">&- &>>a[ x; ls ]"},
		{DoubtSyntax, "[[ $x =~ ]] && rm ]]"},
		{DoubtSyntax, "{ { a; } 2>x } 2>null"},
		// Words that a builtin evaluates.
		{DoubtBuiltin, "test -t 'path[$(rm x)]'"}, {DoubtBuiltin, "[ -t 'path[$(rm x)]' ]"}, {DoubtBuiltin, "test ! -t 'path[$(rm x)]'"}, {DoubtBuiltin, "[ x -a -t PATH ]"},
		{DoubtBuiltin, `test -t "$n"`}, {DoubtBuiltin, "test -t 'PATH=1'"}, {DoubtArithmetic, "[[ -t 'path[$(rm x)]' ]]"}, {DoubtArithmetic, "[[ -t $n ]]"},
		{DoubtBuiltin, "test -n 'path[$(rm x)]'"}, {DoubtBuiltin, "test 'a[`rm x`]' -eq 1"}, {DoubtBuiltin, "printf %n 'a[$(rm x)]'"}, {DoubtBuiltin, `printf "$f" 'a[$(rm x)]'`},
		{DoubtBuiltin, "printf -- %5hn PATH"}, {DoubtBuiltin, "wait -p 'a[$(rm x)]'"}, {DoubtBuiltin, "[[ -v 'a[$(rm x)]' ]]"}, {DoubtBuiltin, "[[ -R x ]]"}, {DoubtBuiltin, "printf -v 'a[$(rm x)]' y"},
		// Characters.
		{DoubtCharacter, "ls \x1b[1m"}, {DoubtCharacter, "ls \x7f"}, {DoubtCharacter, "ls \u0085"}, {DoubtCharacter, "ls \u2028"}, {DoubtCharacter, "ls \u2029"},
		{DoubtCharacter, "ls \u202e"}, {DoubtCharacter, "ls \u2066"}, {DoubtCharacter, "ls \u200b"}, {DoubtCharacter, "ls \ufeff"}, {DoubtCharacter, "ls \u00a0"}, {DoubtCharacter, "ls \u3000"},
		{DoubtCharacter, "ls \xff"}, {DoubtCharacter, "ls \xe0\xa5"}, {DoubtCharacter, "ls \U000e0041"}, {DoubtCharacter, "ls \u00ad"}, {DoubtCharacter, "ls \u115f"}, {DoubtCharacter, "ls \u3164"},
		// Bounds.
		{DoubtLong, "echo " + strings.Repeat("a", maxChars)},
		{DoubtLong, strings.Repeat("a", maxBytes+1)},
		{DoubtNesting, strings.Repeat("(", 70) + "ls" + strings.Repeat(")", 70)},
		{DoubtNesting, strings.Repeat("$(", 70) + "ls" + strings.Repeat(")", 70)},
		{DoubtNesting, strings.Repeat("{ ", 70) + "ls" + strings.Repeat("; }", 70)},
		{DoubtUnit, strings.Repeat("a;", maxUnits+1)}, {DoubtLong, strings.Repeat("a;", maxChars)},
		{DoubtBackslash, `ls \`}, {DoubtBackslash, "ls \\\n"}, {DoubtBackslash, "l\\\ns"}, {DoubtBackslash, "ls x\\\n -l"},
		// Syntax.
		{DoubtSyntax, ""}, {DoubtSyntax, " \n"}, {DoubtSyntax, "ls ("}, {DoubtSyntax, "echo 'x"}, {DoubtSyntax, "if true"}, {DoubtSyntax, "ls &| cat"}, {DoubtSyntax, "select x in a; do ls; done"},
		{DoubtSyntax, "cat <<EOF"}, {DoubtHeredoc, "cat <<EOF\nEOF"},
		// The program.
		{DoubtProgram, "$x a"}, {DoubtProgram, "${x} a"}, {DoubtProgram, "$(echo rm) a"}, {DoubtProgram, "`echo rm` a"}, {DoubtProgram, "r* a"}, {DoubtProgram, "/bin/r? a"}, {DoubtProgram, "/bin/[r]m a"},
		{DoubtProgram, "{rm,a} b"}, {DoubtProgram, "~/bin/x"}, {DoubtProgram, "$'rm' a"}, {DoubtProgram, `$"rm" a`}, {DoubtProgram, `"$x"m a`}, {DoubtProgram, "'' a"}, {DoubtProgram, "<(ls) a"}, {DoubtProgram, "timeout 5 $x"},
		{DoubtProgram, "find . -exec {} \\;"}, {DoubtProgram, "xargs -I@ @"},
		// Expansions.
		{DoubtExpansion, "echo ${x@P}"}, {DoubtExpansion, "echo ${x@Q}"}, {DoubtExpansion, "echo ${!x}"}, {DoubtExpansion, "echo ${!x*}"}, {DoubtExpansion, "echo ${x:=y}"}, {DoubtExpansion, "echo ${x=y}"},
		{DoubtExpansion, "echo ${x?y}"}, {DoubtExpansion, "echo ${x[$(rm y)]}"}, {DoubtExpansion, "echo ${x[y]}"}, {DoubtExpansion, "echo \"${x:-`rm y`}\""},
		{DoubtArithmetic, "echo $((x))"}, {DoubtArithmetic, "echo $((x[1]))"}, {DoubtArithmetic, "echo $((x[$(rm y)]))"}, {DoubtArithmetic, "echo $(($(rm y)))"}, {DoubtArithmetic, "echo $((1+$x))"}, {DoubtArithmetic, "echo ${x:y}"},
		{DoubtArithmetic, "echo $[1]"}, {DoubtArithmetic, "((x=1))"}, {DoubtArithmetic, "((1))"}, {DoubtArithmetic, "for ((i=0;i<3;i++)); do ls; done"}, {DoubtArithmetic, "let x=1"}, {DoubtArithmetic, "echo $((x=1))"},
		{DoubtSyntax, "echo $((ls); ls)"}, {DoubtArithmetic, "[[ $x -eq 1 ]]"}, {DoubtArithmetic, "[[ 1 -lt x ]]"},
		{DoubtBuiltin, "[[ -v a[$(rm x)] ]]"}, {DoubtBuiltin, "[[ -R x ]]"}, {DoubtBuiltin, "test -v x"}, {DoubtBuiltin, "[ -v x ]"}, {DoubtBuiltin, "[ $x ]"},
		{DoubtGlob, "ls @(a|b)"}, {DoubtGlob, "ls !(a)"}, {DoubtGlob, "[[ a == +(a) ]]"},
		// Definitions and builtins.
		{DoubtFunction, "f() { ls; }"}, {DoubtFunction, "function f { ls; }"}, {DoubtFunction, "git() { rm x; }; git status"},
		{DoubtBuiltin, "coproc ls"}, {DoubtBuiltin, "alias ls=rm"}, {DoubtBuiltin, "unalias ls"}, {DoubtBuiltin, "eval ls"}, {DoubtBuiltin, "source x"}, {DoubtBuiltin, ". x"}, {DoubtBuiltin, "exec ls"}, {DoubtBuiltin, "trap ls EXIT"},
		{DoubtBuiltin, "set -x"}, {DoubtBuiltin, "set -ex"}, {DoubtBuiltin, "set"}, {DoubtBuiltin, "set -o"}, {DoubtBuiltin, "set -- -e"}, {DoubtBuiltin, "set -e x"}, {DoubtBuiltin, "set -e $x"}, {DoubtBuiltin, "set -euo xtrace"}, {DoubtBuiltin, "set -oe pipefail"}, {DoubtBuiltin, "set -euo"}, {DoubtBuiltin, "set -f"}, {DoubtBuiltin, "set -a"}, {DoubtBuiltin, "set -k"}, {DoubtBuiltin, "set -o errexit -o xtrace"}, {DoubtBuiltin, "set -"}, {DoubtBuiltin, "/x/set -e"},
		{DoubtBuiltin, "shopt -s extglob"}, {DoubtBuiltin, "enable -n ls"}, {DoubtBuiltin, "hash -p /x ls"}, {DoubtBuiltin, "history"}, {DoubtBuiltin, "fc -s"}, {DoubtBuiltin, "bind -x x"},
		{DoubtBuiltin, "complete -C x y"}, {DoubtBuiltin, "mapfile -C x"}, {DoubtBuiltin, "readarray x"}, {DoubtBuiltin, "printf -v x y"}, {DoubtBuiltin, "printf -vx y"}, {DoubtBuiltin, "printf $x y"}, {DoubtBuiltin, "unset x"},
		{DoubtBuiltin, "read PATH"}, {DoubtBuiltin, "read -r"}, {DoubtBuiltin, "read 'a[$(rm x)]'"}, {DoubtBuiltin, "declare x=1"}, {DoubtBuiltin, "readonly x=1"}, {DoubtBuiltin, "local x"}, {DoubtBuiltin, "typeset x"},
		{DoubtBuiltin, "command eval ls"}, {DoubtBuiltin, "builtin eval ls"}, {DoubtBuiltin, `\eval ls`}, {DoubtBuiltin, "'eval' ls"}, {DoubtBuiltin, "export"},
		// Assignments.
		{DoubtAssign, "PATH=/x ls"}, {DoubtAssign, "LD_PRELOAD=x ls"}, {DoubtAssign, "DYLD_INSERT_LIBRARIES=x ls"}, {DoubtAssign, "BASH_ENV=x ls"}, {DoubtAssign, "ENV=x ls"}, {DoubtAssign, "IFS=x ls"}, {DoubtAssign, "PS4=x ls"},
		{DoubtAssign, "PROMPT_COMMAND=x"}, {DoubtAssign, "GIT_DIR=x git status"}, {DoubtAssign, "PAGER=x git log"}, {DoubtAssign, "GIT_PAGER=x git log"}, {DoubtAssign, "EDITOR=x ls"}, {DoubtAssign, "NODE_OPTIONS=x node"},
		{DoubtAssign, "PYTHONPATH=x ls"}, {DoubtAssign, "PERL5OPT=x ls"}, {DoubtAssign, "RUBYOPT=x ls"}, {DoubtAssign, "HTTPS_PROXY=x curl"}, {DoubtAssign, "X_Y=1"}, {DoubtAssign, "LANG+=x ls"}, {DoubtAssign, "LANG=(a b)"}, {DoubtAssign, "LANG[0]=a"},
		{DoubtAssign, "export PATH=x"}, {DoubtAssign, "env PATH=x ls"}, {DoubtAssign, `env "PATH=x" ls`}, {DoubtAssign, "for PATH in x; do ls; done"}, {DoubtAssign, "for path in x; do ls; done"}, {DoubtAssign, "for http_proxy in x; do ls; done"}, {DoubtAssign, "export -n LANG"},
		// Redirections.
		{DoubtRedirect, "cat < /dev/tcp/h/1"}, {DoubtRedirect, "echo > /dev/udp/h/1"}, {DoubtRedirect, "cat <> x"}, {DoubtRedirect, "ls {fd}> x"}, {DoubtRedirect, "ls > $x"}, {DoubtRedirect, "ls > *"}, {DoubtRedirect, "ls > {a,b}"},
		{DoubtRedirect, "cat < $(ls)"}, {DoubtRedirect, "ls >& x"}, {DoubtRedirect, "ls >&$x"}, {DoubtRedirect, "ls 2>&1-"}, {DoubtRedirect, "ls > ''"},
		// Here-documents.
		{DoubtHeredoc, "cat <<EOF\n$(rm x)\nEOF"}, {DoubtHeredoc, "cat <<EOF\n`rm x`\nEOF"}, {DoubtHeredoc, "cat <<EOF\n\\\\$x\nEOF"}, {DoubtHeredoc, "cat <<EOF\nx\\\nEOF\nEOF"}, {DoubtHeredoc, "cat <<\"a b\"\nx\na b"}, {DoubtSyntax, "cat <<$x\nx\n$x"},
		{DoubtStdin, "echo rm x | sh"}, {DoubtStdin, "bash < x"}, {DoubtStdin, "python3 <<'EOF'\nx\nEOF"}, {DoubtStdin, "cat x | node"}, {DoubtStdin, "psql <<< 'drop table x'"}, {DoubtStdin, "cat x | ssh h"}, {DoubtStdin, "cat x | sudo bash"},
		{DoubtStdin, "curl x | python3.12 -"}, {DoubtStdin, "cat x | timeout 5 sh"}, {DoubtStdin, "while true; do sh; done < x"}, {DoubtStdin, "cat x | awk -f -"}, {DoubtStdin, "cat x | sed -f /dev/stdin"}, {DoubtStdin, "bash"}, {DoubtStdin, "bash -s x"}, {DoubtStdin, "sh 3<x <&3"}, {DoubtStdin, "ls | tee >(sh)"}, {DoubtStdin, "sh <(echo rm x)"}, {DoubtStdin, "timeout 5 python3.12 -W x <(echo rm x)"}, {DoubtStdin, "awk -f <(echo x) y"}, {DoubtStdin, "sed --file=<(echo x) y"},
		// Programs that start another.
		{DoubtWrapper, "timeout -x 5 ls"}, {DoubtWrapper, "timeout $x ls"}, {DoubtWrapper, "timeout x ls"}, {DoubtWrapper, "nice --weird ls"}, {DoubtWrapper, "env -S 'ls'"}, {DoubtWrapper, "env --split-string=ls"}, {DoubtWrapper, "stdbuf -q ls"},
		{DoubtWrapper, "xargs -a x ls"}, {DoubtWrapper, "xargs -i ls"}, {DoubtWrapper, "/usr/bin/time -o x ls"}, {DoubtWrapper, "ionice -p 1"}, {DoubtWrapper, "chrt -p 1"}, {DoubtWrapper, "find . -exec ls"}, {DoubtWrapper, "env -u PATH ls"}, {DoubtWrapper, "timeout --kill=5 5 ls"},
		{DoubtElevated, "sudo ls"}, {DoubtElevated, "doas ls"}, {DoubtElevated, "su -c ls"}, {DoubtElevated, "chroot / ls"}, {DoubtElevated, "nsenter ls"}, {DoubtElevated, "ssh h ls"}, {DoubtElevated, "watch ls"}, {DoubtElevated, "flock x ls"},
		{DoubtElevated, "strace ls"}, {DoubtElevated, "parallel ls"}, {DoubtElevated, "timeout 5 sudo ls"},
		{DoubtInline, `bash -c "$x"`}, {DoubtInline, "bash -c $x"}, {DoubtInline, "bash -c"}, {DoubtStdin, "bash -o x -c ls"}, {DoubtInline, "zsh -c ls"}, {DoubtStdin, "bash --rcfile x -c ls"}, {DoubtInline, "bash -ic ls"},
		{DoubtInline, "xargs -I{} sh -c 'ls {}'"}, {DoubtInline, "xargs sh -c"}, {DoubtInline, nestedBash(6)},
		// Braces and $'…' in the program's place, or for a shell that may not know them.
		{DoubtProgram, "{ls,-l}"}, {DoubtProgram, "l{s,}"}, {DoubtProgram, "$'ls' x"}, {DoubtExpansion, "sh -c 'ls {a,b}'"}, {DoubtExpansion, `sh -c "ls \$'a'"`},
		// git after cd.
		{DoubtGitMoved, "cd ../sub && git status"}, {DoubtGitMoved, "cd /q; cd x; git status"}, {DoubtGitMoved, "(cd /x; git log)"}, {DoubtGitMoved, "pushd x && git log"}, {DoubtGitMoved, "cd $x && git log"},
		{DoubtGitMoved, "while git log; do cd x; done"}, {DoubtGitMoved, "cd /x && bash -c 'git log'"}, {DoubtGitMoved, "ls | cd x; git log"}, {DoubtGitMoved, "cd ../x && timeout 5 git log"}, {DoubtWrapper, "env -C x git log"}, {DoubtGitMoved, "find . -execdir git log \\;"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.text), func(t *testing.T) {
			s := Read(c.text, here)
			if !strings.Contains(" "+codes(s)+" ", " "+c.code+" ") {
				t.Errorf("%.80q: doubts %q, want %s", c.text, codes(s), c.code)
			}
			for _, d := range s.Doubts {
				if d.Why == "" || d.Start < 0 || d.End > len(c.text) || d.Start > d.End {
					t.Errorf("%.80q: doubt %+v", c.text, d)
				}
			}
		})
	}
}

func nestedBash(n int) string {
	if n == 0 {
		return "ls"
	}
	return "bash -c '" + strings.ReplaceAll(nestedBash(n-1), "'", `'\''`) + "'"
}

// TestNoDoubt has what people and agents write every day, and what looks like a doubt.
func TestNoDoubt(t *testing.T) {
	for _, text := range []string{
		"git status", "ls -la | grep x > out.txt 2>&1", "git commit -m \"$(cat <<'EOF'\nit's a \"test\"\n\n- x (y)\nEOF\n)\"", "cat <<EOF > x\nhi $USER ${x}\nEOF", "cd /p && git status", "cd /p/sub && npm test", "cd /p; git log",
		"for f in *.go; do wc -l \"$f\"; done", "if [ -f x ]; then cat x; else echo no; fi", "while read -r line; do echo \"$line\"; done < in", "[[ -f x && $a == b* ]] && ls", "[[ $x =~ ^[0-9]+$ ]]", "case $x in a) ls;; esac",
		"timeout -k 5 --signal=KILL 1.5m ls", "env LANG=C NO_COLOR=1 ls", "env -i -u CI ls", "nice -n 5 ls", "nice -10 ls", "nohup ls", "stdbuf -oL ls", "command -v ls", "command -p ls", "builtin echo x", "ionice -c 2 -n 7 ls", "chrt -b 0 ls", "setsid -w ls", "unbuffer ls",
		"/usr/bin/time -p ls", "time ls", "bash -c 'ls; pwd'", "sh -ec 'ls'", "bash script.sh", "bash --version", "find . -name '*.go' -exec grep x {} +", "find . | xargs -0 -n 1 grep x", "xargs -I{} cp {} /tmp",
		"NODE_ENV=test CI=1 RUST_BACKTRACE=1 TZ=UTC LC_ALL=C FORCE_COLOR=1 npm test", "export LANG=C", "ls >/dev/null 2>&1", "ls 1>&2", "ls &> x", "cat < x", "cat <<< x", "echo $((1+2*3))", "echo ${x:-y} ${x%.*} ${#x} ${x//a/b} \"$@\" $? $1",
		"ls # comment", "# comment\nls", "ls \\\n  -l", "echo 'a \\' b", "git -C sub log", "git -C /tmp --no-pager diff", "npx tsc", "docker exec c ls", "echo é 日本 🎉", "printf '%s\\n' a", "ls & pwd", "! grep x y", "{ ls; pwd; } 2>&1 | head",
		"echo $(date) `whoami`", "diff <(sort a) <(sort b)", "echo {a,b} {1..3} {} stash@{0} HEAD~1", "cat x | awk 1", "cat x | sed -n 1p", "cat x | grep python", "echo \"multi\nline\"", "/usr/bin/ls", "./x.sh", "cat x | xargs sh y",
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if s := Read(text, here); len(s.Doubts) > 0 {
				t.Errorf("%q: %+v", text, s.Doubts)
			}
		})
	}
}

// TestZsh: what the two shells read differently is doubted only when zsh may be the shell.
func TestZsh(t *testing.T) {
	zsh := here
	zsh.Zsh = true
	for _, text := range []string{
		"ls =ls", "echo $x[y]", "echo \"$x[$y]\"", "[ $a -eq 1 ]", "printf %d $x", "printf '%d' 'a[1]'", "printf %d PATH=3", "printf -- %d PATH++", "printf %d x", "printf '%*s' PATH=3 x", "exit 'a[$(rm x)]'", "(return PATH=3)", "for x in a; do break 'a[$(rm x)]'; done", "ls >!x", "echo [a", "time -p ls", "{ ls }; }",
	} {
		if s := Read(text, zsh); len(s.Doubts) == 0 {
			t.Errorf("%q: no doubt although zsh may read it", text)
		}
	}
	for _, text := range []string{"git status", "exit 1", "printf '%s=%-5s\\n' a=b c", "printf a=b", "printf '%d\\n' 3", "ls -la | grep x > y 2>&1", "for f in a b; do ls \"$f\"; done", "git commit -m \"$(cat <<'EOF'\nx (y)\nEOF\n)\"", "find . -name '*.go' -exec ls {} \\;", "[ -f x ] && cat ~/x", "echo ${x:-y} {a,b} HEAD~1 stash@{0}", "[ 1 -eq 1 ]", "if [[ -n $x ]]; then ls; fi"} {
		if s := Read(text, zsh); len(s.Doubts) > 0 {
			t.Errorf("%q: %+v", text, s.Doubts)
		}
	}
}
