package policy

import (
	"encoding/json"
	"testing"
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
	for cmd, want := range map[string]Action{
		"go test ./... -run TestX":        Allow,
		"go test -count=1 ./...":          Allow,
		"go test -exec evil ./...":        Ask,
		"go test ./... > out.txt":         Allow,
		"go test ./... > ~/out.txt":       Ask,
		"go test ./... | tee x":           Ask,
		"cd sub && go test ./...":         Ask,
		"npm run test":                    Allow,
		"npm run test -- -u":              Allow,
		"npm run test:unit":               Ask,
		"rm -rf dist":                     Allow,
		"rm -fr dist/x build":             Allow,
		"rm -rf dist ~":                   Ask,
		"rm -rf dist/../src":              Ask,
		"rm -rf":                          Ask,
		"rm -rf dist/*":                   Allow,
		"git push origin":                 Ask,
		"git -C x push":                   Ask,
		"curl x":                          Deny,
		"npm run test && curl x":          Deny,
		"echo $(curl x)":                  Deny,
		"sudo curl x":                     Deny,
		"cat .env":                        Deny,
		"cat < .env":                      Deny,
		"psql -h prod-1":                  Deny,
		"npm run test > docs/x":           Allow,
		"npm run test > src/x":            Ask,
		"npm run test > docs/.git/config": Ask,
	} {
		if v := s.Eval(bash(cmd)); v.Action != want {
			t.Errorf("%s: %s (%s %s), expected %s", cmd, v.Action, v.Rule, v.Reason, want)
			for _, u := range s.Explain(bash(cmd)).Units {
				t.Logf("  %+v", u)
			}
		}
	}
}
