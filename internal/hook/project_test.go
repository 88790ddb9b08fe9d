package hook

import "testing"

// A session has one name wherever it is shown: that of its project, also where it works in a work tree of its own.
func TestProjectName(t *testing.T) {
	for dir, want := range map[string]string{
		"": "", "/": "", "/srv/shop": "shop", "/srv/shop/": "shop", "/srv/shop/web": "web",
		"/srv/shop/.claude/worktrees/assent-01234567":      "shop",
		"/srv/shop/.claude/worktrees/assent-01234567/web/": "shop",
		"/srv/shop/.claude/worktrees":                      "worktrees",
		"/.claude/worktrees/assent-01234567":               "assent-01234567",
	} {
		if got := ProjectName(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}
