package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
)

const (
	allowLs  = "version: 1\nallow: [\"Bash(ls)\"]\n"
	denyRm   = "version: 1\ndeny: [\"Bash(rm:*)\"]\n"
	allowTwo = "version: 1\nallow: [\"Bash(ls)\", \"Bash(pwd)\"]\n"
	broken   = "version: 1\nallwo: [\"Bash(ls)\"]\n"
)

// shelf is a directory of rules files and the book that is made of them.
type shelf struct {
	t   *testing.T
	dir string
	log []string
	*Book
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &shelf{t: t, dir: dir}
}

func (s *shelf) path(name string) string { return filepath.Join(s.dir, name) }

// put writes a file as an editor does that renames.
func (s *shelf) put(name, text string) {
	s.t.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) open() *shelf {
	s.Book = Open(Config{
		User: s.path("user.yaml"), Own: s.path("own.yaml"), Home: s.dir, Host: "here",
		Logf: func(f string, a ...any) { s.log = append(s.log, f) },
	})
	return s
}

// says evaluates a command of an agent in the repository work.
func (s *shelf) says(command string) hook.Verdict {
	req := s.request(command)
	return s.Eval(req, req.ToolInput)
}

func (s *shelf) request(command string) *hook.Request {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		s.t.Fatal(err)
	}
	return &hook.Request{
		ID: "r", Agent: "claude", ToolName: "Bash", ToolInput: input, CWD: s.path("work"), SessionID: "s", PermissionMode: "default",
		Origin: hook.Origin{Host: "here", ProjectDir: s.path("work"), Repo: hook.Repo{Root: s.path("work")}},
	}
}

// want holds what becomes of ls.
func (s *shelf) want(when string, action hook.Action) hook.Verdict {
	s.t.Helper()
	v := s.says("ls")
	if v.Action != action {
		s.t.Errorf("%s: ls is %q (%s), want %q", when, v.Action, v.Reason, action)
	}
	return v
}

// file is how a file stands.
func (s *shelf) file(name string) string {
	for _, f := range s.InForce().Files {
		if f.Path == s.path(name) {
			return f.State
		}
	}
	return "none"
}

func TestNoFileAsks(t *testing.T) {
	s := newShelf(t).open()
	s.want("without a file", hook.ActionAsk)
	if f := s.InForce(); !f.Allowing || len(f.Problems)+len(f.Files) != 0 {
		t.Errorf("in force: %+v", f)
	}
}

func TestRulesAreInForce(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.open()
	v := s.want("allowed", hook.ActionAllow)
	if v.Rule == "" || v.File != s.path("user.yaml") {
		t.Errorf("verdict %+v", v)
	}
	s.want("again", hook.ActionAllow)
	f := s.InForce()
	if len(f.Rules) != 1 || f.Rules[0].Matches != 2 || f.Rules[0].LastMatch.IsZero() || f.Rules[0].Layer != "user" || f.Files[0].State != hook.FileInForce || f.Files[0].LoadedAt.IsZero() {
		t.Errorf("in force: %+v", f)
	}
}

func TestBrokenAtStartAllowsNothing(t *testing.T) {
	s := newShelf(t)
	s.put("own.yaml", "version: 1\nallow: [\"Bash(ls)\"]\ndeny: [\"Bash(rm:*)\"]\n")
	s.put("user.yaml", broken)
	s.open()
	if v := s.want("while a file is broken", hook.ActionAsk); !strings.Contains(v.Reason, "broken") {
		t.Errorf("reason %q", v.Reason)
	}
	if v := s.says("rm -r x"); v.Action != hook.ActionDeny {
		t.Errorf("the other file's denial: %+v", v)
	}
	f := s.InForce()
	if f.Allowing || len(f.Problems) == 0 || f.Problems[0].File != s.path("user.yaml") || f.Problems[0].Line != 2 || s.file("user.yaml") != hook.FileBroken {
		t.Errorf("in force: %+v", f)
	}
	s.put("user.yaml", denyRm)
	s.Reload()
	s.want("fixed", hook.ActionAllow)
	if f := s.InForce(); !f.Allowing || len(f.Problems) != 0 {
		t.Errorf("in force: %+v", f)
	}
}

