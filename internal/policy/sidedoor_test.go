package policy

import "testing"

// TestOpenRules: a rule that leaves a program's arguments open does not mean what runs another
// program, or writes a file, in a roundabout way.
func TestOpenRules(t *testing.T) {
	expect(t, `allow: ["Bash(git:*)"]`, map[string]Action{
		"git status": Allow, "git -p log": Allow, "git log -c": Allow, "git checkout -b x": Allow, "git submodule update": Allow, "git bisect good": Allow, "git clone x": Allow,
		"git -c core.pager=id log": Ask, `git -c alias.x='!id' x`: Ask, "git -ccore.pager=id log": Ask, "git -p -c a=b log": Ask, "git --namespace x -c a=b log": Ask,
		"git clone -c core.sshCommand=id x": Ask, "git clone -u id x": Ask, "git rebase -x id": Ask, "git rebase -ix id": Ask, "git difftool -x id": Ask, "git grep -Oid x": Ask, "git grep -nOid x": Ask,
		"git fetch ext::sh": Ask, "git remote add x 'ext::sh -c id'": Ask, "git submodule foreach id": Ask, "git bisect run id": Ask, "git hook run x": Ask, "git filter-branch x": Ask,
	})
	expect(t, `allow: ["Bash(git bisect run make:*)", "Bash(git -c color.ui=never log:*)", "Bash(git rebase -x make main)"]`, map[string]Action{
		"git bisect run make test": Allow, "git bisect run id": Ask, "git -c color.ui=never log -1": Allow, "git -c color.ui=always log": Ask, "git rebase -x make main": Allow,
	})
	expect(t, `allow: ["Bash(go test:*)", "Bash(go build:*)"]`, map[string]Action{
		"go test -count=1 -short ./...": Allow, "go test -json -cover ./...": Allow, "go build -ldflags '-s -w -X main.v=1' .": Allow, "go test -mod=mod": Allow,
		"go test -coverprofile=/tmp/x": Ask, "go test --cpuprofile x": Ask, "go build -o x": Ask, "go test -exec id": Ask, "go build -ldflags '-extld=id'": Ask, "go build '-ldflags=-linkmode=external -extldflags=-x'": Ask,
		"go build -toolexec=id": Ask, "go build -compiler gccgo": Ask,
	})
	expect(t, `allow: ["Bash(make:*)"]`, map[string]Action{
		"make test V=1": Allow, "make CFLAGS='-O2 -g'": Allow, "make SHELL=/tmp/x": Ask, "make 'X=$(shell id)'": Ask, "make X:='`id`'": Ask, "make MAKEFLAGS=--eval=x": Ask,
	})
	expect(t, `allow: ["Bash(sed:*)", "Bash(awk:*)"]`, map[string]Action{
		"sed s/a/b/ x": Allow, "sed -n 1,20p x": Allow, "sed -e s/foo/export/ -e '/e/d' x": Allow, "sed 's/a/w/g;s/b/e/' x": Allow, "awk '{print $1}' x": Allow, "awk '$1 > 5' x": Allow,
		"sed 1e x": Ask, "sed '1e id' x": Ask, "sed s/a/b/e x": Ask, "sed 's/.*/id/ge' x": Ask, "sed 's/a/b/w out' x": Ask, "sed 'w out' x": Ask, "sed -n '/x/w out' y": Ask, "sed '$!{w out' x": Ask,
		"awk 'BEGIN{system(\"id\")}'": Ask, "awk '{print | \"sh\"}' x": Ask, "awk '{print > \"f\"}' x": Ask, "sed 's/a/b/;s|x|.git/config y|' x": Ask,
	})
	expect(t, `allow: ["Bash(pytest:*)", "Bash(tar tf *)", "Bash(node scripts/*)", "Bash(cp:*)", "Bash(rsync:*)"]`, map[string]Action{
		"pytest -q tests": Allow, "pytest -o x=y": Ask, "pytest --pdbcls=a:b": Ask, "pytest --basetemp=x": Ask, "pytest --junitxml=x": Ask,
		"tar tf a.tar": Allow, "tar tf ./a:b": Allow, "tar tf host:a": Ask,
		"node scripts/a.js": Allow, "node scripts/b/c.js": Allow, "node scripts/../evil.js": Ask, "node scripts/..": Ask,
		"cp a b": Allow, "cp -r a b": Allow, "cp a .": Allow, "cp -r evil/. .": Ask, "cp -a evil/ ..": Ask, "cp -rT evil /home/user/project": Ask, "rsync -a evil/ .": Ask, "rsync -a a/ b/": Allow,
	})
}
