package suggest

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"assent/internal/policy/shell"
)

// candidate is a proposal that nobody has tried yet.
type candidate struct {
	sentence string
	warnings []string
	drafts   []draft
}

// draft is one rule, and the call that it is made for.
type draft struct {
	match match
	test  test
	tests []test // further ones
}

// match and what is in it are the rules file's, as far as proposals need it.
type match struct {
	Command *command `yaml:",omitempty"`
	File    *file    `yaml:",omitempty"`
	URL     *url     `yaml:",omitempty"`
	MCP     *mcp     `yaml:",omitempty"`
	Tool    string   `yaml:",omitempty"`
	Cwd     []string `yaml:",omitempty,flow"`
	Session *session `yaml:",omitempty"`
}

type command struct {
	Program string   `yaml:""`
	Args    []string `yaml:",flow"`
	Flags   *flags   `yaml:",omitempty"`
	Paths   []string `yaml:",omitempty,flow"`
	Stdin   []string `yaml:",flow"`
}

type flags struct {
	Only []string `yaml:",flow"`
}

type file struct {
	Op   []string `yaml:",flow"`
	Path []string `yaml:",flow"`
	Not  []string `yaml:",omitempty,flow"`
}

type url struct {
	Scheme string
	Host   string
	Path   []string `yaml:",omitempty,flow"`
}

type mcp struct {
	Server string
	Tool   string
	Input  map[string]string `yaml:",omitempty,flow"`
}

type session struct {
	Repo string
}

type test struct {
	Cmd    string         `yaml:",omitempty"`
	Tool   string         `yaml:",omitempty"`
	Input  map[string]any `yaml:",omitempty,flow"`
	Cwd    string         `yaml:",omitempty"`
	Repo   string         `yaml:",omitempty"`
	Expect string
	Rule   string `yaml:",omitempty"`
}

// text writes the rules and their tests with id in place of the rules' ids; without one the
// rules have none.
func (c *candidate) text(id string) (ruleText, testText string, err error) {
	var rs, ts strings.Builder
	for i, d := range c.drafts {
		body, err := yaml.Marshal(struct {
			Action string
			Match  match
		}{"allow", d.match})
		if err != nil {
			return "", "", fmt.Errorf("write the rule: %w", err)
		}
		name := id
		if i > 0 {
			name = fmt.Sprintf("%s/%d", id, i+1)
		}
		if id == "" {
			rs.WriteString(item(string(body)))
			continue
		}
		rs.WriteString(item("id: " + name + "\n" + string(body)))
		d.test.Expect, d.test.Rule = "allow", name
		for _, t := range append([]test{d.test}, d.tests...) {
			if t.Rule != "" {
				t.Rule = "\uE000" // YAML would quote the placeholder
			}
			body, err := yaml.Marshal(t)
			if err != nil {
				return "", "", fmt.Errorf("write a test of the rule: %w", err)
			}
			ts.WriteString(item(strings.Replace(string(body), "rule: \uE000", "rule: "+name, 1)))
		}
	}
	return rs.String(), ts.String(), nil
}

// item makes a mapping an element of a list.
func item(body string) string {
	lines := strings.SplitAfter(strings.TrimRight(body, "\n"), "\n")
	return "  - " + strings.Join(lines, "    ") + "\n"
}

// literal writes a word that must stand there as it is. In a rule, * stands for anything, re:
// begins an expression, and ... is the rest.
func literal(s string) string {
	if s == "" || s == "..." || strings.Contains(s, "*") || strings.HasPrefix(s, "re:") || strings.HasPrefix(s, "is:") {
		return "re:" + regexp.QuoteMeta(s)
	}
	return s
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted writes words for a shell.
func quoted(words []shell.Word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
		if w.Static && !plainWord.MatchString(w.Text) {
			all[i] = "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}
