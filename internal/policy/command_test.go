package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// expect evaluates commands under a few lines of rules.
func expect(t *testing.T, text string, want map[string]Action) {
	t.Helper()
	s := load(t, "version: 1\n"+text)
	for cmd, action := range want {
		if v := s.Eval(bash(cmd)); v.Action != action {
			t.Errorf("%s\n%s: %s (rule %q: %s), expected %s", text, cmd, v.Action, v.Rule, v.Reason, action)
		}
	}
}

func TestRuleStrings(t *testing.T) {
	expect(t, `allow: ["Bash(npm run test:*)", Bash(git status), "Bash(git log*)", "Bash(git * main)", "Bash(echo 'a b')", "Bash(make a && make b)", "Bash(./gradlew *)"]`, map[string]Action{
		"npm run test": Allow, "npm run test --watch": Allow, "npm run test:unit": Ask, "npm run tests": Ask, "npm": Ask,
		"npm  run\ttest": Allow, `npm "run" te\st`: Allow, "npm run $X": Ask, "npm run test $X": Ask, `npm run test -- "$X"`: Allow, "npm ru* test": Ask,
		"git status": Allow, "git status -s": Ask, "git statusx": Ask, "/usr/bin/git status": Allow, "./git status": Ask, "/tmp/git status": Ask,
		"git log": Allow, "git log -1": Allow, "git logs": Allow, "git lo": Ask,
		"git checkout main": Allow, "git main": Ask, "git checkout -b main": Ask, "git -x main": Ask, "git checkout x main": Ask,
		"echo 'a b'": Allow, "echo a b": Ask, `echo a\ b`: Allow,
		"make a && make b": Allow, "make a": Ask, "make b && make a": Ask, "make a && make b && make c": Ask,
		"./gradlew test": Allow, "sub/../gradlew test": Ask, "cd sub && ./gradlew test": Ask, "gradlew test": Ask,
		"FOO=1 git status": Ask, "NODE_ENV=x git status": Allow, "NODE_ENV=x": Ask, "": Ask, "# x": Ask,
		"git status > /dev/null 2>&1": Allow, "git status > x": Ask, "git status | git status": Allow,
	})
	expect(t, `
allow: ["Bash(git *)", "Bash(rm *)", "Bash(echo *)", "Bash(find *)", "Bash(docker *)"]
deny: ["Bash(git push *)", "Bash(rm -rf *)", "Bash(find * -delete)", "Bash(* --force*)", "Bash(docker rm:*)", "Bash(git commit)", "Bash(dd *)"]`, map[string]Action{
		"git push": Deny, "git push origin": Deny, "git -C /x push": Deny, "git -c a=b push": Deny, "/opt/git/bin/git push": Deny, "git --no-pager push x": Deny,
		"sudo git push": Deny, "echo $(git push)": Deny, "if true; then git push; fi": Deny, "bash -c 'git push'": Deny, "git pull": Allow, "git stash push": Allow,
		"git $X origin": Ask, "git pu$X": Ask, "git log $X": Ask, // it may be --force
		"rm -rf x": Deny, "rm -fr x": Deny, "rm -r -f x": Deny, "rm x -rf": Deny, "rm -rvf x": Deny, "rm -r x": Allow, "rm -f x": Allow, "rm $X x": Ask,
		"docker rm x": Deny, "docker --context a rm x": Deny, "docker ps": Allow, "docker --force x": Deny, "docker x --force-rm": Deny,
		"git commit": Deny, "git commit -m x": Allow, "git commit --amend": Allow, "dd": Deny,
	})
}

// TestUncertain: what comes at run time only may be what a guard means, however it says so.
func TestUncertain(t *testing.T) {
	expect(t, `
allow: ["Bash(x *)", "Bash(y *)", "Bash(z *)"]
rules:
  - {id: re, action: deny, match: {command: {program: x, any_arg: "re:[a-c]+"}}}
  - {id: args, action: deny, match: {command: {program: y, args: [a, ...]}}}
  - {id: sure, action: deny, certain: true, match: {command: {program: z, any_arg: a}}}`, map[string]Action{
		"x abc": Deny, "x d": Allow, "x $V": Ask, "y a": Deny, "y b": Allow, "y $V": Ask, "y -v $V": Ask, "y b $V": Allow, "z a": Deny, "z $V": Allow,
	})
}

