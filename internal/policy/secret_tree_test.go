package policy

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	secretlist "assent/internal/policy/secrets"
)

// inTree says what a look through a project's tree says of a file.
func inTree(file string) bool {
	at := secretlist.Top("/w/project")
	parts := strings.Split(file, "/")
	for i, p := range parts {
		if at.Secret(p, i == len(parts)-1) {
			return true
		}
		at = at.Below(p)
	}
	return false
}

// TestSecretsInTrees: what the rules take for a secret in a project, a look through its tree does, too.
func TestSecretsInTrees(t *testing.T) {
	e := surroundings{cwd: "/w/project", project: "/w/project", home: "/home/u"}
	var names []string
	section := ""
	for line := range strings.SplitSeq(secretlist.Text, "\n") {
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = line
			continue
		}
		line = strings.TrimLeft(strings.ReplaceAll(line, "**", "x/y"), "/")
		line = strings.Replace(line, "~/", "home/u/", 1)
		switch section {
		case "[names]", "[paths]":
			names = append(names, fill(line), strings.ReplaceAll(fill(line), "x", "1.a-"))
		case "[words]":
			names = append(names, line, "my-"+line, line+".json", line+"s.yaml", line+".go")
		case "[directories]":
			names = append(names, fill(line)+"/x")
		case "[open]":
			names = append(names, fill(line))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	secret := 0
	check := func(file string) {
		file = strings.Trim(path.Clean("/"+file), "/")
		if file == "" {
			return
		}
		rules := e.secretPath("/w/project/" + file)
		if rules {
			secret++
		}
		if rules && !inTree(file) {
			t.Errorf("%s is a secret to the rules, and shown in a tree", file)
		}
	}
	for _, n := range names {
		for _, dir := range []string{"", "a/", "a/b/c/", ".config/", "secrets/"} {
			check(dir + n)
			check(dir + strings.ToUpper(n))
		}
		b := []byte(n) // and what is nearly so
		for range 5 {
			b[random.IntN(len(b))] = "abx1.-_*/s"[random.IntN(10)]
			check(string(b))
		}
	}
	if secret < 10000 {
		t.Errorf("only %d were secrets", secret)
	}
	for _, plain := range []string{"main.go", "README.md", "src/token.go", "package.json", "go.sum", ".git/config", ".git/HEAD", "docs/secrets.md", "data.csv", "Makefile", ".github/workflows/ci.yml"} {
		if inTree(plain) {
			t.Errorf("%s is taken for a secret", plain)
		}
	}
}
