package policy

import (
	"os"
	"strings"
	"testing"

	"assent/internal/hook"
)

// What the packs that open no connection allow names no path at which an automounter may wait.
func TestPathsThatMayNameAMachine(t *testing.T) {
	set := load(t, "version: 1\nuse: [builtin/readonly@1, builtin/git-read@1, builtin/macos-read@1]\n")
	for _, c := range commands(t, "network-ask.txt") {
		if v := set.Eval(bashCall(c)); v.Action == hook.ActionAllow {
			t.Errorf("allowed by %s: %s", v.Rule, c)
		}
	}
	// A line break is a character of a name as any other, and a flag may be longer than the path in it.
	for _, c := range []string{
		"cat '/net/evil/x\ny'", `cat $'/net/evil/a\nb'`, "ls '../../../../../net/evil/a\nb'", "cat < '/net/evil/x\ny'", "wc -l '/corp/x\n'", "cat '//evil/share/x\ny'",
		"ls --hide=/net/evil/" + strings.Repeat("./", 2040) + "x",
	} {
		if v := set.Eval(bashCall(c)); v.Action == hook.ActionAllow {
			t.Errorf("allowed by %s: %.80q", v.Rule, c)
		}
	}
	for _, c := range commands(t, "network-allow.txt") {
		if v := set.Eval(bashCall(c)); v.Action != hook.ActionAllow {
			t.Errorf("%s: %s", c, v.Reason)
		}
	}
	for file, want := range map[string]hook.Action{
		"/net/example.com/x": hook.ActionAsk, "/AFS/example.com/x": hook.ActionAsk, "//example.com/share/x": hook.ActionAsk, "/private/net/h/x": hook.ActionAsk, "/corp/x": hook.ActionAsk,
		"/usr/include/stdio.h": hook.ActionAllow, "/home/user/other/x": hook.ActionAllow, "/tmp/x": hook.ActionAllow,
	} {
		if v := set.Eval(toolCall("Read", map[string]any{"file_path": file})); v.Action != want {
			t.Errorf("Read %s: %s, want %s (%s)", file, v.Action, want, v.Reason)
		}
	}
}

// A project that lies in a directory of its own below / is read with what lies beside it, but no
// machine beside the one that the project is on.
func TestAProjectInAPlaceOfItsOwn(t *testing.T) {
	set := load(t, "version: 1\nuse: [builtin/readonly@1]\n")
	for project, rows := range map[string]map[string]hook.Action{
		"/w/project":        {"cat /w/project/a": hook.ActionAllow, "cat /w/shared/a": hook.ActionAllow, "cat /x/a": hook.ActionAsk},
		"/project":          {"cat /project/a": hook.ActionAllow, "ls /other": hook.ActionAsk},
		"/net/host/project": {"cat /net/host/project/a": hook.ActionAllow, "cat /net/host/b": hook.ActionAllow, "cat /net/evil/a": hook.ActionAsk},
		"/net/host":         {"cat /net/host/a": hook.ActionAllow, "cat /net/evil/a": hook.ActionAsk, "cat ../evil/a": hook.ActionAsk},
	} {
		for command, want := range rows {
			c := bashCall(command)
			c.Cwd, c.Project = project, project
			if v := set.Eval(c); v.Action != want {
				t.Errorf("in %s: %s: %s, want %s (%s)", project, command, v.Action, want, v.Reason)
			}
		}
	}
}

// A rule of the user's own opens such a place, and nothing runs contained with one.
func TestPathsOnOtherMachinesThatARuleNames(t *testing.T) {
	set := load(t, "version: 1\nuse: [builtin/readonly@1]\nallow: [\"Bash(cat /corp/data/*)\"]\nrules: [{id: c, action: allow, contain: read, match: {command: {program: [cat, ls]}}}]\n")
	for command, want := range map[string]hook.Action{"cat /corp/data/x": hook.ActionAllow, "cat /net/evil/x": hook.ActionAsk, "ls -Z /net/evil/x": hook.ActionAsk, "cat < /net/evil/x": hook.ActionAsk} {
		c := bashCall(command)
		c.Contain = true
		if v := set.Eval(c); v.Action != want {
			t.Errorf("%s: %s, want %s (%s)", command, v.Action, want, v.Reason)
		}
	}
}

