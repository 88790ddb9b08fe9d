package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// row is a command, or what else the rules are asked about, and what they say.
type row struct {
	in   string
	want hook.Action
}

// expect evaluates commands under a few lines of rules.
func expect(t *testing.T, text string, rows []row) {
	t.Helper()
	s := load(t, "version: 1\n"+text)
	for _, row := range rows {
		t.Run(row.in, func(t *testing.T) {
			if v := s.Eval(bash(row.in)); v.Action != row.want {
				t.Errorf("%s\n%s: got %s (rule %q: %s), want %s", text, row.in, v.Action, v.Rule, v.Reason, row.want)
			}
		})
	}
}

func TestRuleStrings(t *testing.T) {
	expect(t, `allow: ["Bash(npm run test:*)", Bash(git status), "Bash(git log*)", "Bash(git * main)", "Bash(echo 'a b')", "Bash(make a && make b)", "Bash(./gradlew *)"]`, []row{
		{"npm run test", hook.ActionAllow}, {"npm run test --watch", hook.ActionAllow}, {"npm run test:unit", hook.ActionAsk}, {"npm run tests", hook.ActionAsk}, {"npm", hook.ActionAsk},
		{"npm  run\ttest", hook.ActionAllow}, {`npm "run" te\st`, hook.ActionAllow}, {"npm run $X", hook.ActionAsk}, {"npm run test $X", hook.ActionAsk}, {`npm run test -- "$X"`, hook.ActionAllow}, {"npm ru* test", hook.ActionAsk},
		{"git status", hook.ActionAllow}, {"git status -s", hook.ActionAsk}, {"git statusx", hook.ActionAsk}, {"/usr/bin/git status", hook.ActionAllow}, {"./git status", hook.ActionAsk}, {"/tmp/git status", hook.ActionAsk},
		{"git log", hook.ActionAllow}, {"git log -1", hook.ActionAllow}, {"git logs", hook.ActionAllow}, {"git lo", hook.ActionAsk},
		{"git checkout main", hook.ActionAllow}, {"git main", hook.ActionAsk}, {"git checkout -b main", hook.ActionAsk}, {"git -x main", hook.ActionAsk}, {"git checkout x main", hook.ActionAsk},
		{"echo 'a b'", hook.ActionAllow}, {"echo a b", hook.ActionAsk}, {`echo a\ b`, hook.ActionAllow},
		{"make a && make b", hook.ActionAllow}, {"make a", hook.ActionAsk}, {"make b && make a", hook.ActionAsk}, {"make a && make b && make c", hook.ActionAsk},
		{"./gradlew test", hook.ActionAllow}, {"sub/../gradlew test", hook.ActionAsk}, {"cd sub && ./gradlew test", hook.ActionAsk}, {"gradlew test", hook.ActionAsk},
		{"FOO=1 git status", hook.ActionAsk}, {"NODE_ENV=x git status", hook.ActionAllow}, {"NODE_ENV=x", hook.ActionAsk}, {"", hook.ActionAsk}, {"# x", hook.ActionAsk},
		{"git status > /dev/null 2>&1", hook.ActionAllow}, {"git status > x", hook.ActionAsk}, {"git status | git status", hook.ActionAllow},
	})
	expect(t, `
allow: ["Bash(git *)", "Bash(rm *)", "Bash(echo *)", "Bash(find *)", "Bash(docker *)"]
deny: ["Bash(git push *)", "Bash(rm -rf *)", "Bash(find * -delete)", "Bash(* --force*)", "Bash(docker rm:*)", "Bash(git commit)", "Bash(dd *)"]`, []row{
		{"git push", hook.ActionDeny}, {"git push origin", hook.ActionDeny}, {"git -C /x push", hook.ActionDeny}, {"git -c a=b push", hook.ActionDeny}, {"/opt/git/bin/git push", hook.ActionDeny}, {"git --no-pager push x", hook.ActionDeny},
		{"sudo git push", hook.ActionDeny}, {"echo $(git push)", hook.ActionDeny}, {"if true; then git push; fi", hook.ActionDeny}, {"bash -c 'git push'", hook.ActionDeny}, {"git pull", hook.ActionAllow}, {"git stash push", hook.ActionAllow},
		{"git $X origin", hook.ActionAsk}, {"git pu$X", hook.ActionAsk}, {"git log $X", hook.ActionAsk}, // it may be --force
		{"rm -rf x", hook.ActionDeny}, {"rm -fr x", hook.ActionDeny}, {"rm -r -f x", hook.ActionDeny}, {"rm x -rf", hook.ActionDeny}, {"rm -rvf x", hook.ActionDeny}, {"rm -r x", hook.ActionAllow}, {"rm -f x", hook.ActionAllow}, {"rm $X x", hook.ActionAsk},
		{"docker rm x", hook.ActionDeny}, {"docker --context a rm x", hook.ActionDeny}, {"docker ps", hook.ActionAllow}, {"docker --force x", hook.ActionDeny}, {"docker x --force-rm", hook.ActionDeny},
		{"git commit", hook.ActionDeny}, {"git commit -m x", hook.ActionAllow}, {"git commit --amend", hook.ActionAllow}, {"dd", hook.ActionDeny},
	})
}

