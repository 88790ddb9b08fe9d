package optin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const client = "#!/bin/sh\necho '2.1.329 (Claude Code)'\n"

// workplace is an agent against which nothing stands, and what it is looked at in.
func workplace(t *testing.T) (Agent, Surroundings) {
	t.Helper()
	dir := home(t)
	a := Agent{Name: "coder", Project: filepath.Join(dir, "app"), CLI: filepath.Join(dir, "bin", "claude"), Mode: "default"}
	write(t, filepath.Join(a.Project, "main.go"), "package main\n", 0o600)
	write(t, a.CLI, client, 0o700)
	return a, Surroundings{Home: dir, ManagedDir: filepath.Join(dir, "managed"), SearchPath: "/usr/bin:/bin", Accepted: Accepted{filepath.Join(dir, "state", "agents", "accepted.json")}}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestLook(t *testing.T) {
	settings := func(a Agent) string { return filepath.Join(a.Project, ".claude", "settings.json") }
	for _, c := range []struct {
		name    string
		arrange func(t *testing.T, a *Agent, s *Surroundings)
		finding string // that refuses it; "" if none does
		detail  string // in a finding
	}{
		{"all is well", func(*testing.T, *Agent, *Surroundings) {}, "", "Claude Code 2.1.329"},
		{"no project", func(t *testing.T, a *Agent, s *Surroundings) { a.Project += "x" }, "project", "no directory"},
		{"others can write to the project", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, a.Project, 0o720) }, "project", "the group "},
		{"everybody can", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, a.Project, 0o777) }, "project", "everybody can write to"},
		{"everybody can, with a sticky bit", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, a.Project, 0o777|os.ModeSticky) }, "project", "everybody can write to"},
		{"others can write to its parent", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, filepath.Dir(a.Project), 0o777) }, "projectprogram", "everybody can write to"},
		{"the project is a link", func(t *testing.T, a *Agent, s *Surroundings) {
			link(t, a.Project, a.Project+"-link")
			a.Project += "-link"
		}, "project", "is a link"},
		{"others can write to a file in it", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(a.Project, "x", "y.sh"), "", 0o666)
		}, "project", "y.sh"},
		{"below another work tree", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(filepath.Dir(a.Project), ".git", "HEAD"), "ref: refs/heads/main\n", 0o600)
			for _, d := range []string{"objects", "refs"} {
				if err := os.Mkdir(filepath.Join(filepath.Dir(a.Project), ".git", d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}, "project", "work tree"},
		{"no commit for a work tree", func(t *testing.T, a *Agent, s *Surroundings) {
			a.Worktree = true
			write(t, filepath.Join(a.Project, ".git", "HEAD"), "ref: refs/heads/main\n", 0o600)
			for _, d := range []string{"objects", "refs"} {
				if err := os.Mkdir(filepath.Join(a.Project, ".git", d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}, "", "no commit was found"},
		{"a repository elsewhere to which others can write", func(t *testing.T, a *Agent, s *Surroundings) {
			repo := filepath.Join(filepath.Dir(a.Project), "shared.git")
			write(t, filepath.Join(repo, "worktrees", "app", "HEAD"), "ref: refs/heads/main\n", 0o600)
			write(t, filepath.Join(repo, "worktrees", "app", "commondir"), "../..\n", 0o600)
			write(t, filepath.Join(repo, "refs", "x"), "", 0o600)
			write(t, filepath.Join(repo, "objects", "x"), "", 0o600)
			write(t, filepath.Join(repo, "config"), "[core]\n", 0o666)
			write(t, filepath.Join(a.Project, ".git"), "gitdir: "+filepath.Join(repo, "worktrees", "app")+"\n", 0o600)
		}, "project", "shared.git/config"},
		{"a link to a repository of others", func(t *testing.T, a *Agent, s *Surroundings) {
			repo := filepath.Join(filepath.Dir(a.Project), "shared.git")
			write(t, filepath.Join(repo, "HEAD"), "ref: refs/heads/main\n", 0o600)
			write(t, filepath.Join(repo, "refs", "x"), "", 0o600)
			write(t, filepath.Join(repo, "objects", "x"), "", 0o600)
			chmod(t, repo, 0o770)
			link(t, repo, filepath.Join(a.Project, ".git"))
		}, "project", "shared.git"},
		{"the program is in the project", func(t *testing.T, a *Agent, s *Surroundings) {
			a.CLI = filepath.Join(a.Project, "node_modules", "claude")
			write(t, a.CLI, client, 0o700)
		}, "program", "is in the project"},
		{"the program is a link into the project", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(a.Project, "claude"), client, 0o700)
			a.CLI = filepath.Join(filepath.Dir(a.Project), "claude")
			link(t, filepath.Join(a.Project, "claude"), a.CLI)
		}, "program", "is in the project"},
		{"hooks in the project", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, settings(*a), `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}]},"permissions":{"allow":["Bash(*)"]}}`, 0o600)
		}, "accepted", "1 hook (PreToolUse); permission for Bash(*)"},
		{"a program for the key", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, settings(*a), `{"$schema":"x","apiKeyHelper":"./key.sh","env":{"A":"b"},"permissions":{}}`, 0o600)
		}, "accepted", ".claude/settings.json: sets apiKeyHelper, env"},
		{"an empty settings file", func(t *testing.T, a *Agent, s *Surroundings) { write(t, settings(*a), `{}`, 0o600) }, "accepted", ".claude/settings.json"},
		{"a skill", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(a.Project, ".claude/skills/x/SKILL.md"), "---\nallowed-tools: Bash\n---\n", 0o600)
		}, "accepted", "SKILL.md"},
		{"servers", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(a.Project, ".mcp.json"), `{}`, 0o600)
		}, "accepted", ".mcp.json"},
		{"servers above the project", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(filepath.Dir(a.Project), ".mcp.json"), `{}`, 0o600)
		}, "accepted", "../.mcp.json"},
		{"a skill above a project without git", func(t *testing.T, a *Agent, s *Surroundings) {
			s.Home += "/of"
			write(t, filepath.Join(filepath.Dir(a.Project), ".claude/skills/x/SKILL.md"), "", 0o600)
		}, "accepted", "../.claude/skills/x/SKILL.md"},
		{"the person's own, above the project", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.Home, ".claude/skills/x/SKILL.md"), "", 0o600)
		}, "", "nothing to accept"},
		{"servers above the project, of others", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(filepath.Dir(a.Project), ".mcp.json"), `{}`, 0o666)
		}, "accepted", "everybody can write to"},
		{"a link in .claude", func(t *testing.T, a *Agent, s *Surroundings) {
			link(t, "/etc", filepath.Join(a.Project, ".claude", "skills"))
		}, "accepted", "is a link"},
		{".claude is a link", func(t *testing.T, a *Agent, s *Surroundings) { link(t, "/etc", filepath.Join(a.Project, ".claude")) }, "accepted", "is a link"},
		{"work trees that Claude Code made", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(a.Project, ".claude/worktrees/one/.claude/settings.json"), `{}`, 0o600)
		}, "", "nothing to accept"},
		{"auto in the person's settings", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.Home, ".claude/settings.json"), `{"permissions":{"defaultMode":"auto"}}`, 0o600)
		}, "mode", "mode auto"},
		{"bypass in the administrator's", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.ManagedDir, "managed-settings.json"), `{"permissions":{"defaultMode":"bypassPermissions"}}`, 0o600)
		}, "mode", "mode bypassPermissions"},
		{"no hooks at all", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.Home, ".claude/settings.json"), `{"disableAllHooks":true}`, 0o600)
		}, "mode", "switches all hooks off"},
		{"the administrator's hooks only", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.ManagedDir, "managed-settings.json"), `{"allowManagedHooksOnly":true}`, 0o600)
		}, "mode", "no hooks run but its own"},
		{"settings that nobody can read", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.Home, ".claude/settings.json"), `{"permissions":`, 0o600)
		}, "mode", "cannot be read"},
		{"the person allows calls", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, filepath.Join(s.Home, ".claude/settings.json"), `{"permissions":{"allow":["Read","Bash(ls)"]}}`, 0o600)
		}, "", "settings allow 2 kinds of calls"},
		{"no program", func(t *testing.T, a *Agent, s *Surroundings) { a.CLI += "x" }, "program", "no such file"},
		{"others can write to the program", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, a.CLI, 0o722) }, "program", "everybody can write to"},
		{"a program that is none", func(t *testing.T, a *Agent, s *Surroundings) { chmod(t, a.CLI, 0o600) }, "program", "is no program"},
		{"a link to the program", func(t *testing.T, a *Agent, s *Surroundings) {
			link(t, "claude", a.CLI+"-link")
			a.CLI += "-link"
		}, "", "Claude Code 2.1.329"},
		{"a link that others can change", func(t *testing.T, a *Agent, s *Surroundings) {
			at := filepath.Join(s.Home, "open", "claude")
			link(t, a.CLI, at)
			chmod(t, filepath.Dir(at), 0o777)
			a.CLI = at
		}, "program", "everybody can write to"},
		{"a link to itself", func(t *testing.T, a *Agent, s *Surroundings) {
			link(t, "loop", filepath.Join(s.Home, "loop"))
			a.CLI = filepath.Join(s.Home, "loop")
		}, "program", "more than 16 links"},
		{"an old one", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, a.CLI, strings.Replace(client, "329", "197", 1), 0o700)
		}, "program", "older than"},
		{"a newer one", func(t *testing.T, a *Agent, s *Surroundings) {
			write(t, a.CLI, strings.Replace(client, "329", "999", 1), 0o700)
		}, "", "newer than"},
		{"one that says nothing", func(t *testing.T, a *Agent, s *Surroundings) { write(t, a.CLI, "#!/bin/sh\n", 0o700) }, "program", "says no version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, s := workplace(t)
			c.arrange(t, &a, &s)
			findings := s.Look(t.Context(), a)
			refused, found := "", false
			for _, f := range findings {
				if f.Refused {
					refused += f.Name
					if f.Fix == "" {
						t.Errorf("nothing says what to do: %+v", f)
					}
				}
				found = found || strings.Contains(f.Detail, c.detail)
			}
			if refused != c.finding || !found || Startable(findings) != (c.finding == "") {
				t.Errorf("%+v, want refused by %q, and %q", findings, c.finding, c.detail)
			}
		})
	}
}