func TestBrokenLaterLeavesTheLastGood(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.put("own.yaml", denyRm)
	s.open()
	before := s.InForce().Files
	s.put("user.yaml", broken)
	s.put("own.yaml", allowTwo) // another file's change counts all the same
	s.Reload()
	s.want("after the mistake", hook.ActionAllow)
	if v := s.says("pwd"); v.Action != hook.ActionAllow {
		t.Errorf("the other file: %+v", v)
	}
	f := s.InForce()
	if !f.Allowing || len(f.Problems) == 0 || s.file("user.yaml") != hook.FileLastGood || !f.Files[0].LoadedAt.Equal(before[0].LoadedAt) {
		t.Errorf("in force: %+v", f)
	}
	s.Reload()
	s.want("after another look", hook.ActionAllow)
	s.put("user.yaml", denyRm)
	s.put("own.yaml", denyRm)
	s.Reload()
	s.want("after the rule is gone", hook.ActionAsk)
	if f := s.InForce(); len(f.Problems) != 0 {
		t.Errorf("in force: %+v", f)
	}
}

func TestAFileThatIsGoneTakesItsRulesWithIt(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.open()
	if err := os.Remove(s.path("user.yaml")); err != nil {
		t.Fatal(err)
	}
	s.Reload()
	s.want("gone", hook.ActionAsk)
	if f := s.InForce(); !f.Allowing || len(f.Files) != 0 || len(f.Rules) != 0 {
		t.Errorf("in force: %+v", f)
	}
}

func TestAFileThatWasAskedForMustBeThere(t *testing.T) {
	s := newShelf(t)
	s.put("own.yaml", allowLs)
	s.Book = Open(Config{User: s.path("user.yaml"), UserNamed: true, Own: s.path("own.yaml"), Home: s.dir, Host: "here"})
	s.want("missing", hook.ActionAsk)
	if f := s.InForce(); f.Allowing || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, "no such file") {
		t.Errorf("in force: %+v", f)
	}
}

func TestFilesThatOthersCanWriteAreRefused(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(s *shelf) error
	}{
		{"chmod go-w " + "user.yaml", func(s *shelf) error { return os.Chmod(s.path("user.yaml"), 0o666) }},
		{"chmod go-w", func(s *shelf) error { return os.Chmod(s.dir, 0o777) }},
		{"no regular file", func(s *shelf) error {
			if err := os.Remove(s.path("user.yaml")); err != nil {
				return err
			}
			return os.Mkdir(s.path("user.yaml"), 0o700)
		}},
		{"larger than", func(s *shelf) error {
			return os.WriteFile(s.path("user.yaml"), []byte(allowLs+"#"+strings.Repeat("x", maxFile)), 0o600)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Run(row.name, func(t *testing.T) {
				s := newShelf(t)
				s.put("user.yaml", allowLs)
				if err := row.spoil(s); err != nil {
					t.Fatal(err)
				}
				s.open()
				s.want("untrusted", hook.ActionAsk)
				f := s.InForce()
				if f.Allowing || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, strings.TrimSuffix(row.name, " user.yaml")) {
					t.Errorf("in force: %+v", f)
				}
			})
		})
	}
}

func TestAnotherUsersFileIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	if err := os.Chown(s.path("user.yaml"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.want("untrusted", hook.ActionAsk)
	if f := s.InForce(); len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, "chown 0 ") {
		t.Errorf("in force: %+v", f)
	}
}