// TestSideDoors: an allow that leaves the flags open does not mean those that write or run.
func TestSideDoors(t *testing.T) {
	expect(t, `
allow: ["Bash(git log *)", "Bash(git diff *)", "Bash(sort *)", "Bash(rg *)", "Bash(go test *)", "Bash(npm run test *)", "Bash(tar *)", "Bash(sed -i *)", "Bash(git fetch --upload-pack=x *)"]
rules:
  - {id: any, action: allow, match: {command: {program: fd, flags: any}}}
  - {id: open, action: allow, match: {command: {program: date, args: [...]}}}`, map[string]Action{
		"git log -p": Allow, "git log --output=x": Ask, "git log --outp=x": Ask, "git log --output x": Ask, "git log -- --output=x": Allow, `git log "--output=$X"`: Ask,
		"git diff --ext-diff": Ask, "sort -u x": Allow, "sort -uo x": Ask, "sort -ox x": Ask, "sort --output x": Ask, "rg --pre=x y": Ask, "rg x": Allow,
		"go test ./...": Allow, "go test -exec x ./...": Ask, "go test --exec=x ./...": Ask, "go test -toolexec=x": Ask, "npm run test --prefix /x": Ask, "npm run test -- --prefix": Allow,
		"tar -tf x": Allow, "tar --to-command=x -xf y": Ask, "tar -I x -tf y": Ask, "sed -i s/a/b/ x": Allow, "sed s/a/b/ x": Ask,
		"git fetch --upload-pack=x y": Allow, "git fetch --upload-pack=z y": Ask, "fd x": Allow, "fd -x rm": Ask, "date": Allow, "date -s x": Ask,
	})
}

func TestFlags(t *testing.T) {
	expect(t, `
rules:
  - {id: head, action: allow, match: {command: {program: head, args: [...], flags: {only: [-q, "-n=", "--lines=", "--color[=]", "-#", --quiet, "-i[=]"]}}}}
  - {id: log, action: allow, match: {command: {program: git, args: [log, ...], flags: {only: [-p], before: [--no-replace-objects]}}}}
  - {id: one, action: allow, match: {command: {program: uniq, args: ["*"], flags: {only: [-c]}}}}
  - {id: none, action: allow, match: {command: {program: pwd, args: []}}}
  - {id: go, action: allow, match: {command: {program: go, args: [vet, ...], flags: {only: [-v, "-c=", -e, -x]}}}}
  - {id: any, action: allow, match: {command: {program: wc, flags: any}}}
  - {id: deny, action: deny, match: {command: {program: sudoish, flags: {has: [-f, --force]}}}}
  - {id: sudoish, action: allow, match: {command: {program: sudoish}}}`, map[string]Action{
		"head": Allow, "head x": Allow, "head -q x": Allow, "head -n 5 x": Allow, "head -n5 x": Allow, "head -qn5 x": Allow, "head -qn 5": Allow, "head --lines=5": Allow,
		"head --lines 5 x": Allow, "head -5 x": Allow, "head --color x": Allow, "head --color=always": Allow, "head -i": Allow, "head -ix": Allow,
		"head -- -z": Allow, "head -n -5": Allow, "head -n $X": Ask, `head -n "$X"`: Ask, `head --lines="$X"`: Allow, "head $X": Ask, `head "$X"`: Ask, "head ./$X": Ask, `head "./$X"`: Allow, "head *": Ask, "head ./*": Allow,
		"head -z": Ask, "head -qz": Ask, "head --line=5": Ask, "head --lines": Ask, "head -n": Ask, "head --quiet=x": Ask, "head -n --evil": Ask, "head -q=": Ask, "head x -z": Ask, "head -5z": Ask, "head - x": Allow,
		"git log -p": Allow, "git -p log": Ask, "git log --output=x": Ask, "git --no-replace-objects log": Allow, "git --exec-path=x log": Ask, "git log HEAD -p x": Allow,
		"uniq -c x": Allow, "uniq x -c": Allow, "uniq x y": Ask, "uniq": Ask, "uniq $X": Ask, "pwd": Allow, "pwd -P": Ask, "pwd x": Ask,
		"go vet -v": Allow, "go vet -exec": Ask, "go vet -ex": Ask, "go vet -c x": Allow, "go vet -- x": Ask,
		"wc -l x": Allow, "wc $X": Allow, "wc *": Allow,
		"sudoish -f": Deny, "sudoish -af": Deny, "sudoish --forc": Deny, "sudoish x --force=1": Deny, "sudoish -- -f": Allow, "sudoish x": Allow, "sudoish $X": Ask,
	})
}

