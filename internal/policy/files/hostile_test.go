package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
)

// TestALinkThatOthersCanTurn: the file that a link leads to may be ours. Who can put the link
// there chooses which of our files counts, and the clone of a stranger's repository is ours too.
func TestALinkThatOthersCanTurn(t *testing.T) {
	for _, row := range []struct{ name, link, dir string }{ // others can write to dir
		{"the file", "shared/user.yaml", "shared"},
		{"its directory", "shared/conf", "shared"},
		{"a directory above", "shared/a", "shared"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newShelf(t)
			s.put("clone/user.yaml", allowLs)
			s.put("clone/b/user.yaml", allowLs)
			if err := os.Mkdir(s.path("shared"), 0o700); err != nil {
				t.Fatal(err)
			}
			target, path := s.path("clone"), s.path("shared/conf/user.yaml")
			switch row.link {
			case "shared/user.yaml":
				target, path = s.path("clone/user.yaml"), s.path("shared/user.yaml")
			case "shared/a":
				path = s.path("shared/a/b/user.yaml")
			}
			if err := os.Symlink(target, s.path(row.link)); err != nil {
				t.Fatal(err)
			}
			if err := Trust(path); err != nil {
				t.Errorf("%s is a link of ours: %v", row.name, err)
			}
			if err := os.Chmod(s.path(row.dir), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := Trust(path); err == nil || !strings.Contains(err.Error(), "chmod go-w "+s.path(row.dir)) {
				t.Errorf("%s is a link that others can turn: %v", row.name, err)
			}
			// Where only owners can take away what is theirs, the link's owner counts.
			if err := os.Chmod(s.path(row.dir), 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
			if err := Trust(path); err != nil {
				t.Errorf("%s is a link of ours in a sticky directory: %v", row.name, err)
			}
			if os.Geteuid() != 0 {
				return
			}
			if err := os.Lchown(s.path(row.link), 12345, -1); err != nil {
				t.Fatal(err)
			}
			if err := Trust(path); err == nil || !strings.Contains(err.Error(), "12345") {
				t.Errorf("%s is another user's link: %v", row.name, err)
			}
		})
	}
}

// TestARepositoryThatCannotBeLookedInto: it may have a file that denies.
func TestARepositoryThatCannotBeLookedInto(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	if err := os.Symlink("loop", s.path("loop")); err != nil {
		t.Fatal(err)
	}
	s.open()
	for _, row := range []struct {
		root string
		want hook.Action
	}{
		{"loop", hook.ActionAsk}, // stands for: no more files can be opened
		{"gone", hook.ActionAllow},
		{"work", hook.ActionAllow},
	} {
		t.Run(row.root, func(t *testing.T) {
			req := s.request("ls")
			req.Repo.Root = s.path(row.root)
			if v := s.Eval(req, req.ToolInput); v.Action != row.want {
				t.Errorf("got %s (%s), want %s", v.Action, v.Reason, row.want)
			}
		})
	}
}

// TestRulesThatHang: one directory that does not answer, on a network perhaps, must not keep all
// agents waiting for rules.
func TestRulesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.put("user.yaml", allowLs)
		s.open()
		for range cap(s.slots) {
			s.slots <- struct{}{}
		}
		if v := s.want("while all hang", hook.ActionAsk); !strings.Contains(v.Reason, "busy") {
			t.Errorf("reason %q", v.Reason)
		}
		req := s.request("ls")
		if _, err := s.Try(req); err == nil {
			t.Error("proposals are made while all hang")
		}
		for range cap(s.slots) {
			<-s.slots
		}
		s.want("afterwards", hook.ActionAllow)
	})
}

// TestLargeRepositoriesAreBounded: the rules of many repositories take no more memory than those
// of some large ones.
func TestLargeRepositoriesAreBounded(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.open()
	large := "version: 1\ndeny: [\"Bash(rm:*)\"]\n#" + strings.Repeat("x", 200<<10) + "\n"
	for i := range 20 {
		dir := fmt.Sprintf("r%d", i)
		s.put(filepath.Join(dir, repoFile), large)
		req := s.request("rm x")
		req.Repo.Root = s.path(dir)
		if v := s.Eval(req, req.ToolInput); v.Action != hook.ActionDeny {
			t.Errorf("%s: %+v", dir, v)
		}
	}
	sum := int64(0)
	for _, r := range s.repos {
		sum += r.seen.size
	}
	if sum > maxRepoBytes || len(s.repos) < 2 {
		t.Errorf("%d repositories with %d bytes are remembered", len(s.repos), sum)
	}
}

// TestARepositoryInTheProject: by standing in a repository inside of it, which it may have made
// itself, an agent does not leave the project's rules behind.
func TestARepositoryInTheProject(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", "version: 1\nallow: [\"Bash(ls:*)\", \"Bash(make:*)\"]\n")
	s.put("work/.assent/rules.yaml", "version: 1\nrules: [{id: no-make, action: deny, match: {command: {program: make}}}, {id: slow, action: ask, timeout: 1m, on_timeout: deny, match: {command: {program: ls, any_arg: -l}}}]\n")
	s.put("work/inner/.assent/rules.yaml", "version: 1\nrules: [{id: inner, action: ask, timeout: 2m, match: {command: {program: ls, any_arg: -l}}}]\n")
	s.open()
	for _, row := range []struct {
		command string
		want    hook.Verdict
	}{
		{"ls", hook.Verdict{Action: hook.ActionAllow, Rule: "Bash(ls:*)"}},
		{"make x", hook.Verdict{Action: hook.ActionDeny, Rule: "no-make"}},
		{"ls -l", hook.Verdict{Action: hook.ActionAsk, Rule: "inner", OnTimeout: hook.Deny}},
	} {
		t.Run(row.command, func(t *testing.T) {
			req := s.request(row.command)
			req.CWD, req.Repo.Root = s.path("work/inner"), s.path("work/inner")
			got, want := s.Eval(req, req.ToolInput), row.want
			if got.Action != want.Action || got.Rule != want.Rule || want.OnTimeout == hook.Deny && (got.OnTimeout != hook.Deny || got.Timeout != time.Minute) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if trial, err := s.Try(req); err != nil || trial.Explain(req).Action != want.Action {
				t.Errorf("tried %v", err)
			}
		})
	}
	if err := os.Remove(s.path("user.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.path("work/inner/.assent/rules.yaml")); err != nil {
		t.Fatal(err)
	}
	s.Reload()
	alone := s.request("make x")
	alone.CWD, alone.Repo.Root = s.path("work/inner"), s.path("work/inner")
	if v := s.Eval(alone, alone.ToolInput); v.Action != hook.ActionDeny {
		t.Errorf("with no other file: %+v", v)
	}
	s.put("work/.assent/rules.yaml", broken)
	req := s.request("ls")
	req.CWD, req.Repo.Root = s.path("work/inner"), s.path("work/inner")
	if v := s.Eval(req, req.ToolInput); v.Action != hook.ActionAsk || !strings.Contains(v.Reason, "broken") {
		t.Errorf("with a broken file: %+v", v)
	}
}
