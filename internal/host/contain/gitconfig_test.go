package contain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigTells(t *testing.T) {
	const head = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	for text, want := range map[string]bool{
		"":                                       false,
		head:                                     false,
		head + "\turl = https://example.com/a/b": false,
		head + "\turl = git@example.com:a/b.git": false,
		head + "\turl = ssh://git@example.com/a": false,
		head + "\turl = https://example.com/@scope/pkg":                                                          false,
		"[credential]\n\thelper = osxkeychain\n":                                                                 false,
		"[credential \"https://github.com\"]\n\thelper =\n\thelper = !/usr/bin/gh auth git-credential\n":         false,
		"[credential]\n\thelper = cache --timeout 3600\n":                                                        false,
		"[credential]\n\thelper = x --answer=hunter2\n":                                                          true,
		"[credential]\n\tusername = ghp_123\n":                                                                   true,
		"[core] bare = false\n\teditor = code --wait\n\tpager = delta\n":                                         false,
		"[core]\n\teditor = x hunter2\n":                                                                         true,
		"[core]\n\tsshCommand = ssh -i ~/.ssh/work -o IdentitiesOnly=yes -F /dev/null\n":                         false,
		"[core]\n\tsshCommand = sshpass -p x ssh\n":                                                              true,
		"[core]\n\tsshCommand = ssh -o ProxyCommand=x\n":                                                         true,
		"[core]\n\tbare = false ; hunter2\n":                                                                     true,
		"# hunter2\n":                                                                                            true,
		"[gitflow \"branch\"]\n\tmaster = main\n[includeIf \"gitdir:~/w/\"]\n\tpath = ~/w/gitconfig\n":           false,
		"[alias]\n\tst = status -sb\n\tlg = log --graph --pretty=format:'%h %s'\n":                               false,
		"[alias]\n\tup = -c http.extraHeader=x fetch\n":                                                          true,
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n":                                   false,
		"[filter \"x\"]\n\tclean = openssl enc -k hunter2\n":                                                     true,
		"[unknown]\n\tkey = x\n[core":                                                                            true,
		"[core]\n\tunheard = x\n":                                                                                true,
		"[core \"sub\"]\n\tbare = x\n":                                                                           true,
		"[Core]\r\n\tBare = FALSE\r\n":                                                                           false,
		"core.bare = x\n":                                                                                        true,
		"[remote \"o\"]\n\turl = https://e.com/a?private_token=x\n":                                              true,
		"[remote \"o\"]\n\turl = https://e.com/a%20b\n\turl = /srv/a.git\n\turl = ../b\n\turl = file:///srv/a\n": false,
		"[remote \"o\"]\n\turl = ext::ssh x\n":                                                                   true,
		"[http]\n\tproxy = http://proxy.example.com\n":                                                           true,
		"[user]\n\temail = a@example.com\n":                                                                      false,
		"[branch \"fix-token\"]\n\tremote = origin\n":                                                            false,
		head + "\turl = https://x:y@example.com/a":                                                               true,
		head + "\turl = https://ghp_123@example.com/a":                                                           true,
		head + "\turl = https://x:y'z@example.com/a":                                                             true,
		head + "\turl = https://x:y\\\"z@example.com/a":                                                          true,
		head + "\turl = HTTPS://ghp_123@example.com/a":                                                           true,
		head + "\turl = https://gh\\\np_123@example.com/a":                                                       true,
		head + "\turl = ssh://git:pw@example.com/a":                                                              true,
		head + "\tpushurl = \"https://x:y@example.com/a\"":                                                       true,
		"[url \"https://x:y@example.com/\"]\n\tinsteadOf = https://e.com/\n":                                     true,
		"[url \"https://e.com/\"]\n\tinsteadOf = a\n[x] y = https://k@e.com/":                                    true,
		"[url \"git@e.com:\"]\n\tinsteadOf = https://e.com/\n":                                                   false,
		"# url = https://x:y@example.com/a":                                                                      true,
		"[http]\n\textraHeader = AUTHORIZATION: basic eDp5\n":                                                    true,
		"[http \"https://e.com/\"] extraheader = x\n":                                                            true,
		"[github]\n\ttoken = x\n":                                                                                true,
		"[sendemail]\n\tsmtpPass = x\n":                                                                          true,
		"[credential]\n\thelper = \"!f() { echo password=x; }; f\"\n":                                            true,
		"[alias]\n\tup = \"!curl -H 'Authorization: x' https://e.com\"\n":                                        true,
		strings.Repeat("# x\n", maxGitConfig):                                                                    true,
	} {
		if got := configTells(text); got != want {
			t.Errorf("%q: %v", text[:min(len(text), 200)], got)
		}
	}
}

