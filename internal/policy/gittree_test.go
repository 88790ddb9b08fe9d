package policy

import (
	"strings"
	"testing"

	"assent/internal/hook"
)

// A rule about edits binds what git writes over a whole work tree.
func TestGitRewritesMeetDenials(t *testing.T) {
	set := load(t, "version: 1\nallow: [\"Bash(git *)\", \"Bash(cd *)\"]\ndeny: [\"Edit(./docs/**)\"]\n")
	elsewhere := load(t, "version: 1\nallow: [\"Bash(git *)\", \"Bash(cd *)\"]\ndeny: [\"Edit(~/.config/x/**)\", \"Read(./docs/**)\"]\n")
	for _, row := range []struct {
		want     hook.Action
		commands string
	}{
		{hook.ActionAsk, `git apply x.patch
git am x.mbox
git merge topic
git pull
git pull --rebase origin main
git rebase main
git cherry-pick abc
git revert abc
git switch main
git checkout main
git checkout -f
git restore .
git reset --hard
git reset --keep HEAD~1
git reset --har
git stash
git stash pop
git stash push -m x
git clean -fd
git read-tree -u HEAD
git checkout-index -a -f
git sparse-checkout set x
git submodule update
git bisect start
git rm '*.md'
git rm -r ':/'
git rm ':(glob)**/a.md'
git someones-alias`},
		{hook.ActionAllow, `git
git status
git log -p
git diff --stat
git add .
git commit -m x
git push
git fetch --all
git stash list
git stash show
git worktree list
git reset
git reset --soft HEAD~1
git branch -a
git rev-parse HEAD
git rm a.txt
git rm -r src
git mv a b`},
	} {
		for command := range strings.Lines(row.commands) {
			command = strings.TrimSpace(command)
			if v := set.Eval(bashCall(command)); v.Action != row.want {
				t.Errorf("%s: %s (%s), want %s", command, v.Action, v.Reason, row.want)
			}
			if v := elsewhere.Eval(bashCall(command)); v.Action != hook.ActionAllow && command != "git restore ." { // which names the directory
				t.Errorf("%s, where the rule is about another place: %s (%s)", command, v.Action, v.Reason)
			}
		}
	}
}
