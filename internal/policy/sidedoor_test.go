package policy

import (
	"testing"

	"assent/internal/hook"
)

// TestOpenRules: a rule that leaves a program's arguments open does not mean what runs another
// program, or writes a file, in a roundabout way.
func TestOpenRules(t *testing.T) {
	expect(t, `allow: ["Bash(git:*)"]`, []row{
		{"git status", hook.ActionAllow}, {"git -p log", hook.ActionAllow}, {"git log -c", hook.ActionAllow}, {"git checkout -b x", hook.ActionAllow}, {"git submodule update", hook.ActionAllow}, {"git bisect good", hook.ActionAllow}, {"git clone x", hook.ActionAllow},
		{"git -c core.pager=id log", hook.ActionAsk}, {`git -c alias.x='!id' x`, hook.ActionAsk}, {"git -ccore.pager=id log", hook.ActionAsk}, {"git -p -c a=b log", hook.ActionAsk}, {"git --namespace x -c a=b log", hook.ActionAsk},
		{"git clone -c core.sshCommand=id x", hook.ActionAsk}, {"git clone -u id x", hook.ActionAsk}, {"git rebase -x id", hook.ActionAsk}, {"git rebase -ix id", hook.ActionAsk}, {"git difftool -x id", hook.ActionAsk}, {"git grep -Oid x", hook.ActionAsk}, {"git grep -nOid x", hook.ActionAsk},
		{"git fetch ext::sh", hook.ActionAsk}, {"git remote add x 'ext::sh -c id'", hook.ActionAsk}, {"git submodule foreach id", hook.ActionAsk}, {"git bisect run id", hook.ActionAsk}, {"git hook run x", hook.ActionAsk}, {"git filter-branch x", hook.ActionAsk},
	})
	expect(t, `allow: ["Bash(git bisect run make:*)", "Bash(git -c color.ui=never log:*)", "Bash(git rebase -x make main)"]`, []row{
		{"git bisect run make test", hook.ActionAllow}, {"git bisect run id", hook.ActionAsk}, {"git -c color.ui=never log -1", hook.ActionAllow}, {"git -c color.ui=always log", hook.ActionAsk}, {"git rebase -x make main", hook.ActionAllow},
	})
	expect(t, `allow: ["Bash(go test:*)", "Bash(go build:*)"]`, []row{
		{"go test -count=1 -short ./...", hook.ActionAllow}, {"go test -json -cover ./...", hook.ActionAllow}, {"go build -ldflags '-s -w -X main.v=1' .", hook.ActionAllow}, {"go test -mod=mod", hook.ActionAllow},
		{"go test -coverprofile=/tmp/x", hook.ActionAsk}, {"go test --cpuprofile x", hook.ActionAsk}, {"go build -o x", hook.ActionAsk}, {"go test -exec id", hook.ActionAsk}, {"go build -ldflags '-extld=id'", hook.ActionAsk}, {"go build '-ldflags=-linkmode=external -extldflags=-x'", hook.ActionAsk},
		{"go build -toolexec=id", hook.ActionAsk}, {"go build -compiler gccgo", hook.ActionAsk},
	})
	expect(t, `allow: ["Bash(make:*)"]`, []row{
		{"make test V=1", hook.ActionAllow}, {"make CFLAGS='-O2 -g'", hook.ActionAllow}, {"make SHELL=/tmp/x", hook.ActionAsk}, {"make 'X=$(shell id)'", hook.ActionAsk}, {"make X:='`id`'", hook.ActionAsk}, {"make MAKEFLAGS=--eval=x", hook.ActionAsk},
	})
	expect(t, `allow: ["Bash(sed:*)", "Bash(awk:*)"]`, []row{
		{"sed s/a/b/ x", hook.ActionAllow}, {"sed -n 1,20p x", hook.ActionAllow}, {"sed -e s/foo/export/ -e '/e/d' x", hook.ActionAllow}, {"sed 's/a/w/g;s/b/e/' x", hook.ActionAllow}, {"awk '{print $1}' x", hook.ActionAllow}, {"awk '$1 > 5' x", hook.ActionAllow},
		{"sed 1e x", hook.ActionAsk}, {"sed '1e id' x", hook.ActionAsk}, {"sed s/a/b/e x", hook.ActionAsk}, {"sed 's/.*/id/ge' x", hook.ActionAsk}, {"sed 's/a/b/w out' x", hook.ActionAsk}, {"sed 'w out' x", hook.ActionAsk}, {"sed -n '/x/w out' y", hook.ActionAsk}, {"sed '$!{w out' x", hook.ActionAsk},
		{"awk 'BEGIN{system(\"id\")}'", hook.ActionAsk}, {"awk '{print | \"sh\"}' x", hook.ActionAsk}, {"awk '{print > \"f\"}' x", hook.ActionAsk}, {"sed 's/a/b/;s|x|.git/config y|' x", hook.ActionAsk},
	})
	expect(t, `allow: ["Bash(pytest:*)", "Bash(tar tf *)", "Bash(node scripts/*)", "Bash(cp:*)", "Bash(rsync:*)"]`, []row{
		{"pytest -q tests", hook.ActionAllow}, {"pytest -o x=y", hook.ActionAsk}, {"pytest --pdbcls=a:b", hook.ActionAsk}, {"pytest --basetemp=x", hook.ActionAsk}, {"pytest --junitxml=x", hook.ActionAsk},
		{"tar tf a.tar", hook.ActionAllow}, {"tar tf ./a:b", hook.ActionAllow}, {"tar tf host:a", hook.ActionAsk},
		{"node scripts/a.js", hook.ActionAllow}, {"node scripts/b/c.js", hook.ActionAllow}, {"node scripts/../evil.js", hook.ActionAsk}, {"node scripts/..", hook.ActionAsk},
		{"cp a b", hook.ActionAllow}, {"cp -r a b", hook.ActionAllow}, {"cp a .", hook.ActionAllow}, {"cp -r evil/. .", hook.ActionAsk}, {"cp -a evil/ ..", hook.ActionAsk}, {"cp -rT evil /home/user/project", hook.ActionAsk}, {"rsync -a evil/ .", hook.ActionAsk}, {"rsync -a a/ b/", hook.ActionAllow},
	})
}

// TestOpenRulesUnknownWords: a word of which nothing at all is known may be a side door, too.
func TestOpenRulesUnknownWords(t *testing.T) {
	var rows []row
	for _, c := range []string{"git log", "git log --oneline", "sqlite3 db", "fd -H", "go test", "date", "terraform plan", "make", "tar tf"} {
		rows = append(rows, row{c + ` $""`, hook.ActionAsk})
		for _, w := range []string{"$f", `"$f"`} {
			rows = append(rows, row{"for f in $(cat x.txt); do " + c + " " + w + "; done", hook.ActionAsk}, row{"f=$(cat x.txt); " + c + " " + w, hook.ActionAsk})
		}
	}
	expect(t, `allow: ["Bash(git log:*)", "Bash(sqlite3:*)", "Bash(fd:*)", "Bash(go test:*)", "Bash(date:*)", "Bash(terraform plan:*)", "Bash(make:*)", "Bash(tar tf:*)", "Bash(cat x.txt)"]`, rows)
}