func TestManagedFileMustBeRoots(t *testing.T) {
	s := newShelf(t)
	s.put("managed.yaml", denyRm)
	b := Open(Config{Managed: s.path("managed.yaml"), Home: s.dir, Host: "here"})
	f := b.InForce()
	if os.Geteuid() == 0 {
		if len(f.Problems) != 0 || len(f.Files) != 1 || f.Files[0].Layer != "managed" || b.Verification() != "" {
			t.Errorf("in force: %+v", f)
		}
		if err := os.Chown(s.path("managed.yaml"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		b.Reload()
		f = b.InForce()
	}
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, "must belong to root") {
		t.Errorf("in force: %+v", f)
	}
	// Nobody knows what such a file wants of people.
	if b := Open(Config{Managed: s.path("managed.yaml"), Home: s.dir, Host: "here"}); b.Verification() != hook.VerifyDanger {
		t.Errorf("verification %q", b.Verification())
	}
}

func TestAUsersFileMayBeALink(t *testing.T) {
	s := newShelf(t)
	s.put("dotfiles/rules.yaml", allowLs)
	if err := os.Symlink(s.path("dotfiles/rules.yaml"), s.path("user.yaml")); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.want("by a link", hook.ActionAllow)
	if err := os.Chmod(s.path("dotfiles"), 0o777); err != nil {
		t.Fatal(err)
	}
	if s.current(s.look()) {
		t.Error("nobody noticed that others can write where the link leads")
	}
}

func TestRepositoryTightens(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowTwo)
	s.put("work/.assent/rules.yaml", "version: 1\nallow: [\"Bash(make)\"]\ndeny: [\"Bash(ls)\"]\n")
	s.open()
	if v := s.want("in the repository", hook.ActionDeny); v.File != s.path("work/.assent/rules.yaml") {
		t.Errorf("verdict %+v", v)
	}
	if v := s.says("make"); v.Action != hook.ActionAsk {
		t.Errorf("a repository allows by itself: %+v", v)
	}
	if v := s.says("pwd"); v.Action != hook.ActionAllow {
		t.Errorf("what it says nothing about: %+v", v)
	}
	f := s.InForce()
	if len(f.Notices) == 0 || s.file("work/.assent/rules.yaml") != hook.FileInForce {
		t.Errorf("in force: %+v", f)
	}
	s.put("work/.assent/rules.yaml", "version: 1\nask: [\"Bash(ls)\"]\n")
	s.want("after a change, at once", hook.ActionAsk)
	if err := os.Remove(s.path("work/.assent/rules.yaml")); err != nil {
		t.Fatal(err)
	}
	s.want("after it is gone, at once", hook.ActionAllow)
}

func TestRepositoryFollowsTheOtherFiles(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", allowLs)
	s.put("work/.assent/rules.yaml", denyRm)
	s.open()
	s.want("first", hook.ActionAllow)
	s.put("user.yaml", denyRm)
	s.Reload()
	s.want("after the person's file changed", hook.ActionAsk)
}