// TestProtected: no rule allows what belongs to assent or to the agent's settings.
func TestProtected(t *testing.T) {
	everything := `version: 1
rules:
  - {id: commands, action: allow, match: {command: {program: [cat, cp, rm, grep, rg, ls, sed, tee, git, assent, kill, pkill, head, xargs, ln, mv, cd, echo, claude, find, systemctl, tar]}, cwd: ["**"]}}
  - {id: files, action: allow, match: {file: {op: [read, edit, write], path: ["**"]}}}
`
	s, err := Load([]Source{{Name: "f", Layer: User, Data: []byte(everything)}}, LoadOptions{Protected: []string{"/srv/broker/state", "/run/x/hook.sock"}})
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string]Action{
		"cat x": Allow, "ls .": Allow, "cat src/a.git.go": Allow, "grep -r x .": Allow, "cat .gitignore": Allow, "ls -la /": Allow, "echo x > y": Allow, "rm -rf build": Allow, "find ~ -name x": Allow,
		"git config user.name": Allow, "git config --get x": Allow, "git config --list --show-origin": Allow,
		"cat .claude/settings.json": Ask, "cp x .claude/settings.local.json": Ask, "cp x ~/.claude/settings.json": Ask, "echo x > .claude/settings.json": Ask, "echo x >> .git/hooks/pre-commit": Ask,
		"tee .git/config": Ask, "cat .git//config": Ask, "cat ./.git/../.git/config": Ask, "cat .GIT/config": Ask, "cd .git && cat config": Ask, "cd .claude; tee settings.json": Ask, "rm -rf .git": Ask, "rm -rf .claude": Ask,
		"mv .claude x": Ask, "rm -rf .": Ask, "rm -rf ..": Ask, "rm -rf /home/user/project": Ask, "cat .cl*/settings.json": Ask, "rm -rf .*": Ask, "cat .git/hooks/*": Ask, `cat "$HOME/.claude/settings.json"`: Ask, `cat $X/.claude/settings.json`: Ask,
		"sed -n -i.bak s/a/b/ .mcp.json": Ask, "ln -s ~/.claude/settings.json x": Ask, "cp x --target-directory=.git/hooks": Ask, "cp -t.git/hooks x": Ask, "tee > .git/hooks/x": Ask,
		"cat ~/.claude/.credentials.json": Ask, "cat /proc/self/environ": Ask, "cat /proc/self/root/srv/broker/state/x": Ask, "cat /proc/cpuinfo": Allow,
		"assent pending": Ask, "/opt/assent allow x": Ask, "$(echo assent) allow x": Ask, "pkill assent": Ask, "kill $(pidof assent)": Ask, "systemctl --user stop assent.service": Ask,
		"cat ~/.local/state/assent/owner.token": Ask, "grep -r x ~/.local/state": Ask, "grep -r x ~": Ask, "grep -r x /": Ask, "cd ~ && grep -r x": Ask, "cd ~ && rg x": Ask, "cat ~/.local/state/*/*": Ask, "tar c $HOME": Ask, "grep -r x ~/.*": Ask,
		"find ~ -name x | head": Allow, "find ~ -name '*.token' -exec cat {} +": Ask, "cat $(find ~/.local -name '*.token')": Ask, "find / -name '*.tok*' | xargs cat": Ask, "for f in $(ls ~/.local); do cat $f; done": Ask, "find . -name x -exec cat {} +": Allow,
		"grep -rn x . --include=*.{ts,tsx}": Allow, "echo {1..5}": Allow, "cat .{claude,git}/config": Ask, "cat .{git,x}/config": Ask, "cat .g{h..j}t/config": Ask, "cat {.git/config,x}": Ask,
		"cat /srv/broker/state/owner.token": Ask, "cat /srv/broker/state/x": Ask, "cd /srv/broker/state && cat x": Ask, "cd /srv && cat broker/state/x": Ask, "grep -r x /srv": Ask, "cat /run/x/hook.sock": Ask,
		"git config core.hooksPath x": Ask, "git config --global alias.x y": Ask, "git -C sub config a.b c": Ask, "git config --unset x": Ask, "git config edit": Ask, "claude -p x": Ask, "claude mcp add x": Ask, "claude --version": Allow,
	} {
		if v := s.Eval(bash(cmd)); v.Action != want {
			t.Errorf("%s: %s (%s), expected %s", cmd, v.Action, v.Reason, want)
		}
	}
	for path, want := range map[string]Action{
		"/home/user/project/x": Allow, "x": Allow, ".claude/settings.json": Ask, "/home/user/.claude/settings.json": Ask, "~/.claude.json": Ask, ".claude/hooks/a.sh": Ask, ".git/config": Ask, ".Git/Config": Ask,
		"/srv/broker/state/x": Ask, "~/.local/state/assent/x": Ask, "a\x00b": Ask, "": Ask, "~other/x": Ask, " x": Ask, "a\u202eb": Ask, "/etc/claude-code/managed-settings.json": Ask,
	} {
		for _, tool := range []string{"Read", "Write", "Edit", "MultiEdit"} {
			if v := s.Eval(tool1(tool, "file_path", path)); v.Action != want {
				t.Errorf("%s %q: %s (%s), expected %s", tool, path, v.Action, v.Reason, want)
			}
		}
	}
}

