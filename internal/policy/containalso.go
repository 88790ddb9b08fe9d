package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/hook"
	secretfiles "assent/internal/policy/secrets"

	"go.yaml.in/yaml/v3"
)

// containAlso is what a rule with contain lets its programs have besides the project, in what is written.
type containAlso struct {
	read []string // absolute, or below ~/
	env  []string // names of variables
}

// Bounds of what one rule may name, and one command be given.
const (
	maxAlso     = 16
	maxAlsoAll  = 32
	maxAlsoName = 128
	maxAlsoPath = 1024
)

// contain reads "read", or what may be read and passed on: {read: [PATH], env: [NAME]}.
func (c *compiler) contain(n *yaml.Node, also *containAlso) bool {
	if n.Kind != yaml.MappingNode {
		return c.oneOf(n, "contain", hook.ContainRead) != ""
	}
	before := len(c.problems)
	c.object(n, "contain", map[string]func(*yaml.Node){
		"read": func(n *yaml.Node) {
			for _, w := range c.texts(n, "a path") {
				if why := containPath(w.text); why != "" {
					c.problem(w.at, "contain cannot have %q read: %s", short(w.text), why)
				}
				also.read = append(also.read, w.text)
			}
		},
		"env": func(n *yaml.Node) {
			for _, w := range c.texts(n, "the name of a variable") {
				if why := containName(w.text); why != "" {
					c.problem(w.at, "contain cannot pass %q on: %s", short(w.text), why)
				}
				also.env = append(also.env, w.text)
			}
		},
	})
	if len(also.read)+len(also.env) == 0 && len(c.problems) == before {
		c.problem(n, "contain names nothing; without more than the project it is: contain: read")
	}
	if len(also.read) > maxAlso || len(also.env) > maxAlso {
		c.problem(n, "contain names more than %d paths or variables", maxAlso)
	}
	return true
}

// containPath says why a path cannot be read by contained commands, "" if it can.
func containPath(p string) string {
	abs := p
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		abs = "/" + rest
	}
	switch {
	case len(p) > maxAlsoPath:
		return "it is too long"
	case !path.IsAbs(abs):
		return "it is neither absolute nor begins with ~/"
	case strings.ContainsAny(p, "*?[]{}\\\n\t"):
		return "name one file or directory, without wildcards"
	case path.Clean(abs) != strings.TrimSuffix(abs, "/") || abs == "/":
		return "write it without .., . and //, and not for everything"
	}
	abs = strings.TrimSuffix(abs, "/")
	if secretfiles.Top(path.Dir(abs)).Secret(path.Base(abs), true) || slices.ContainsFunc(strings.Split(abs, "/"), secretfiles.Directory) {
		return "its name is one of a file or directory with secrets"
	}
	return ""
}

// secretVariables are parts of names of variables that hold secrets. That a variable is passed on rests on the
// person who writes its whole name into a rule, not on this list, which is there for slips: what a variable
// holds on a machine nobody else knows, so a list of harmless ones would be as short as that of those that always are
// kept.
var secretVariables = []string{"TOKEN", "SECRET", "PASS", "PWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "SESSION", "PRIVATE", "DSN", "DATABASE_URL", "CONNECTION", "PROXY", "PIN", "CERT", "SIGNATURE", "WEBHOOK", "JWT", "BEARER", "_PAT", "ACCESS"}

// containName says why a variable cannot be passed on to contained commands, "" if it can.
func containName(name string) string {
	letters := func(c rune) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	switch {
	case len(name) > maxAlsoName:
		return "it is too long"
	case strings.ContainsFunc(name, func(c rune) bool { return !letters(c) }), name[0] >= '0' && name[0] <= '9':
		return "it is no name of a variable"
	}
	upper := strings.ToUpper(name)
	if i := slices.IndexFunc(secretVariables, func(s string) bool { return strings.Contains(upper, s) }); i >= 0 {
		return "its name has " + secretVariables[i] + " in it, as those with secrets do"
	}
	return ""
}

// add takes over what a rule names, with a home in the place of ~. false: too much, or nobody knows where.
func (a *containAlso) add(more containAlso, home string) bool {
	for _, p := range more.read {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if !path.IsAbs(home) {
				return false
			}
			p = path.Join(home, rest)
		}
		if p = path.Clean(p); !slices.Contains(a.read, p) {
			a.read = append(a.read, p)
		}
	}
	for _, name := range more.env {
		if !slices.Contains(a.env, name) {
			a.env = append(a.env, name)
		}
	}
	return len(a.read) <= maxAlsoAll && len(a.env) <= maxAlsoAll
}