func TestBrokenRepositoryAsks(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(s *shelf) error
	}{
		{"a mistake", func(s *shelf) error { s.put("work/.assent/rules.yaml", broken); return nil }},
		{"too large", func(s *shelf) error {
			s.put("work/.assent/rules.yaml", denyRm+"#"+strings.Repeat("x", maxRepoFile))
			return nil
		}},
		{"a link out of it", func(s *shelf) error { return os.Symlink(s.path("user.yaml"), s.path("work/.assent/rules.yaml")) }},
		{"a directory", func(s *shelf) error { return os.Mkdir(s.path("work/.assent/rules.yaml"), 0o700) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newShelf(t)
			s.put("user.yaml", "version: 1\nallow: [\"Bash(ls)\"]\ndeny: [\"Bash(rm:*)\"]\n")
			if err := os.MkdirAll(s.path("work/.assent"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := row.make(s); err != nil {
				t.Fatal(err)
			}
			s.open()
			for range 2 { // the second time from memory
				if v := s.want("in a broken repository", hook.ActionAsk); !strings.Contains(v.Reason, "this repository's rules are broken") {
					t.Errorf("reason %q", v.Reason)
				}
			}
			if v := s.says("rm x"); v.Action != hook.ActionDeny {
				t.Errorf("the person's denial: %+v", v)
			}
			if f := s.InForce(); !f.Allowing || len(f.Problems) != 0 || s.file("work/.assent/rules.yaml") != hook.FileBroken {
				t.Errorf("in force: %+v", f)
			}
		})
	}
}

func TestRepositoriesAreBounded(t *testing.T) {
	s := newShelf(t)
	s.open()
	for i := range maxRepos + 5 {
		root := s.path("r" + string(rune('a'+i/26)) + string(rune('a'+i%26)))
		if err := os.MkdirAll(root+"/.assent", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/"+repoFile, []byte(denyRm), 0o600); err != nil {
			t.Fatal(err)
		}
		if set, why := s.repository(root); set == nil || why != "" {
			t.Fatalf("repository %s: %s", root, why)
		}
	}
	if len(s.repos) != maxRepos {
		t.Errorf("%d repositories are kept", len(s.repos))
	}
}

// TestNoPathIsAllowedThatCannotBeSeen: links cannot be followed where the files are not.
func TestNoPathIsAllowedThatCannotBeSeen(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", `version: 1
rules:
  - {id: build, action: allow, match: {command: {program: rm, flags: {only: [-r]}, paths: ["${project}/build/**"]}}}
  - {id: docs, action: allow, match: {file: {op: [edit, write], path: ["${project}/docs/**"]}}}
  - {id: keys, action: deny, match: {file: {op: [read, edit, write], path: ["${project}/keys/**"]}}}
  - {id: vet, action: allow, match: {command: {program: go, args: [vet, ./...]}}}
`)
	s.open()
	work := s.path("work")
	for _, where := range []struct {
		name, host, cwd string
		want            hook.Action
	}{
		{"here", "here", work, hook.ActionAllow},
		{"another machine", "there", work, hook.ActionAsk},
		{"an unknown machine", "", work, hook.ActionAsk},
		{"a container", "here", "/home/nobody-here/work", hook.ActionAsk},
	} {
		eval := func(tool, input string) hook.Action {
			req := &hook.Request{
				Agent: "claude", ToolName: tool, ToolInput: hook.JSON(input), CWD: where.cwd, SessionID: "s", PermissionMode: "default",
				Origin: hook.Origin{Host: where.host, ProjectDir: where.cwd},
			}
			return s.Eval(req, req.ToolInput).Action
		}
		if got := eval("Bash", `{"command":"rm -r build/x"}`); got != where.want {
			t.Errorf("%s: a command with a path is %q, want %q", where.name, got, where.want)
		}
		if got := eval("Write", `{"file_path":"`+where.cwd+`/docs/x.md","content":"x"}`); got != where.want {
			t.Errorf("%s: a file is %q, want %q", where.name, got, where.want)
		}
		if got := eval("Write", `{"file_path":"`+where.cwd+`/keys/x","content":"x"}`); got != hook.ActionDeny {
			t.Errorf("%s: a denied file is %q", where.name, got)
		}
		if got := eval("Bash", `{"command":"go vet ./..."}`); got != hook.ActionAllow {
			t.Errorf("%s: a command without a path is %q", where.name, got)
		}
	}
}

func TestRepoName(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"https://github.com/acme/app.git", "github.com/acme/app"}, {"https://GitHub.com:443/acme/app/", "github.com/acme/app"},
		{"git@github.com:acme/app.git", "github.com/acme/app"}, {"ssh://git@github.com:22/acme/app", "github.com/acme/app"},
		{"github.com:acme/app", "github.com/acme/app"}, {"https://u@h/x", "h/x"},
		{"", ""}, {"/srv/git/app", ""}, {"./x:y", ""}, {"file:///srv/app", ""}, {"https://github.com/acme/../evil/app", ""}, {"https://github.com//app", ""},
		{"https://github.com", ""}, {"git@github.com:../x", ""}, {"https://github.com/a%2fb", ""}, {"https://github.com/acme/*", ""}, {"../app", ""},
	} {
		t.Run(row.in, func(t *testing.T) {
			if got := policy.RepoName(row.in); got != row.want {
				t.Errorf("RepoName(%q) = %q, want %q", row.in, got, row.want)
			}
		})
	}
}

// TestRunWaitsUntilAFileIsWhole: in a bubble time is the test's; the files are real.
func TestRunWaitsUntilAFileIsWhole(t *testing.T) {
	s := newShelf(t)
	s.put("user.yaml", "version: 1\nallow: [\"Bash(ls)\"]\ndeny: [\"Bash(ls -a)\"]\n")
	s.open()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := testContext(t)
		var changes atomic.Int32
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, func() { changes.Add(1) }) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(10 * lookEvery)
		synctest.Wait()
		if n := changes.Load(); n != 0 {
			t.Errorf("%d changes of nothing", n)
		}
		s.put("user.yaml", allowTwo[:11]) // the beginning of it
		time.Sleep(lookEvery)             // seen
		synctest.Wait()
		s.put("user.yaml", allowTwo)
		time.Sleep(settle) // it was not what was seen
		synctest.Wait()
		if changes.Load() != 0 {
			t.Error("a file was read while it was being written")
		}
		time.Sleep(settle)
		synctest.Wait()
		if v := s.says("pwd"); changes.Load() != 1 || v.Action != hook.ActionAllow {
			t.Errorf("%d changes, pwd is %+v", changes.Load(), v)
		}
	})
}

func testContext(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