// TestControlFiles: what git and the agent take from their directories what to run may be read by
// rule, where no rule about credentials says otherwise, and never changed.
func TestControlFiles(t *testing.T) {
	s := load(t, `version: 1
rules:
  - {id: commands, action: allow, match: {command: {program: [cat, cp, tee, ln, touch, mv, install, rsync, dd, tar, unzip, mkdir, cd, sed, echo, patch, truncate, chmod, rm]}, cwd: ["**"]}}
  - {id: files, action: allow, match: {file: {op: [read, edit, write], path: ["**"]}}}
`)
	for _, path := range []string{
		".git/commondir", ".git/worktrees/x/commondir", ".git/worktrees/x/gitdir", ".git/modules/a/b/commondir", ".git/modules/a/config", ".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/objects/info/alternates",
		".git/info/attributes", ".git/info/exclude", ".git/info/sparse-checkout", ".git/hooks/x", ".git/config.worktree", ".git/packed-refs", ".git/shallow", ".git/rebase-merge/git-rebase-todo", ".git/sequencer/todo",
		".git/x", "sub/.git/commondir", ".GIT/commondir", ".git/./commondir", "a/../.git/commondir", "/srv/x.git/commondir", "/srv/x.git/worktrees/y/commondir", "~/.gitconfig", "~/.config/git/config", "~/.config/git/attributes", ".git",
		".claude/agents/x.md", ".claude/commands/x.md", ".claude/skills/a/SKILL.md", ".claude/plugins/x", ".claude/settings.json", ".claude/hooks/x", ".claude/launch.json", ".Claude/agents/x.md",
	} {
		for _, tool := range []string{"Edit", "Write", "MultiEdit"} {
			if v := s.Eval(tool1(tool, "file_path", path)); v.Action == Allow {
				t.Errorf("%s %s is allowed", tool, path)
			}
		}
		if v := s.Eval(tool1("NotebookEdit", "notebook_path", path)); v.Action == Allow {
			t.Errorf("NotebookEdit %s is allowed", path)
		}
		for _, cmd := range []string{"cp x P", "tee P", "tee -a x P", "ln -s x P", "ln -sf P x", "touch P", "mv x P", "mv P x", "install -m 755 x P", "rsync x P", "dd if=x of=P", "echo x > P", "echo x >> P", "echo x >| P", "echo x &> P", "sed -i s/a/b/ P", "patch P x",
			"truncate -s0 P", "chmod +x P", "rm P", "cp -tP x", "cp -at P x", "cp --target-directory=P x", "tar -cf P x", "echo x 2> P", "cp x {P,y}", "tee $'P'"} {
			if v := s.Eval(bash(strings.ReplaceAll(cmd, "P", path))); v.Action == Allow {
				t.Errorf("%s is allowed", strings.ReplaceAll(cmd, "P", path))
			}
		}
	}
	for _, cmd := range []string{
		"cd .git && touch commondir", "cd .git/info && tee ../commondir", "cd .git/refs; echo x > ../commondir", "mkdir .git/modules/x", "mkdir -p .git/worktrees/x", "touch .g*/commondir", "touch .git/common*", "cp x .gi?/commondir", "cp -at.git x", "cp -rft.git x",
		"tar -xf x", "tar xzf x", "tar --extract -f x", "tar -xf x -C ..", "tar -xf x -C /home/user/project", "tar -xf x --directory=.", "tar xf x -C.git", "unzip x", "unzip -o x -d .", "unzip x -d .git", "unzip -qo x", "cp -r evil/. .", "cp --recurs evil/. .", "cp --arch evil/ .", "cp -RT evil ../project",
		"tar -x$X -f y", "rsync -a evil/ .",
	} {
		if v := s.Eval(bash(cmd)); v.Action == Allow {
			t.Errorf("%s is allowed", cmd)
		}
	}
	for _, cmd := range []string{"tar -xf x -C build", "tar xf x --directory=build", "unzip x -d build", "unzip -l x", "tar -tf x", "tar -czf x.tgz src", "cat .git/HEAD", "cp a.git.go b", "touch .gitignore", "tee .gitattributes", "echo x > .github/workflows/a.yml", "mkdir .github", "cat .claude/skills/x.md", "cp -r src/a build"} {
		if v := s.Eval(bash(cmd)); v.Action != Allow {
			t.Errorf("%s: %s (%s)", cmd, v.Action, v.Reason)
		}
	}
	for _, path := range []string{".gitignore", ".github/x", "src/.gitkeep", "git/config", "a.git.go"} {
		if v := s.Eval(tool1("Write", "file_path", path)); v.Action != Allow {
			t.Errorf("Write %s: %s (%s)", path, v.Action, v.Reason)
		}
	}
}