func FuzzConfigTells(f *testing.F) {
	f.Add("[remote \"o\"]\n\turl = ", "ghp_x")
	f.Fuzz(func(t *testing.T, before, who string) {
		configTells(before + who)
		if strings.ContainsAny(who, "/@\n\\\r:") || who == "" || len(before) > 1000 || strings.HasSuffix(before, "\\") {
			return
		}
		if !configTells(before + "\nurl = https://" + who + "@example.com/\n") {
			t.Errorf("%q %q", before, who)
		}
	})
}

// TestGitWritesWhatIsKnown: what git itself writes into a configuration, and what is usual there besides, is
// known, so that it can be read.
func TestGitWritesWhatIsKnown(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	git := func(in string, args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", filepath.Join(dir, in), "-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git(".", "init", "-q", "a")
	git("a", "commit", "-q", "--allow-empty", "-m", "one")
	git(".", "clone", "-q", "--filter=blob:none", "file://"+filepath.Join(dir, "a"), "b")
	git("b", "submodule", "--quiet", "add", "file://"+filepath.Join(dir, "a"), "sub")
	git("b", "checkout", "-q", "-b", "feature/x", "--track", "origin/main")
	git("b", "sparse-checkout", "init", "--cone") // with extensions.worktreeConfig
	git("b", "worktree", "add", "-q", "../w")
	git("b", "remote", "add", "--mirror=fetch", "mirror", "ssh://git@example.com:22/a.git")
	git("b", "remote", "add", "-t", "main", "--no-tags", "up", "git@example.com:a/b.git")
	git("b", "maintenance", "run", "--auto", "--quiet")
	for key, value := range map[string]string{
		"user.name": "Ann O'Brien", "user.email": "a@example.com", "user.signingkey": "~/.ssh/id.pub", "commit.gpgsign": "true", "gpg.format": "ssh", "pull.rebase": "true", "rerere.enabled": "true",
		"gc.auto": "0", "core.hooksPath": ".husky/_", "core.autocrlf": "input", "core.fsmonitor": "true", "core.excludesFile": "~/.ignore", "push.autoSetupRemote": "true", "fetch.prune": "true", "merge.conflictStyle": "zdiff3", "include.path": "../.gitconfig",
		"lfs.repositoryformatversion": "0", "lfs.https://example.com/a.git/info/lfs.access": "basic", "branch.main.vscode-merge-base": "origin/main", "branch.main.description": "what it is for", "remote.origin.gh-resolved": "base", "alias.co": "checkout", "diff.tool": "vimdiff",
		"filter.lfs.process": "git-lfs filter-process", "url.git@example.com:.insteadOf": "https://example.com/", "submodule.recurse": "true", "credential.helper": "store", "core.editor": "vim", "http.postBuffer": "524288000",
	} {
		git("b", "config", key, value)
	}
	for _, name := range []string{"a/.git/config", "b/.git/config", "b/.git/config.worktree", "b/.git/modules/sub/config"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if configTells(string(text)) {
			t.Errorf("%s:\n%s", name, text)
		}
		for i := range text { // and a line is what is looked at, wherever it stands
			if text[i] == '\n' && configTells(string(text[:i+1])) {
				t.Errorf("%s up to line %d", name, strings.Count(string(text[:i+1]), "\n"))
			}
		}
		for _, more := range []string{"[http]\n\textraHeader = x\n", "[a]\n\tb = c\n", "\turl = https://x@example.com/\n"} {
			if !configTells(string(text) + more) {
				t.Errorf("%s, with %q", name, more)
			}
		}
	}
}
