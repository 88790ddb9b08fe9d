package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

// What a file says and the program cannot match is an error, or said in a note.
func TestMistakes(t *testing.T) {
	for _, row := range commands(t, "mistakes.txt") {
		text, want, _ := strings.Cut(row, " => ")
		key, rule, _ := strings.Cut(text, ": ")
		want, refused := strings.CutPrefix(want, "error")
		want = strings.TrimSpace(want)
		s, err := Load([]Source{{Name: "f", Data: []byte("version: 1\n" + key + ":\n  - '" + rule + "'\n")}}, LoadOptions{})
		if refused {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var said []string
		for _, p := range append(s.Notices(), s.Mistakes()...) {
			said = append(said, p.String())
		}
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%s: said %q, want %q", text, said, want)
		}
	}
}

// Quotes around what a rule is about match nothing, whichever they are.
func TestQuotes(t *testing.T) {
	for _, rule := range []string{"Read('.env')", "Edit('a b')", "Agent('Explore')", "WebFetch(domain:'a.b')", "Bash('rm -rf *')", "Agent(model:'opus')", "Read(a\nb)"} {
		t.Run(rule, func(t *testing.T) {
			data, err := json.Marshal(map[string]any{"version": 1, "deny": []string{rule}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Load([]Source{{Name: "f", Data: data}}, LoadOptions{}); err == nil {
				t.Error("it is taken")
			}
		})
	}
}

// What is right is not nagged about.
func TestNoMistakes(t *testing.T) {
	s := load(t, `version: 1
use: [builtin/readonly@1, builtin/git-read@1]
allow: ["Bash(npm run test:*)", "Bash(git log*)", "Bash(git push *)", "Bash(make)", "Bash(node scripts/*)", "Read(./src/**)", "Read(~/notes/*.md)", "Read(//opt/x/**)", "Edit(docs/)",
  "WebFetch(domain:*.python.org)", "mcp__github__get_*", "mcp__github", "Task(Explore)", "Agent(my-plugin:reviewer)", "Skill(pdf)", "Skill(plugin:pdf)", "Read(.env)", "Bash(cat .env)", "WebSearch",
  "Bash(git * main)", "Bash(ls | wc -l)", "Bash(find *)", "Bash(timeout:*)", "Bash(npm run test:unit)", "Read(/src/**)"]
deny: ["Bash(rm *)", "WebSearch(query:\"a b\")", "Bash(\"a\" \"b c\")", "Agent(node:reviewer)", "Read(a'b)", "Read(notes: x)", "Workflow(name:x)", "Bash(run_in_background:true)", "Read(~/.ssh/**)", "Agent(model:opus)", "Agent(my-plugin:other)", "Bash(git push --force *)", "Web*", "mcp__*"]
ask: ["Bash(npm publish:*)", "Skill(deploy:*)"]
`)
	for _, p := range append(s.Notices(), s.Mistakes()...) {
		if !strings.Contains(p.Message, "mcp__*") && !strings.Contains(p.Message, "Web*") {
			t.Error(p)
		}
	}
}

func TestSwallowed(t *testing.T) {
	for _, row := range []struct{ rule, by string }{
		{"Bash(git push *)", "Bash(git *)"}, {"Read(./docs/**)", "Read(docs)"}, {"WebFetch(domain:go.dev)", "WebFetch"}, {"mcp__github__get_*", "mcp__github"}, {"Edit(.env)", "Read(.env)"},
		{"Bash(npm test)", "Bash"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			s := load(t, "version: 1\nallow: ['"+row.rule+"']\ndeny: ['"+row.by+"']\n")
			if m := s.Mistakes(); len(m) != 1 || !strings.Contains(m[0].Message, row.by) {
				t.Errorf("%s under deny %s: %v", row.rule, row.by, m)
			}
		})
	}
}

// - Bash(echo foo: bar) is a map to YAML.
func TestColonWantsQuotes(t *testing.T) {
	_, err := Load([]Source{{Name: "f", Data: []byte("version: 1\nallow:\n  - Bash(echo foo: bar)\n")}}, LoadOptions{})
	if err == nil || !strings.Contains(err.Error(), "quotes") || !strings.Contains(err.Error(), "'Bash(echo foo: bar)'") {
		t.Error(err)
	}
}

// A test in a file holds as the broker would decide: where the shell is not known.
func TestFilesTestsKnowNoShell(t *testing.T) {
	head := "version: 1\nuse: [builtin/readonly@1]\ntests:\n  - {cmd: 'echo ===', expect: "
	for _, row := range []struct {
		in   string
		want bool // it passes
	}{
		{"allow}", false},
		{"ask}", false},
		{"allow, shell: bash}", true},
		{"ask, shell: zsh}", true},
		{"allow, shell: zsh}", false},
	} {
		t.Run(row.in, func(t *testing.T) {
			_, err := Load([]Source{{Name: "f", Data: []byte(head + row.in + "\n")}}, LoadOptions{})
			if (err == nil) != row.want {
				t.Errorf("got %v, want it to pass: %t", err, row.want)
			}
		})
	}
}

// Tool(parameter:value) in a deny or an ask is about the tool's input.
func TestMembers(t *testing.T) {
	for _, row := range []struct {
		rule  string
		tool  string
		input map[string]any
		want  hook.Action
	}{
		{"Agent(model:opus)", "Agent", map[string]any{"model": "opus", "prompt": "x"}, hook.ActionDeny},
		{"Agent(model:opus)", "Task", map[string]any{"model": "opus", "prompt": "x"}, hook.ActionDeny},
		{"Task(model:opus)", "Agent", map[string]any{"model": "opus"}, hook.ActionDeny},
		{"Agent(model:opus)", "Agent", map[string]any{"model": "sonnet"}, hook.ActionAsk},
		{"Agent(model:op*)", "Agent", map[string]any{"model": "opus"}, hook.ActionDeny},
		{"Agent(model: opus)", "Agent", map[string]any{"model": "opus"}, hook.ActionDeny},
		{"Agent(model:opus)", "Agent", map[string]any{"model": "Opus"}, hook.ActionDeny},
		{"Agent(plugin:agent)", "Task", map[string]any{"subagent_type": "plugin:agent"}, hook.ActionDeny},
		{"Agent(plugin:agent)", "Task", map[string]any{"plugin": "agent"}, hook.ActionDeny},
		{"Agent(Explore)", "Task", map[string]any{"subagent_type": "Explore"}, hook.ActionDeny},
		{"Task", "Agent", map[string]any{"prompt": "x"}, hook.ActionDeny},
		{"Agent", "Task", map[string]any{"prompt": "x"}, hook.ActionDeny},
		{"Ta*", "Agent", map[string]any{"prompt": "x"}, hook.ActionDeny},
		{"Bash(run_in_background:true)", "Bash", map[string]any{"command": "ls", "run_in_background": true}, hook.ActionDeny},
		{"Bash(run_in_background:true)", "Bash", map[string]any{"command": "ls", "run_in_background": "true"}, hook.ActionDeny},
		{"Bash(run_in_background:true)", "Bash", map[string]any{"command": "ls", "run_in_background": false}, hook.ActionAsk},
		{"Bash(run_in_background:true)", "Bash", map[string]any{"command": "ls"}, hook.ActionAsk},
		{"Bash(dangerouslyDisableSandbox:true)", "Bash", map[string]any{"command": "ls", "dangerouslyDisableSandbox": true}, hook.ActionDeny},
		{"Bash(timeout:600000)", "Bash", map[string]any{"command": "ls", "timeout": 600000}, hook.ActionDeny},
		{"Bash(command:rm *)", "Bash", map[string]any{"command": "rm x"}, hook.ActionDeny},
		{"Edit(replace_all:true)", "Edit", map[string]any{"file_path": "/x", "replace_all": true}, hook.ActionDeny},
		{"Edit(file_path:/home/user/project/x)", "Edit", map[string]any{"file_path": "/home/user/project/x"}, hook.ActionDeny},
		{"WebSearch(query:*secret*)", "WebSearch", map[string]any{"query": "a secret b"}, hook.ActionDeny},
		{"WebFetch(prompt:*x*)", "WebFetch", map[string]any{"url": "https://a.b/", "prompt": "axb"}, hook.ActionDeny},
		{"mcp__github__create_issue(owner:acme)", "mcp__github__create_issue", map[string]any{"owner": "acme"}, hook.ActionDeny},
		{"mcp__github(owner:acme)", "mcp__github__create_issue", map[string]any{"owner": "acme"}, hook.ActionDeny},
		{"mcp__github__*(owner:acme)", "mcp__github__create_issue", map[string]any{"owner": "other"}, hook.ActionAsk},
		{"Workflow(name:x)", "Workflow", map[string]any{"name": "x"}, hook.ActionDeny},
		{"Skill(plugin:pdf)", "Skill", map[string]any{"skill": "plugin:pdf"}, hook.ActionDeny},
		{"Skill(deploy:*)", "Skill", map[string]any{"skill": "deploy"}, hook.ActionDeny},
		{"WebFetch(domain:Example.COM.)", "WebFetch", map[string]any{"url": "https://example.com/"}, hook.ActionDeny},
		{"WebFetch(domain:example.com)", "WebFetch", map[string]any{"url": "https://EXAMPLE.com./"}, hook.ActionDeny},
		{"WebFetch(domain:example.com)", "WebFetch", map[string]any{"url": "https://a.example.com../"}, hook.ActionDeny},
	} {
		t.Run(row.rule, func(t *testing.T) {
			s := load(t, "version: 1\ndeny: ['"+row.rule+"']\n")
			if v := s.Eval(toolCall(row.tool, row.input)); v.Action != row.want {
				t.Errorf("%s: %s %v: %s, want %s", row.rule, row.tool, row.input, v.Action, row.want)
			}
		})
	}
}

// A value that is no plain one may hold what is meant: nothing is allowed, then.
func TestMembersThatAreLists(t *testing.T) {
	s := load(t, "version: 1\ndeny: ['Agent(model:opus)']\nallow: [Agent]\n")
	for _, in := range []any{"haiku", nil} {
		if v := s.Eval(toolCall("Agent", map[string]any{"model": in})); v.Action != hook.ActionAllow {
			t.Errorf("%v: got %s, want allow", in, v.Action)
		}
	}
	if v := s.Eval(toolCall("Agent", map[string]any{"model": []string{"opus"}})); v.Action == hook.ActionAllow {
		t.Error("a list: allowed")
	}
}

// A deny for reading is one for changing.
func TestReadBindsEdits(t *testing.T) {
	const project = "/home/user/project"
	for _, text := range []string{
		"version: 1\nallow: ['Edit(./**)', Edit, Write, 'Bash(*x *)'.]\ndeny: ['Read(conf.d/**)']\n",
		"version: 1\nallow: ['Edit(./**)']\nrules: [{id: r, action: deny, match: {file: {op: read, path: ['**/conf.d/**']}}}]\n",
	} {
		s := load(t, strings.Replace(text, ", 'Bash(*x *)'.", "", 1))
		for _, c := range []Call{
			toolCall("Edit", map[string]any{"file_path": project + "/conf.d/x"}), toolCall("Write", map[string]any{"file_path": "conf.d/x"}),
			toolCall("MultiEdit", map[string]any{"file_path": project + "/conf.d/x"}), toolCall("NotebookEdit", map[string]any{"notebook_path": project + "/conf.d/x.ipynb"}),
			bash("echo x > conf.d/x"), bash("rm conf.d/x"), bash("tee conf.d/x"), bash("sed -i s/a/b/ conf.d/x"), bash("cp y conf.d/x"), bash("touch conf.d/x"), bash("truncate -s0 conf.d/x"),
			bash("cat conf.d/x"), bash("cat < conf.d/x"), bash("mv conf.d/x y"), bash("dd of=conf.d/x"),
		} {
			if v := s.Eval(c); v.Action != hook.ActionDeny {
				t.Errorf("%s %s: %s", c.Tool, c.Input, v.Action)
			}
		}
	}
}

// What a deny about commands says of the home, and of flags with a * behind, is found however it
// is written.
func TestDeniesAreWide(t *testing.T) {
	for _, row := range []struct {
		rule, command string
		want          hook.Action
	}{
		{"Bash(rm -rf $HOME*)", "rm -rf ~", hook.ActionDeny},
		{"Bash(rm -rf $HOME*)", "rm -rf /home/user/x", hook.ActionDeny},
		{"Bash(rm -rf ~/*)", "cd /tmp && rm -fr $HOME/x", hook.ActionDeny},
		{"Bash(rm -rf ~/*)", `rm -rf "${HOME}/x"`, hook.ActionDeny},
		{"Bash(rm -rf ~/*)", "rm -rf /home/user/x", hook.ActionDeny},
		{"Bash(rm -rf ~/*)", "rm -rf /home/userx", hook.ActionAsk},
		{"Bash(cat $HOME/notes)", "cat ~/notes", hook.ActionDeny},
		{`Bash(cat "$HOME/notes")`, "cat /home/user/notes", hook.ActionDeny},
		{"Bash(rm -rf*)", "rm -fr x", hook.ActionDeny},
		{"Bash(rm -rf*)", "rm -r -f x", hook.ActionDeny},
		{"Bash(rm -rf*)", "rm -rfv x", hook.ActionDeny},
		{"Bash(rm -rf:*)", "rm x -r -f", hook.ActionDeny},
		{"Bash(rm -rf*)", "rm -r x", hook.ActionAsk},
		{"Read($HOME/.ssh/**)", "cat ~/.ssh/id_rsa", hook.ActionDeny},
		{"Read(${HOME}/notes)", "cat /home/user/notes", hook.ActionDeny},
		{"Read(/etc/shadow)", "cat /etc/shadow", hook.ActionDeny},
	} {
		t.Run(row.rule+" "+row.command, func(t *testing.T) {
			s := load(t, "version: 1\ndeny: ['"+row.rule+"']\n")
			if v := s.Eval(bash(row.command)); v.Action != row.want {
				t.Errorf("deny %s: %s: %s, want %s", row.rule, row.command, v.Action, row.want)
			}
		})
	}
}

// TestDenialOfOneCommand: a denial of one command of a program beside an allow of all is told where nobody knows which
// other commands do the same, and only there.
func TestDenialOfOneCommand(t *testing.T) {
	for _, row := range []struct {
		allow, deny string
		told        bool
	}{
		{"Bash(mytool *)", "Bash(mytool deploy *)", true}, {"Bash(mytool*)", "Bash(mytool deploy)", true}, {"Bash(mytool list *)", "Bash(mytool deploy *)", false},
		{"Bash(mytool *)", "Bash(mytool --force *)", false}, {"Bash(mytool *)", "Bash(mytool *)", false}, {"Bash(git *)", "Bash(git push *)", false},
		{"Bash(terraform *)", "Bash(terraform apply *)", false}, {"Bash(make *)", "Bash(make deploy *)", false},
	} {
		t.Run(row.allow+" "+row.deny, func(t *testing.T) {
			told := false
			for _, p := range load(t, "version: 1\nallow: ['"+row.allow+"']\ndeny: ['"+row.deny+"']\n").Mistakes() {
				told = told || strings.Contains(p.Message, "may have other commands")
			}
			if told != row.told {
				t.Errorf("told: %v", told)
			}
		})
	}
}