// TestLinks: an allow needs the path inside with every link followed, a deny either.
func TestLinks(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"real/docs/sub", "out", "real/.claude"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"project": "real", "real/docs/away": "../../out", "real/docs/here": "sub", "real/docs/abs": top + "/out/x", "real/docs/loop": "loop", "real/docs/set": "../.claude/settings.json", "real/docs/secret.txt": "../../out/.env",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, `
version: 1
deny: ["Read(**/.env)"]
rules:
  - {id: docs, action: allow, match: {file: {op: [read, write], path: ["${project}/docs/**"]}}}
  - {id: rm, action: allow, match: {command: {program: rm, flags: {only: [-r]}, paths: ["${project}/docs/**"]}}}
`)
	for _, project := range []string{top + "/project", top + "/real"} {
		for path, want := range map[string]Action{
			"docs/a": Allow, "docs/here/a": Allow, "docs/new/dir/a": Allow, "docs/away/a": Ask, "docs/abs": Ask, "docs/loop/a": Ask, "docs/set": Ask, "docs/../docs/a": Allow, "docs/away/../a": Ask,
			"docs/here/../../x": Ask, "docs/secret.txt": Deny, "docs/../../out/a": Ask,
		} {
			c := tool1("Read", "file_path", path)
			c.Cwd, c.Project = project, project
			if v := s.Eval(c); v.Action != want {
				t.Errorf("read %s in %s: %s (%s), expected %s", path, project, v.Action, v.Reason, want)
			}
			if want == Deny {
				continue
			}
			c = bash("rm -r " + path)
			c.Cwd, c.Project = project, project
			if v := s.Eval(c); v.Action != want {
				t.Errorf("rm %s in %s: %s (%s), expected %s", path, project, v.Action, v.Reason, want)
			}
		}
	}
}

// TestStrangeRepositories: git is not allowed where a repository was planted inside the project.
func TestStrangeRepositories(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".git", "sub/dir", "nested/.git", "nested/deep", "bare/objects", "bare/x", "linked"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"bare/HEAD", "linked/.git"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, `version: 1
allow: ["Bash(git status *)"]`)
	for dir, want := range map[string]Action{".": Allow, "sub": Allow, "sub/dir": Allow, "none": Allow, "nested": Ask, "nested/deep": Ask, "bare": Ask, "bare/x": Ask, "linked": Ask, "/": Ask, "..": Ask} {
		c := bash("git -C " + dir + " status")
		c.Cwd, c.Project = top, top
		if v := s.Eval(c); v.Action != want {
			t.Errorf("git -C %s: %s (%s), expected %s", dir, v.Action, v.Reason, want)
		}
		if filepath.IsAbs(dir) {
			continue
		}
		c = bash("git status")
		c.Cwd, c.Project = filepath.Join(top, dir), top
		if v := s.Eval(c); v.Action != want {
			t.Errorf("git in %s: %s (%s), expected %s", dir, v.Action, v.Reason, want)
		}
	}
}
