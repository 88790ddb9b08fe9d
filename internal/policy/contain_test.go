package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
)

// commonReaders is a rule as somebody would write it who wants what looks to run contained.
const commonReaders = `
  - id: readers
    action: allow
    contain: read
    match: {command: {program: [cat, head, tail, grep, egrep, rg, sed, awk, sort, uniq, wc, cut, tr, ls, find, fd, xargs, echo, printf, jq, diff, file, stat, du, df, tree, nl, od,
      which, dirname, basename, realpath, pwd, date, true, test, "[", column, comm, paste, tac, strings, xxd, hexdump, md5sum, sha256sum, id, whoami, uname, env, sleep]}}
  - id: git-readers
    action: allow
    contain: read
    match: {command: {program: git, args: [[status, log, show, diff, grep, ls-files, ls-tree, blame, rev-parse, rev-list, cat-file, shortlog, describe], ...]}}
`

func contain(text string) Call {
	c := bash(text)
	c.Contain = true
	return c
}

func TestContain(t *testing.T) {
	set := load(t, `version: 1
allow: ["Bash(make test)"]
rules:
  - id: readers
    action: allow
    contain: read
    match: {command: {program: [cat, grep, sort, find, awk, xargs, head, cd]}}
  - id: tail
    action: allow
    contain: read
    match: {command: {program: tail, flags: {only: ["-n="]}}}
  - id: git-log
    action: allow
    contain: read
    match: {command: {program: git, args: [[log, show], ...]}}
deny: ["Bash(rm *)"]
ask: ["Bash(cat secret*)", "Bash(sort --debug *)"]
`)
	for text, want := range map[string]string{
		// Certain: what the rule lists, and what another rule allows.
		"tail -n 5 a": "certain", "make test": "certain",
		// A rule that leaves the flags open allows nothing in any other way.
		"cat a": "contained", "tail -f a": "contained", "sort -o a b": "contained", "awk 'BEGIN{system(\"x\")}'": "contained", "find . -name '*.go' -exec grep -l x {} +": "contained",
		"cat a | sort -u | head": "contained", "(cd sub; cat a)": "contained", "cat a 2>/dev/null || cat b": "contained", "git log -p --output=x": "contained", "cat $(head -1 list)": "ask",
		"grep x *.go": "contained", "timeout 5 cat a": "contained", "find . -name '*.go' | xargs grep x": "contained", "X=1 cat a": "ask", "LANG=C cat a": "contained",
		// Programs that no such rule names.
		"cat a; wc a": "ask", "make test; cat a": "ask", "git push": "ask", "git -c x=y log": "ask", "./cat a": "ask", "/tmp/cat a": "ask", "/usr/bin/cat a": "contained", "$x a": "ask", "c''at a": "contained",
		"find . -exec touch {} +": "ask", "timeout 5 wc a": "ask", "python3 -c 'x'": "ask",
		// What would fail there, or be another thing.
		"cat a > b": "ask", "cat a &": "ask", "cd sub; cat a": "ask", "x=1; cat a": "ask", "export X=1; cat a": "ask", "set -e; cat a": "ask", "f() { cat a; }; f": "ask", "cat a; exec cat b": "ask", "eval 'cat a'": "ask",
		"alias cat=head; cat a": "ask", "source a": "ask", "grep x <(head a)": "contained", "cat << E\n$(head a)\nE": "ask", "trap 'cat a' EXIT": "ask",
		// What nobody reads for certain.
		"cat 'a": "ask", "sudo cat a": "ask", "bash -c \"$x\"": "ask", "echo a | xargs": "ask", "cat a\\": "ask", "cat \u202ea": "ask", "cat ${x@P}": "ask", "cat $((a[0]))": "ask", strings.Repeat("cat a;", 3000): "ask",
		// Rules that deny or ask come first, and in doubt count.
		"rm a": "deny", "cat a; rm b": "deny", "find . -exec rm {} +": "deny", "cat secrets": "ask", "cat {a,secrets}": "ask", "cat s*": "ask", "sort $x a": "ask", "cat $x": "ask",
		// Secrets, and what belongs to assent.
		"cat .env": "ask", "cat ~/.ssh/id_rsa": "ask", "head ~/.aws/credentials": "ask", "cat ~/.local/state/assent/owner.token": "ask", "assent-contain read -- cat a": "ask", "cat a; assent-contain read -- rm b": "deny",
	} {
		c := contain(text)
		v := set.Eval(c)
		got := string(v.Action)
		if v.Action == hook.ActionAllow {
			if got = "certain"; v.Contain != "" {
				got = "contained"
			}
		}
		if got != want {
			t.Errorf("%.100q: %s (%s), want %s", text, got, v.Reason, want)
		}
		if (v.Contain == hook.ContainRead) != (len(v.Programs) > 0) || v.Contain != "" && (v.Action != hook.ActionAllow || v.Rule == "") {
			t.Errorf("%.100q: %+v", text, v)
		}
		// Without a way to run it contained, it has to ask.
		c.Contain = false
		if without := set.Eval(c); want == "contained" && without.Action != hook.ActionAsk || want != "contained" && (without.Action != v.Action || without.Contain != "") {
			t.Errorf("%.100q without: %+v", text, without)
		}
	}
}

