package policy

import (
	"encoding/json"
	"testing"

	"assent/internal/hook"
)

const example = `
version: 1
defaults: {action: ask, timeout: 10m, on_timeout: abstain}
allow:
  - Bash(npm run test:*)
  - Read(~/.zshrc)
  - WebFetch(domain:*.python.org)
  - mcp__github__get_*
ask: ["Bash(git push *)"]
deny: ["Read(**/.env)", "Bash(curl *)"]
rules:
  - id: go-test-here
    action: allow
    match:
      command:
        program: go
        args: [[test, vet], ...]
        flags: {only: [-run, -count, -race, -v, -short]}
        stdout: [none, pipe, devnull, project]
      cwd: ["${project}/**"]
  - id: rm-build-dirs
    action: allow
    match: {command: {program: rm, flags: {only: [-r, -f]}, paths: ["${project}/{dist,build}/**"]}}
  - id: prod-db
    action: deny
    message: "Use the read replica: psql $REPLICA_URL"
    match: {command: {program: [psql, mysql], any_arg: ["*prod*"]}}
  - id: deploy
    action: ask
    note: "prod deploy"
    timeout: 2m
    on_timeout: deny
    match:
      command: {program: [kubectl, helm, terraform], args: [[apply, delete, upgrade, destroy], ...]}
      session: {repo: "github.com/acme/*", branch: [main, "release/*"], agent: claude, mode: [default, acceptEdits]}
      time: {days: [mon-fri], between: "09:00-18:00", tz: Europe/Berlin, negate: true}
  - id: mcp-write
    action: ask
    match: {mcp: {server: github, tool: ["create_*", "merge_*"], input: {owner: acme}}}
  - id: docs-edit
    action: allow
    match: {file: {op: [edit, write], path: ["${project}/docs/**"], not: ["**/.git/**"]}}
  - id: read-the-docs
    action: allow
    shadow: true
    match: {url: {scheme: [https], host: [pkg.go.dev], path: ["/**"]}}
tests:
  - {cmd: "go test ./... -run TestX", expect: allow, rule: go-test-here}
  - {cmd: "go test ./...; rm -rf ~", expect: ask}
  - {tool: Read, input: {file_path: "${project}/sub/.env"}, expect: deny}
`

func load(t testing.TB, text string) *Set {
	t.Helper()
	s, err := Load([]Source{{Name: "rules.yaml", Layer: User, Data: []byte(text)}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bash(command string) Call {
	in, _ := json.Marshal(map[string]string{"command": command})
	return Call{Agent: "claude", Tool: "Bash", Input: in, Cwd: "/home/user/project", Project: "/home/user/project", Home: "/home/user", Shell: "bash", Time: testTime}
}

func TestExample(t *testing.T) {
	s := load(t, example)
	for _, row := range []row{
		{"go test ./... -run TestX", hook.ActionAllow},
		{"go test -count=1 ./...", hook.ActionAllow},
		{"go test -exec evil ./...", hook.ActionAsk},
		{"go test ./... > out.txt", hook.ActionAllow},
		{"go test ./... > ~/out.txt", hook.ActionAsk},
		{"go test ./... | tee x", hook.ActionAsk},
		{"cd sub && go test ./...", hook.ActionAsk},
		{"npm run test", hook.ActionAllow},
		{"npm run test -- -u", hook.ActionAllow},
		{"npm run test:unit", hook.ActionAsk},
		{"rm -rf dist", hook.ActionAllow},
		{"rm -fr dist/x build", hook.ActionAllow},
		{"rm -rf dist ~", hook.ActionAsk},
		{"rm -rf dist/../src", hook.ActionAsk},
		{"rm -rf", hook.ActionAsk},
		{"rm -rf dist/*", hook.ActionAllow},
		{"git push origin", hook.ActionAsk},
		{"git -C x push", hook.ActionAsk},
		{"curl x", hook.ActionDeny},
		{"npm run test && curl x", hook.ActionDeny},
		{"echo $(curl x)", hook.ActionDeny},
		{"sudo curl x", hook.ActionDeny},
		{"cat .env", hook.ActionDeny},
		{"cat < .env", hook.ActionDeny},
		{"psql -h prod-1", hook.ActionDeny},
		{"npm run test > docs/x", hook.ActionAllow},
		{"npm run test > src/x", hook.ActionAsk},
		{"npm run test > docs/.git/config", hook.ActionAsk},
	} {
		t.Run(row.in, func(t *testing.T) {
			if v := s.Eval(bash(row.in)); v.Action != row.want {
				t.Errorf("%s: got %s (%s %s), want %s", row.in, v.Action, v.Rule, v.Reason, row.want)
				for _, u := range s.Explain(bash(row.in)).Units {
					t.Logf("  %+v", u)
				}
			}
		})
	}
}