// The rules themselves look nothing up where an automounter waits, and follow a link of the project to there
// only by its text.
func TestNothingIsLookedUpAtAnAutomounter(t *testing.T) {
	set := load(t, "version: 1\nuse: [builtin/readonly@1]\nallow: [\"Read(//**)\", \"Bash(cat *)\"]\ndeny: [\"Read(//net/other/**)\"]\n")
	set.linkless = nil
	set.readlink = func(at string) (string, error) {
		switch {
		case strings.HasPrefix(strings.ToLower(at), "/net") || strings.HasPrefix(at, "/afs"):
			t.Errorf("looked up %s", at)
		case at == testProject+"/link":
			return "/net/evil/x", nil
		}
		return "", os.ErrInvalid
	}
	for _, command := range []string{"cat /net/evil/x", "ls ../../../net/evil", "cat link", "stat /afs/evil/x", "find /Net/evil", "cat < /net/evil/x", "cd /net/evil && git log"} {
		set.Eval(bashCall(command))
	}
	if v := set.Eval(toolCall("Read", map[string]any{"file_path": "/net/other/x"})); v.Action != hook.ActionDeny {
		t.Errorf("a deny of a place on another machine: %s", v.Action)
	}
	quiet := load(t, "version: 1\nuse: [builtin/readonly@1]\n")
	quiet.readlink, quiet.linkless = set.readlink, nil
	for _, command := range []string{"cat link", "ls link", "stat -L link", "test -e link", "cat link/y", "wc -l < link"} {
		quiet.Eval(bashCall(command)) // what is remembered of links changes nothing
		if v := quiet.Eval(bashCall(command)); v.Action != hook.ActionAsk {
			t.Errorf("%s: %s", command, v.Action)
		}
	}
}

// connecting are programs that open connections whatever their words say.
var connecting = strings.Fields(`curl wget http https xh ssh scp sftp rsync nc ncat telnet ftp dig host nslookup ping traceroute mtr whois
	gh glab aws az gcloud kubectl helm docker podman npm pnpm yarn pip pip3 brew cargo go terraform psql mysql redis-cli mongosh`)

// TestPacksSayWhetherTheyConnect: a pack says in its own file whether its commands may open a connection, and
// nobody else can say it.
func TestPacksSayWhetherTheyConnect(t *testing.T) {
	silent := &reader{file: "x"}
	readFile(silent, Source{Name: "builtin/x@1", Layer: Builtin, Data: []byte("version: 1\nallow: [\"Bash(ls)\"]\n")})
	if len(silent.problems) != 1 || !strings.Contains(silent.problems[0].Message, "expected connects: true or connects: false") {
		t.Errorf("a pack that does not say it: %v", silent.problems)
	}
	_, err := Load([]Source{{Name: "mine.yaml", Data: []byte("version: 1\nconnects: false\nallow: [\"Bash(ls)\"]\n")}}, LoadOptions{})
	if err == nil || !strings.Contains(err.Error(), "only packs that come with assent") {
		t.Errorf("a user's file that says it: %v", err)
	}
	quiet := 0
	for _, name := range Packs() {
		data, err := pack(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range readFile(&reader{file: name}, Source{Name: name, Layer: Builtin, Data: data}).rules {
			if !r.quiet() || r.match.command == nil || r.guard() {
				continue
			}
			quiet++
			for _, g := range r.match.command.programs {
				for _, p := range connecting {
					if v := r.id; g.match(p) && !strings.Contains(v, "help") && !strings.Contains(v, "version") {
						t.Errorf("%s says that it opens no connection, and %s allows %s", name, v, p)
					}
				}
			}
		}
	}
	if quiet < 100 {
		t.Errorf("only %d rules are of packs that open no connection", quiet)
	}
}