func TestContainNeedsPlace(t *testing.T) {
	set := load(t, "version: 1\nrules:\n"+commonReaders)
	for name, change := range map[string]func(*Call){
		"another tool":              func(c *Call) { c.Tool = "PowerShell" },
		"elsewhere":                 func(c *Call) { c.Elsewhere = true },
		"the home as project":       func(c *Call) { c.Project = "/home/user" },
		"above the home":            func(c *Call) { c.Project = "/home" },
		"everything":                func(c *Call) { c.Project, c.Cwd = "/", "/" },
		"no home":                   func(c *Call) { c.Home = "" },
		"outside the project":       func(c *Call) { c.Cwd = "/srv" },
		"uninspectable":             func(c *Call) { c.Uninspectable = true },
		"in the background":         func(c *Call) { c.Input = json.RawMessage(`{"command":"cat a","run_in_background":true}`) },
		"perhaps in background":     func(c *Call) { c.Input = json.RawMessage(`{"command":"cat a","run_in_background":"false"}`) },
		"outside of the sandbox":    func(c *Call) { c.Input = json.RawMessage(`{"command":"cat a","dangerouslyDisableSandbox":true}`) },
		"with an unknown member":    func(c *Call) { c.Input = json.RawMessage(`{"command":"cat a","shell":"fish"}`) },
		"with two commands":         func(c *Call) { c.Input = json.RawMessage(`{"command":"cat a","Command":"cat b"}`) },
		"without a known directory": func(c *Call) { c.Cwd = "" },
	} {
		c := contain("cat a")
		if v := set.Eval(c); v.Contain != hook.ContainRead {
			t.Fatalf("in place: %+v", v)
		}
		change(&c)
		if v := set.Eval(c); v.Action == hook.ActionAllow {
			t.Errorf("%s: %+v", name, v)
		}
	}
	c := contain("cat a")
	c.Input = json.RawMessage(`{"command":"cat a","description":"d","timeout":5,"run_in_background":false}`)
	if v := set.Eval(c); v.Contain != hook.ContainRead {
		t.Errorf("with harmless members: %+v", v)
	}
}

