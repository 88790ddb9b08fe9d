package policy

import (
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestAlikeTable: the table can be read, and no row says of a command that it does what it is.
func TestAlikeTable(t *testing.T) {
	table, err := readAlike(alikeText)
	if err != nil {
		t.Fatal(err)
	}
	for program, rows := range table {
		seen := map[string]bool{}
		for _, r := range rows {
			key := strings.Join(r.words, " ") + " " + strings.Join(r.flags, " ") + " = " + r.program + " " + strings.Join(r.other, " ")
			if seen[key] || len(r.other) == 0 && r.program == "" || r.program == "" && len(r.flags) == 0 && strings.Join(r.words, " ") == strings.Join(r.other, " ") {
				t.Errorf("%s: %s", program, key)
			}
			seen[key] = true
		}
	}
	for _, bad := range []string{"\ta = b", "a\n\tb", "a\n\tb=c"} {
		if _, err := readAlike(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestAlikeIsTold: who is asked is told which command does the same, and a rule that is only about what is certain is
// not meant.
func TestAlikeIsTold(t *testing.T) {
	s := load(t, "version: 1\nallow: [\"Bash(terraform *)\"]\ndeny: [\"Bash(terraform apply *)\"]\n")
	v := s.Explain(bash("terraform -chdir=x destroy -auto-approve"))
	if v.Action != hook.ActionAsk || !strings.Contains(v.Reason, "may do what `terraform apply") {
		t.Errorf("%s: %s", v.Action, v.Reason)
	}
	for _, certain := range []string{"false", "true"} {
		s = load(t, "version: 1\nallow: [\"Bash(terraform *)\"]\nrules: [{id: x, action: ask, certain: "+certain+", match: {command: {program: terraform, args: [apply, ...]}}}]\n")
		if v := s.Eval(bash("terraform destroy")); (v.Action == hook.ActionAllow) != (certain == "true") {
			t.Errorf("certain: %s: %s (%s)", certain, v.Action, v.Reason)
		}
	}
}

// TestShellsThatAreNotRead: what another shell would run is allowed by nothing, and denied as bash reads it.
func TestShellsThatAreNotRead(t *testing.T) {
	s := load(t, "version: 1\nuse: [builtin/readonly@1]\nallow: [\"Bash(ls *)\"]\ndeny: [\"Bash(rm *)\"]\n")
	for _, row := range []struct {
		shell, cwd string
		want       hook.Action
	}{
		{"", "/home/user/project", hook.ActionAllow}, {"bash", "/home/user/project", hook.ActionAllow}, {"zsh", "/home/user/project", hook.ActionAllow}, {"sh", "/home/user/project", hook.ActionAllow},
		{"powershell", "/home/user/project", hook.ActionAsk}, {"pwsh", "/home/user/project", hook.ActionAsk}, {"cmd", "/home/user/project", hook.ActionAsk}, {"fish", "/home/user/project", hook.ActionAsk},
		{"", `C:\Users\user\project`, hook.ActionAsk}, {"bash", `\\server\share`, hook.ActionAsk}, {"", "project", hook.ActionAsk},
	} {
		for _, cmd := range []string{`echo "a\"; rm x #"`, "ls", "cat a"} {
			c := bash(cmd)
			c.Shell, c.Cwd = row.shell, row.cwd
			if v := s.Eval(c); v.Action != row.want {
				t.Errorf("%q in %q, %s: %s (%s), want %s", row.shell, row.cwd, cmd, v.Action, v.Reason, row.want)
			}
		}
		c := bash("rm x")
		c.Shell, c.Cwd = row.shell, row.cwd
		if v := s.Eval(c); v.Action != hook.ActionDeny {
			t.Errorf("%q in %q: rm is not denied but %s", row.shell, row.cwd, v.Action)
		}
	}
}

// TestTextsThatAreReadInPart: what stands behind the part of a text that is looked at is denied or asked about, whoever
// is handed it.
func TestTextsThatAreReadInPart(t *testing.T) {
	s := load(t, "version: 1\nallow: [mcp__a, \"Bash(a *)\"]\ndeny: [\"Bash(rm *)\"]\n")
	for name, text := range map[string]string{
		"pieces": strings.Repeat("a;", 300) + "rm x; (", "long": strings.Repeat("a b;", 4000) + "rm x", "quoted": strings.Repeat("a;", 300) + `r"m" x; (`, "path": strings.Repeat("a;", 300) + `/bin/rm x; (`,
		"longer": strings.Repeat("a b;", 30_000) + "rm x",
	} {
		c := bash(text)
		if v := s.Eval(c); v.Action == hook.ActionAllow {
			t.Errorf("%s: allowed", name)
		}
		for _, tool := range []string{"mcp__a__run", "mcp__a__other"} {
			c.Tool = tool
			if v := s.Eval(c); v.Action != hook.ActionAsk {
				t.Errorf("%s by %s: %s (%s)", name, tool, v.Action, v.Reason)
			}
		}
	}
	c := bash(strings.Repeat("a b;", 4000) + "form rm-x arm.rm")
	c.Tool = "mcp__a__run"
	if v := s.Eval(c); v.Action != hook.ActionAllow {
		t.Errorf("what names no denied program: %s (%s)", v.Action, v.Reason)
	}
}

// TestBoundsRefuse: what stands behind a bound of what is looked at is not allowed by that: a command is asked about, or what is denied is
// found all the same.
func TestBoundsRefuse(t *testing.T) {
	many := func(n int, word string) string { return strings.Repeat(word+" ", n) }
	s := load(t, "version: 1\nallow: [\"Bash(make *)\", \"Bash(foo *)\", \"Bash(find *)\", \"Bash(terragrunt *)\", \"Bash(sed *)\", \"Bash(git *)\"]\ndeny: [\"Bash(rm -r *)\", \"Bash(terragrunt destroy *)\"]\n")
	for _, behind := range []string{
		"make " + many(20, "A=ls") + "RUN='rm -r x'",
		"foo " + many(20, "'ls a'") + "'rm -r x'",
		"foo " + many(60, "'ls a'") + "'rm -r x'",
		"foo " + many(20, "rm") + "-r x",
		"foo " + many(20, "rm x;") + "foo rm -r x",
		"find . " + many(60, "-exec rm x ';'") + "-exec rm -r x ';'",
		"for v in " + many(20, "apply-all") + "destroy-all; do terragrunt $v; done",
		"sed " + many(20, "-e '1e ls a'") + "-e '1e rm -r x'",
		"git " + many(60, "-c alias.x='!ls a'") + "-c alias.y='!rm -r x' y",
	} {
		if v := s.Eval(bash(behind)); v.Action == hook.ActionAllow {
			t.Errorf("allowed: %.60s", behind)
		}
	}
	for _, fine := range []string{"foo " + many(20, "'ls a'"), "make " + many(20, "A=ls"), "foo " + many(60, "a")} {
		if v := s.Eval(bash(fine)); v.Action != hook.ActionAllow {
			t.Errorf("%s (%s): %.60s", v.Action, v.Reason, fine)
		}
	}
	s = load(t, "version: 1\nallow: [\"mcp__x__run\"]\ndeny: [\"Bash(rm -r *)\"]\n")
	for _, list := range []string{`"rm","-r"`, `"foo"` + strings.Repeat(`,"a"`, 100) + `,"rm","-r"`, `"rm"` + strings.Repeat(`,"-v"`, 100) + `,"-r"`} {
		c := Call{Agent: "claude", Tool: "mcp__x__run", Input: []byte(`{"argv":[` + list + `,"x"]}`), Cwd: "/home/user/project", Project: "/home/user/project", Home: "/home/user", Mode: "default"}
		if v := s.Eval(c); v.Action == hook.ActionAllow {
			t.Errorf("allowed: %.60s", list)
		}
	}
}