// A program that takes its time on a busy machine is not said to be the wrong one.
func TestSlowProgram(t *testing.T) {
	a, s := workplace(t)
	write(t, a.CLI, "#!/bin/sh\nexec sleep 600\n", 0o700)
	s.wait = time.Millisecond
	program := func() Finding {
		all := s.Look(t.Context(), a)
		return all[slices.IndexFunc(all, func(f Finding) bool { return f.Name == "program" })]
	}
	f := program()
	if !f.Refused || !strings.Contains(f.Detail, "no answer within") || !strings.Contains(f.Fix, "busy") || !strings.Contains(f.Fix, "send it again") {
		t.Errorf("%+v", f)
	}
	write(t, a.CLI, "#!/bin/sh\nexec false\n", 0o700)
	s.wait = 0
	if f := program(); !f.Refused || f.Fix != "correct executor.cli in agents.yaml" {
		t.Errorf("one that fails: %+v", f)
	}
	if versionWait < time.Minute {
		t.Error("a busy machine takes longer for a start than a program is given")
	}
}

// What was accepted counts as long as nothing changed, and for one project.
func TestAccepted(t *testing.T) {
	a, s := workplace(t)
	path := filepath.Join(a.Project, ".claude", "settings.json")
	write(t, path, `{"env":{"A":"b"}}`, 0o600)
	has := func(want bool) Brought {
		t.Helper()
		b, err := Bring(a.Project, s.Home)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Accepted.Has(a.Project, b); ok != want || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		return b
	}
	b := has(false)
	if err := s.Accepted.Add(a.Project, b, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	has(true)
	if ok, _ := s.Accepted.Has(a.Project+"2", b); ok {
		t.Error("it counts for another project")
	}
	write(t, filepath.Join(a.Project, ".claude", "b"), "", 0o600)
	has(false)
	if err := os.Remove(filepath.Join(a.Project, ".claude", "b")); err != nil {
		t.Fatal(err)
	}
	has(true)
	write(t, path, `{"env":{"A":"c"}}`, 0o600)
	has(false)
	if fi, err := os.Stat(s.Accepted.Path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	write(t, path, `{"env":{"A":"b"}}`, 0o600)
	for _, text := range []string{"", "[]", `{"x"`} {
		write(t, s.Accepted.Path, text, 0o600)
		if ok, err := s.Accepted.Has(a.Project, b); ok || err == nil {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
	write(t, s.Accepted.Path, "null", 0o666)
	if ok, err := s.Accepted.Has(a.Project, b); ok || err == nil {
		t.Errorf("a file that others can write to: %v, %v", ok, err)
	}
}

// A work tree holds what was committed, and what an agent did there: only what is just as it was accepted counts.
func TestNothingNewInAWorkTree(t *testing.T) {
	a, s := workplace(t)
	tree := Tree(a.Project, "one")
	write(t, filepath.Join(a.Project, ".claude/settings.json"), `{"env":{"A":"b"}}`, 0o600)
	write(t, filepath.Join(tree, "main.go"), "", 0o600)
	is := func(want string) {
		t.Helper()
		if err := NothingNew(a.Project, tree, s.Home); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	is("")
	write(t, filepath.Join(tree, ".claude/settings.json"), `{"env":{"A":"b"}}`, 0o600)
	is("")
	write(t, filepath.Join(tree, ".claude/settings.json"), `{"env":{"A":"c"}}`, 0o600)
	is("not as it was accepted")
	if err := os.RemoveAll(filepath.Join(tree, ".claude")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tree, ".claude/settings.local.json"), `{}`, 0o600)
	is("settings.local.json is not as it was accepted")
	if err := os.RemoveAll(filepath.Join(tree, ".claude")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(a.Project, ".mcp.json"), "{}", 0o600)
	is("")
	write(t, filepath.Join(filepath.Dir(tree), ".mcp.json"), "{}", 0o600)
	is("worktrees/.mcp.json is not as it was accepted")
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	is("no such file")
	link(t, "/etc", tree)
	is("is no directory")
}

// What is more than can be looked at cannot be accepted.
func TestBringIsBounded(t *testing.T) {
	a, s := workplace(t)
	path := filepath.Join(a.Project, ".claude", "large")
	write(t, path, "", 0o600)
	if err := os.Truncate(path, maxBroughtBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Bring(a.Project, s.Home); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}

// Directories with nothing in them are looked at within bounds, too: an agent can make as many as it likes, and the host looks at
// them with the lock that a stop needs.
func TestEmptyDirectoriesAreBounded(t *testing.T) {
	project := t.TempDir()
	for i := range maxBroughtEntries + 1 {
		if err := os.MkdirAll(filepath.Join(project, ".claude", "skills", fmt.Sprint(i%100), fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Bring(project, t.TempDir()); err == nil || !strings.Contains(err.Error(), "more than is looked at") {
		t.Error(err)
	}
}