// TestUncertain: what comes at run time only may be what a guard means, however it says so.
func TestUncertain(t *testing.T) {
	expect(t, `
allow: ["Bash(x *)", "Bash(y *)", "Bash(z *)"]
rules:
  - {id: re, action: deny, match: {command: {program: x, any_arg: "re:[a-c]+"}}}
  - {id: args, action: deny, match: {command: {program: y, args: [a, ...]}}}
  - {id: sure, action: deny, certain: true, match: {command: {program: z, any_arg: a}}}`, []row{
		{"x abc", hook.ActionDeny}, {"x d", hook.ActionAllow}, {"x $V", hook.ActionAsk}, {"y a", hook.ActionDeny}, {"y b", hook.ActionAllow}, {"y $V", hook.ActionAsk}, {"y -v $V", hook.ActionAsk}, {"y b $V", hook.ActionAllow}, {"z a", hook.ActionDeny}, {"z $V", hook.ActionAllow},
	})
}

// TestSideDoors: an allow that leaves the flags open does not mean those that write or run.
func TestSideDoors(t *testing.T) {
	expect(t, `
allow: ["Bash(git log *)", "Bash(git diff *)", "Bash(sort *)", "Bash(rg *)", "Bash(go test *)", "Bash(npm run test *)", "Bash(tar *)", "Bash(sed -i *)", "Bash(git fetch --upload-pack=x *)"]
rules:
  - {id: any, action: allow, match: {command: {program: fd, flags: any}}}
  - {id: open, action: allow, match: {command: {program: date, args: [...]}}}`, []row{
		{"git log -p", hook.ActionAllow}, {"git log --output=x", hook.ActionAsk}, {"git log --outp=x", hook.ActionAsk}, {"git log --output x", hook.ActionAsk}, {"git log -- --output=x", hook.ActionAllow}, {`git log "--output=$X"`, hook.ActionAsk},
		{"git diff --ext-diff", hook.ActionAsk}, {"sort -u x", hook.ActionAllow}, {"sort -uo x", hook.ActionAsk}, {"sort -ox x", hook.ActionAsk}, {"sort --output x", hook.ActionAsk}, {"rg --pre=x y", hook.ActionAsk}, {"rg x", hook.ActionAllow},
		{"go test ./...", hook.ActionAllow}, {"go test -exec x ./...", hook.ActionAsk}, {"go test --exec=x ./...", hook.ActionAsk}, {"go test -toolexec=x", hook.ActionAsk}, {"npm run test --prefix /x", hook.ActionAsk}, {"npm run test -- --prefix", hook.ActionAllow},
		{"tar -tf x", hook.ActionAllow}, {"tar --to-command=x -xf y", hook.ActionAsk}, {"tar -I x -tf y", hook.ActionAsk}, {"sed -i s/a/b/ x", hook.ActionAllow}, {"sed s/a/b/ x", hook.ActionAsk},
		{"git fetch --upload-pack=x y", hook.ActionAllow}, {"git fetch --upload-pack=z y", hook.ActionAsk}, {"fd x", hook.ActionAllow}, {"fd -x rm", hook.ActionAsk}, {"date", hook.ActionAllow}, {"date -s x", hook.ActionAsk},
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
  - {id: sudoish, action: allow, match: {command: {program: sudoish}}}`, []row{
		{"head", hook.ActionAllow}, {"head x", hook.ActionAllow}, {"head -q x", hook.ActionAllow}, {"head -n 5 x", hook.ActionAllow}, {"head -n5 x", hook.ActionAllow}, {"head -qn5 x", hook.ActionAllow}, {"head -qn 5", hook.ActionAllow}, {"head --lines=5", hook.ActionAllow},
		{"head --lines 5 x", hook.ActionAllow}, {"head -5 x", hook.ActionAllow}, {"head --color x", hook.ActionAllow}, {"head --color=always", hook.ActionAllow}, {"head -i", hook.ActionAllow}, {"head -ix", hook.ActionAllow},
		{"head -- -z", hook.ActionAllow}, {"head -n -5", hook.ActionAllow}, {"head -n $X", hook.ActionAsk}, {`head -n "$X"`, hook.ActionAsk}, {`head --lines="$X"`, hook.ActionAllow}, {"head $X", hook.ActionAsk}, {`head "$X"`, hook.ActionAsk}, {"head ./$X", hook.ActionAsk}, {`head "./$X"`, hook.ActionAllow}, {"head *", hook.ActionAsk}, {"head ./*", hook.ActionAllow},
		{"head -z", hook.ActionAsk}, {"head -qz", hook.ActionAsk}, {"head --line=5", hook.ActionAsk}, {"head --lines", hook.ActionAsk}, {"head -n", hook.ActionAsk}, {"head --quiet=x", hook.ActionAsk}, {"head -n --evil", hook.ActionAsk}, {"head -q=", hook.ActionAsk}, {"head x -z", hook.ActionAsk}, {"head -5z", hook.ActionAsk}, {"head - x", hook.ActionAllow},
		{"git log -p", hook.ActionAllow}, {"git -p log", hook.ActionAsk}, {"git log --output=x", hook.ActionAsk}, {"git --no-replace-objects log", hook.ActionAllow}, {"git --exec-path=x log", hook.ActionAsk}, {"git log HEAD -p x", hook.ActionAllow},
		{"uniq -c x", hook.ActionAllow}, {"uniq x -c", hook.ActionAllow}, {"uniq x y", hook.ActionAsk}, {"uniq", hook.ActionAsk}, {"uniq $X", hook.ActionAsk}, {"pwd", hook.ActionAllow}, {"pwd -P", hook.ActionAsk}, {"pwd x", hook.ActionAsk},
		{"go vet -v", hook.ActionAllow}, {"go vet -exec", hook.ActionAsk}, {"go vet -ex", hook.ActionAsk}, {"go vet -c x", hook.ActionAllow}, {"go vet -- x", hook.ActionAsk},
		{"wc -l x", hook.ActionAllow}, {"wc $X", hook.ActionAllow}, {"wc *", hook.ActionAllow},
		{"sudoish -f", hook.ActionDeny}, {"sudoish -af", hook.ActionDeny}, {"sudoish --forc", hook.ActionDeny}, {"sudoish x --force=1", hook.ActionDeny}, {"sudoish -- -f", hook.ActionAllow}, {"sudoish x", hook.ActionAllow}, {"sudoish $X", hook.ActionAsk},
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
	for _, row := range []row{
		{"cat x", hook.ActionAllow}, {"ls .", hook.ActionAllow}, {"cat src/a.git.go", hook.ActionAllow}, {"grep -r x .", hook.ActionAllow}, {"cat .gitignore", hook.ActionAllow}, {"ls -la /", hook.ActionAllow}, {"echo x > y", hook.ActionAllow}, {"rm -rf build", hook.ActionAllow}, {"find ~ -name x", hook.ActionAllow},
		{"git config user.name", hook.ActionAllow}, {"git config --get x", hook.ActionAllow}, {"git config --list --show-origin", hook.ActionAllow},
		{"cat .claude/settings.json", hook.ActionAsk}, {"cp x .claude/settings.local.json", hook.ActionAsk}, {"cp x ~/.claude/settings.json", hook.ActionAsk}, {"echo x > .claude/settings.json", hook.ActionAsk}, {"echo x >> .git/hooks/pre-commit", hook.ActionAsk},
		{"tee .git/config", hook.ActionAsk}, {"cat .git//config", hook.ActionAsk}, {"cat ./.git/../.git/config", hook.ActionAsk}, {"cat .GIT/config", hook.ActionAsk}, {"cd .git && cat config", hook.ActionAsk}, {"cd .claude; tee settings.json", hook.ActionAsk}, {"rm -rf .git", hook.ActionAsk}, {"rm -rf .claude", hook.ActionAsk},
		{"mv .claude x", hook.ActionAsk}, {"rm -rf .", hook.ActionAsk}, {"rm -rf ..", hook.ActionAsk}, {"rm -rf /home/user/project", hook.ActionAsk}, {"cat .cl*/settings.json", hook.ActionAsk}, {"rm -rf .*", hook.ActionAsk}, {"cat .git/hooks/*", hook.ActionAsk}, {`cat "$HOME/.claude/settings.json"`, hook.ActionAsk}, {`cat $X/.claude/settings.json`, hook.ActionAsk},
		{"sed -n -i.bak s/a/b/ .mcp.json", hook.ActionAsk}, {"ln -s ~/.claude/settings.json x", hook.ActionAsk}, {"cp x --target-directory=.git/hooks", hook.ActionAsk}, {"cp -t.git/hooks x", hook.ActionAsk}, {"tee > .git/hooks/x", hook.ActionAsk},
		{"cat ~/.claude/.credentials.json", hook.ActionAsk}, {"cat /proc/self/environ", hook.ActionAsk}, {"cat /proc/self/root/srv/broker/state/x", hook.ActionAsk}, {"cat /proc/cpuinfo", hook.ActionAllow},
		{"assent pending", hook.ActionAsk}, {"/opt/assent allow x", hook.ActionAsk}, {"$(echo assent) allow x", hook.ActionAsk}, {"pkill assent", hook.ActionAsk}, {"kill $(pidof assent)", hook.ActionAsk}, {"systemctl --user stop assent.service", hook.ActionAsk},
		{"cat ~/.local/state/assent/owner.token", hook.ActionAsk}, {"grep -r x ~/.local/state", hook.ActionAsk}, {"grep -r x ~", hook.ActionAsk}, {"grep -r x /", hook.ActionAsk}, {"cd ~ && grep -r x", hook.ActionAsk}, {"cd ~ && rg x", hook.ActionAsk}, {"cat ~/.local/state/*/*", hook.ActionAsk}, {"tar c $HOME", hook.ActionAsk}, {"grep -r x ~/.*", hook.ActionAsk},
		{"find ~ -name x | head", hook.ActionAllow}, {"find ~ -name '*.token' -exec cat {} +", hook.ActionAsk}, {"cat $(find ~/.local -name '*.token')", hook.ActionAsk}, {"find / -name '*.tok*' | xargs cat", hook.ActionAsk}, {"for f in $(ls ~/.local); do cat $f; done", hook.ActionAsk}, {"find . -name x -exec cat {} +", hook.ActionAllow},
		{"grep -rn x . --include=*.{ts,tsx}", hook.ActionAllow}, {"echo {1..5}", hook.ActionAllow}, {"cat .{claude,git}/config", hook.ActionAsk}, {"cat .{git,x}/config", hook.ActionAsk}, {"cat .g{h..j}t/config", hook.ActionAsk}, {"cat {.git/config,x}", hook.ActionAsk},
		{"cat /srv/broker/state/owner.token", hook.ActionAsk}, {"cat /srv/broker/state/x", hook.ActionAsk}, {"cd /srv/broker/state && cat x", hook.ActionAsk}, {"cd /srv && cat broker/state/x", hook.ActionAsk}, {"grep -r x /srv", hook.ActionAsk}, {"cat /run/x/hook.sock", hook.ActionAsk},
		{"cat /srv/cfg/assent/agents.yaml", hook.ActionAsk}, {"cp x /srv/cfg/assent/host.token", hook.ActionAsk}, {"cat /srv/cfg/assent/agent-key.json", hook.ActionAsk}, {"cp x /srv/assent/agents/accepted.json", hook.ActionAsk}, {"tee /srv/s/agents/accepted.json", hook.ActionAsk},
		{"echo x > /srv/s/agents/11111111-1111-4111-8111-111111111111/in.fifo", hook.ActionAsk}, {"cd /srv/s/agents/x && tee in.fifo", hook.ActionAsk}, {"cp x /srv/s/agents/11111111-1111-4111-8111-111111111111/journal", hook.ActionAsk}, {"ln -s /srv/assent/agents x", hook.ActionAsk},
		{"rm -f /tmp/cc-socks/1.sock", hook.ActionAsk}, {"mv x /tmp/claude-0/cc-socks/1.sock", hook.ActionAsk}, {"rm -rf /tmp/cc-socks", hook.ActionAsk}, {"cat agents/journal.md agents/x/journal agents.yaml src/agents/x.go", hook.ActionAllow},
		{"git config core.hooksPath x", hook.ActionAsk}, {"git config --global alias.x y", hook.ActionAsk}, {"git -C sub config a.b c", hook.ActionAsk}, {"git config --unset x", hook.ActionAsk}, {"git config edit", hook.ActionAsk}, {"claude -p x", hook.ActionAsk}, {"claude mcp add x", hook.ActionAsk}, {"claude --version", hook.ActionAllow},
	} {
		t.Run(row.in, func(t *testing.T) {
			if v := s.Eval(bash(row.in)); v.Action != row.want {
				t.Errorf("%s: got %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
		})
	}
	for _, row := range []row{
		{"/home/user/project/x", hook.ActionAllow}, {"x", hook.ActionAllow}, {".claude/settings.json", hook.ActionAsk}, {"/home/user/.claude/settings.json", hook.ActionAsk}, {"~/.claude.json", hook.ActionAsk}, {".claude/hooks/a.sh", hook.ActionAsk}, {".git/config", hook.ActionAsk}, {".Git/Config", hook.ActionAsk},
		{"/srv/broker/state/x", hook.ActionAsk}, {"~/.local/state/assent/x", hook.ActionAsk}, {"/srv/s/agents/x/in.fifo", hook.ActionAsk}, {"/srv/cfg/assent/agents.yaml", hook.ActionAsk}, {"/tmp/cc-socks/1.sock", hook.ActionAsk}, {"a\x00b", hook.ActionAsk}, {"", hook.ActionAsk}, {"~other/x", hook.ActionAsk}, {" x", hook.ActionAsk}, {"a\u202eb", hook.ActionAsk}, {"/etc/claude-code/managed-settings.json", hook.ActionAsk},
	} {
		t.Run(row.in, func(t *testing.T) {
			for _, tool := range []string{"Read", "Write", "Edit", "MultiEdit"} {
				if v := s.Eval(tool1(tool, "file_path", row.in)); v.Action != row.want {
					t.Errorf("%s %q: got %s (%s), want %s", tool, row.in, v.Action, v.Reason, row.want)
				}
			}
		})
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
			if v := s.Eval(tool1(tool, "file_path", path)); v.Action == hook.ActionAllow {
				t.Errorf("%s %s is allowed", tool, path)
			}
		}
		if v := s.Eval(tool1("NotebookEdit", "notebook_path", path)); v.Action == hook.ActionAllow {
			t.Errorf("NotebookEdit %s is allowed", path)
		}
		for _, cmd := range []string{"cp x P", "tee P", "tee -a x P", "ln -s x P", "ln -sf P x", "touch P", "mv x P", "mv P x", "install -m 755 x P", "rsync x P", "dd if=x of=P", "echo x > P", "echo x >> P", "echo x >| P", "echo x &> P", "sed -i s/a/b/ P", "patch P x",
			"truncate -s0 P", "chmod +x P", "rm P", "cp -tP x", "cp -at P x", "cp --target-directory=P x", "tar -cf P x", "echo x 2> P", "cp x {P,y}", "tee $'P'"} {
			if v := s.Eval(bash(strings.ReplaceAll(cmd, "P", path))); v.Action == hook.ActionAllow {
				t.Errorf("%s is allowed", strings.ReplaceAll(cmd, "P", path))
			}
		}
	}
	for _, cmd := range []string{
		"cd .git && touch commondir", "cd .git/info && tee ../commondir", "cd .git/refs; echo x > ../commondir", "mkdir .git/modules/x", "mkdir -p .git/worktrees/x", "touch .g*/commondir", "touch .git/common*", "cp x .gi?/commondir", "cp -at.git x", "cp -rft.git x",
		"tar -xf x", "tar xzf x", "tar --extract -f x", "tar -xf x -C ..", "tar -xf x -C /home/user/project", "tar -xf x --directory=.", "tar xf x -C.git", "unzip x", "unzip -o x -d .", "unzip x -d .git", "unzip -qo x", "cp -r evil/. .", "cp --recurs evil/. .", "cp --arch evil/ .", "cp -RT evil ../project",
		"tar -x$X -f y", "rsync -a evil/ .",
	} {
		if v := s.Eval(bash(cmd)); v.Action == hook.ActionAllow {
			t.Errorf("%s is allowed", cmd)
		}
	}
	for _, cmd := range []string{"tar -xf x -C build", "tar xf x --directory=build", "unzip x -d build", "unzip -l x", "tar -tf x", "tar -czf x.tgz src", "cat .git/HEAD", "cp a.git.go b", "touch .gitignore", "tee .gitattributes", "echo x > .github/workflows/a.yml", "mkdir .github", "cat .claude/skills/x.md", "cp -r src/a build"} {
		if v := s.Eval(bash(cmd)); v.Action != hook.ActionAllow {
			t.Errorf("%s: %s (%s)", cmd, v.Action, v.Reason)
		}
	}
	for _, path := range []string{".gitignore", ".github/x", "src/.gitkeep", "git/config", "a.git.go"} {
		if v := s.Eval(tool1("Write", "file_path", path)); v.Action != hook.ActionAllow {
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
		for _, row := range []row{
			{"docs/a", hook.ActionAllow}, {"docs/here/a", hook.ActionAllow}, {"docs/new/dir/a", hook.ActionAllow}, {"docs/away/a", hook.ActionAsk}, {"docs/abs", hook.ActionAsk}, {"docs/loop/a", hook.ActionAsk}, {"docs/set", hook.ActionAsk}, {"docs/../docs/a", hook.ActionAllow}, {"docs/away/../a", hook.ActionAsk},
			{"docs/here/../../x", hook.ActionAsk}, {"docs/secret.txt", hook.ActionDeny}, {"docs/../../out/a", hook.ActionAsk},
		} {
			t.Run(row.in, func(t *testing.T) {
				c := tool1("Read", "file_path", row.in)
				c.Cwd, c.Project = project, project
				if v := s.Eval(c); v.Action != row.want {
					t.Errorf("read %s in %s: %s (%s), want %s", row.in, project, v.Action, v.Reason, row.want)
				}
				if row.want == hook.ActionDeny {
					return
				}
				c = bash("rm -r " + row.in)
				c.Cwd, c.Project = project, project
				if v := s.Eval(c); v.Action != row.want {
					t.Errorf("rm %s in %s: %s (%s), want %s", row.in, project, v.Action, v.Reason, row.want)
				}
			})
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
	for _, row := range []row{{".", hook.ActionAllow}, {"sub", hook.ActionAllow}, {"sub/dir", hook.ActionAllow}, {"none", hook.ActionAllow}, {"nested", hook.ActionAsk}, {"nested/deep", hook.ActionAsk}, {"bare", hook.ActionAsk}, {"bare/x", hook.ActionAsk}, {"linked", hook.ActionAsk}, {"/", hook.ActionAsk}, {"..", hook.ActionAsk}} {
		t.Run(row.in, func(t *testing.T) {
			c := bash("git -C " + row.in + " status")
			c.Cwd, c.Project = top, top
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("git -C %s: %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
			if filepath.IsAbs(row.in) {
				return
			}
			c = bash("git status")
			c.Cwd, c.Project = filepath.Join(top, row.in), top
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("git in %s: %s (%s), want %s", row.in, v.Action, v.Reason, row.want)
			}
		})
	}
}