func TestContainInFiles(t *testing.T) {
	for text, want := range map[string]string{
		"action: deny\n    contain: read\n    match: {command: {program: cat}}":     "contain is for rules that allow",
		"action: allow\n    contain: write\n    match: {command: {program: cat}}":   `contain is "write", expected read`,
		"action: allow\n    contain: read\n    match: {file: {op: read, path: /a}}": "contain is for rules about a command",
	} {
		_, err := Load([]Source{{Name: "r.yaml", Layer: User, Data: []byte("version: 1\nrules:\n  - id: x\n    " + text + "\n")}}, LoadOptions{})
		if err == nil || !strings.Contains(err.Error(), strings.Split(want, ",")[0]) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// A repository cannot have anything run.
	set, err := Load([]Source{{Name: "repo.yaml", Layer: Repository, Data: []byte("version: 1\nrules:\n" + commonReaders)}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := set.Eval(contain("cat a")); v.Action != hook.ActionAsk {
		t.Errorf("by a repository's rule: %+v", v)
	}
	// One on trial lets nothing run.
	set = load(t, "version: 1\nrules:\n"+strings.Replace(commonReaders, "contain: read", "contain: read\n    shadow: true", 1))
	if v := set.Eval(contain("cat a")); v.Action != hook.ActionAsk {
		t.Errorf("by a rule on trial: %+v", v)
	}
}

// A file's tests say what must run contained, and what must not need to.
func TestContainInTests(t *testing.T) {
	for tests, fails := range map[string]string{
		`{cmd: "cat a", expect: contain, rule: readers}`:        "",
		`{cmd: "cat a", expect: ask}`:                           "",
		`{cmd: "cat a", expect: allow}`:                         "expected allow, got ask",
		`{cmd: "make", expect: contain}`:                        "expected contain, got allow",
		`{cmd: "cat a > b", expect: contain}`:                   "expected allow, got ask",
		`{tool: Read, input: {file_path: /a}, expect: contain}`: "expected allow, got ask",
		`{cmd: "cat a", expect: contained}`:                     `expect is "contained"`,
	} {
		_, err := Load([]Source{{Name: "r.yaml", Layer: User, Data: []byte("version: 1\nallow: [Bash(make)]\nrules:\n" + commonReaders + "tests:\n  - " + tests + "\n")}}, LoadOptions{})
		if (err != nil) != (fails != "") || err != nil && !strings.Contains(err.Error(), fails) {
			t.Errorf("%s: %v, want %q", tests, err, fails)
		}
	}
}

// TestCorporaContained: with the packs that read and a rule that lets common readers run contained, no row
// of other projects' tables is allowed that should not be, but where the kernel keeps it to reading. What
// those rows run is said: a rule names each program.
func TestCorporaContained(t *testing.T) {
	dir := os.Getenv("ASSENT_CORPORA")
	if dir == "" {
		t.Skip("ASSENT_CORPORA names no directory of tables")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl in %s (%v)", dir, err)
	}
	var names []string
	for _, p := range Packs() {
		if strings.Contains(p, "read") {
			names = append(names, p)
		}
	}
	set := load(t, "version: 1\nuse: ["+strings.Join(names, ", ")+"]\nrules:\n"+commonReaders)
	named := set.contains.rules[0].match.command.programs
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		rows, certain, contained, should := 0, 0, 0, 0
		for lines.Scan() {
			var row corpusRow
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			c := bashCall(row.Command)
			c.Contain = true
			if strings.Contains(string(lines.Bytes()), `"cwd": "/home/dev/project"`) {
				c.Cwd, c.Project, c.Home = "/home/dev/project", "/home/dev/project", "/home/dev"
			}
			v := set.Eval(c)
			if row.Expected == "allow" {
				rows++
				switch {
				case v.Contain != "":
					contained++
				case v.Action == hook.ActionAllow:
					certain++
				}
				continue
			}
			switch {
			case v.Action != hook.ActionAllow:
			case v.Contain == "" && row.Expected == "ask" && filepath.Base(file) == "rippy.jsonl" && substitutes.MatchString(row.Command): // as in TestCorpora
			case v.Contain == "" && !row.Disputed && row.Rules == nil:
				t.Errorf("%s: neither certain nor contained: %s", filepath.Base(file), row.Command)
			case v.Contain != "":
				should++
				for _, p := range v.Programs {
					if !slices.ContainsFunc(named, func(g glob) bool { return g.match(p) }) && !slices.Contains([]string{"$()", "<()", "cd", "[[", "case", "timeout", "time", "nice", "nohup", "command", "builtin", "stdbuf", "env", "xargs", "find", "bash", "sh", "git"}, p) {
						t.Errorf("%s: %q runs %s, which no rule names", filepath.Base(file), row.Command, p)
					}
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Logf("%s: of %d that only read %d certain (%.1f %%), %d contained (%.1f %%); of the others %d contained", filepath.Base(file), rows,
			certain, 100*float64(certain)/float64(max(rows, 1)), contained, 100*float64(contained)/float64(max(rows, 1)), should)
	}
}

// TestContainReadsNoGuarded: what a rule denies or asks to read, the kernel does not know of. A command runs contained
// only if all such files are kept away from it anyway.
func TestContainReadsNoGuarded(t *testing.T) {
	for rule, want := range map[string]hook.Action{
		"deny: [\"Read(.env)\"]": hook.ActionAllow, "deny: [\"Read(./.env.*)\", \"Read(**/*.pem)\", \"Read(~/.ssh/**)\", \"Read(//etc/shadow)\"]": hook.ActionAllow, "ask: [\"Read(~/elsewhere/**)\"]": hook.ActionAllow,
		"deny: [\"Edit(./src/**)\"]": hook.ActionAllow, "deny: [\"Bash(rm *)\", \"WebFetch\"]": hook.ActionAllow, "deny: [\"Read(./.aws/**)\"]": hook.ActionAllow,
		"deny: [\"Read(./private/**)\"]": hook.ActionAsk, "deny: [\"Read(notes.md)\"]": hook.ActionAsk, "ask: [\"Read(./src/a.go)\"]": hook.ActionAsk, "deny: [\"Read(./secrets/**)\"]": hook.ActionAsk, "deny: [\"Read(**/*secret*)\"]": hook.ActionAsk,
		"deny: [\"Read(//usr/share/**)\"]": hook.ActionAsk, "ask: [\"Read(**/*.md)\"]": hook.ActionAsk,
	} {
		set := load(t, "version: 1\n"+rule+"\nrules:\n  - {id: awk, action: allow, contain: read, match: {command: {program: awk}}}\n")
		if v := set.Eval(contain("awk -f x.awk")); v.Action != want {
			t.Errorf("%s: %s (%s)", rule, v.Action, v.Reason)
		}
	}
}
