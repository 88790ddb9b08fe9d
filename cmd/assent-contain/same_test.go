//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// forms are what agents run to read, in the shapes that rules ask about most.
var forms = []string{
	`cd sub; ls`, "cd sub\ngrep -n needle f.txt", `cd sub 2>/dev/null; grep needle f.txt`, `cd sub && grep needle f.txt; echo done`, `cd sub && ls a.txt; ls f.txt`,
	`cd sub; cat f.txt`, "cd sub\nsed -n '1,20p' f.txt", `cd sub; pwd`,
	`wc -l {P}/src/*.go`, `grep -n func {P}/src/*.go`, `cat {P}/src/*.go`,
	`grep -rn needle --exclude-dir=.git . | sort`, `find . -name '*.go' | grep -v .git | sort`, `ls -a .claude/`, `ls .claude/..`,
	`cd sub && git log`, `git -C {P} status`, `git -C {P}/sub show HEAD`,
	`for f in src/a.go src/b.go; do head -5 $f; done`, `for f in src/*.go; do wc -l "$f"; done`, `f=sub/a.txt; wc -l "$f"`, "F=data.jsonl\njq -r .type \"$F\" | sort | uniq -c",
	`find . -name '*.go' | sort | xargs grep -l func`, `git ls-files | xargs grep -n needle`, `grep -rl func src | sort | xargs cat`,
	`ls nothing; echo "exit: $?"`, `echo "$(date -u -d @0)"; echo "a $(git rev-parse HEAD)"`, `echo $HOME $PWD $SHELL`,
	`echo ===`, `ls src/*.{go,ts}`, `cat sub/a.{txt,md}`, `git --help | head -5`, `bash --version; git --version`,
	`sed -e 's/a/b/' sub/a.txt`, `sed -n -e 1p sub/a.txt`, `awk '$1 > 5' numbers`, `diff <(sort numbers) <(sort -n numbers)`, `git diff $(git rev-list --max-parents=0 HEAD) HEAD`,
	`[[ -f numbers ]] && echo yes`, `while read l; do echo "<$l>"; done < numbers`,
	// And what else is usual.
	`git status --short; git log --oneline -5; git show --stat HEAD; git blame src/a.go; git branch -a; git diff HEAD~1`,
	`ls -la --time-style=+ sub | awk '{print $1, $5, $NF}'; stat -c '%n %s %A' src/a.go; du -b numbers; file src/a.go`,
	`cat <<'X' | sort | uniq -c | sort -rn | head
b
a
b
X
`, `sort -S 1M numbers | tail -2; cut -c1 numbers; tr a-z A-Z < sub/a.txt; od -c sub/a.txt | head -2; md5sum numbers; nproc; id -u; whoami; uname -s`,
	`cat missing`, `exit 7`, `kill -TERM $$`, `false | true; echo ${PIPESTATUS[@]}`, `nosuchprogram`, `./numbers`, `echo out; echo err >&2; echo again > /dev/stderr; printf x | tee /dev/stderr`,
	`timeout 0.1 sleep 9; echo $?`, `(sleep 0.05; echo late) & wait; echo all`, `mapfile -t a < numbers; echo ${#a[@]}`, `set -o pipefail; yes | head -1`, `seq 100000 | sha256sum`,
	`perl -ne 'print if /needle/' sub/f.txt`, `/usr/bin/python3 -c 'print(sum(int(l) for l in open("numbers")))'`, `node -e 'console.log(require("fs").readFileSync("numbers","utf8").length)'`,
	`/usr/bin/python3 -c 'import subprocess; print(subprocess.run(["wc","-l","numbers"],capture_output=True).stdout)'`, `node -e 'console.log(require("child_process").execSync("wc -l numbers")+"")'`,
	`rg --sort path -n needle`, `fdfind go$`, `tree -a sub`,
}

var denied = regexp.MustCompile(`(?m)^.*\.(?:env|npmrc): Permission denied\n|assent: it ran contained, and could not read these, which may hold secrets: \.env, \.npmrc\n`)

// TestSameAsPlain: the bytes and the status of what only reads are those of a plain run.
func TestSameAsPlain(t *testing.T) {
	t.Parallel()
	need(t)
	w := newWorld(t)
	p := "work/project/"
	w.write(t, p+"src/a.go", "package a\n\nfunc A() {}\n")
	w.write(t, p+"src/b.go", "package a\n\nfunc B() {}\n")
	w.write(t, p+"src/c.ts", "export {}\n")
	w.write(t, p+"sub/f.txt", "one\nneedle\nthree\n")
	w.write(t, p+"sub/a.txt", "alpha\nbeta\n")
	w.write(t, p+"sub/a.md", "# a\n")
	w.write(t, p+"numbers", "3\n11\n7\n2\n")
	w.write(t, p+"data.jsonl", "{\"type\":\"a\"}\n{\"type\":\"b\"}\n{\"type\":\"a\"}\n")
	w.write(t, p+".claude/notes.md", "x\n")
	w.git(t, "init", "-q")
	w.git(t, "add", ".")
	w.git(t, "commit", "-qm", "one")
	w.write(t, p+"src/a.go", "package a\n\n// needle\nfunc A() {}\n")
	w.git(t, "commit", "-qam", "two")
	w.write(t, p+"numbers", "3\n11\n7\n2\n9\n")
	for _, secret := range []bool{false, true} {
		if secret { // which makes rules for every file
			w.write(t, p+".env", "KEY=x\n")
			w.write(t, p+"sub/.npmrc", "x\n")
			w.write(t, p+".gitignore", ".env\n.npmrc\n")
			w.git(t, "add", ".gitignore")
			w.git(t, "commit", "-qm", "three")
		}
		ran := 0
		for i, form := range forms {
			form = strings.ReplaceAll(form, "{P}", w.project)
			first, _, _ := strings.Cut(form, " ")
			if strings.Contains("jq node rg fdfind tree /usr/bin/python3 perl", first) && !has(filepath.Base(first)) || strings.Contains(form, "jq ") && !has("jq") || strings.Contains(form, "file ") && !has("file") {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("secrets=%v/%02d", secret, i), func(t *testing.T) {
				want, got := w.plain(t, form), w.contained(t, form)
				if want.status < 0 {
					want.status = 128 + 15 // ended by the signal that it sent itself
				}
				if secret { // of which it is said that they cannot be read
					got.errs = denied.ReplaceAllString(got.errs, "")
				}
				if want != got {
					t.Errorf("%s\nplain:     %+v\ncontained: %+v", form, want, got)
				}
			})
		}
		if ran < 50 {
			t.Errorf("only %d of %d forms could be run here", ran, len(forms))
		}
	}
}
