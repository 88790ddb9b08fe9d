package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	secretlist "assent/internal/policy/secrets"
	"assent/internal/text/strictyaml"
)

// Bounds of one file. A repository's file is foreign text.
const (
	maxFile     = 4 << 20
	maxForeign  = 256 << 10 // of a repository's file
	maxProblems = 50
	maxWords    = 4 << 10 // of an id, a message or a note: the record of each request keeps them

	// maxForeignSize bounds the regular expressions of a repository's file, in instructions of some
	// 100 bytes each: a{1,1000} has as many as there is room for in an expression of ten characters.
	maxForeignSize = 50_000
)

// reader turns YAML nodes into values and collects what is wrong, with its position.
type reader struct {
	file     string
	problems []Problem
}

func (r *reader) problem(n *yaml.Node, format string, a ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, a...)})
	}
}

// document parses the one document of a file; nil when there is none or it is wrong.
func (r *reader) document(text []byte, maxFile int) *yaml.Node {
	return strictyaml.Document(text, maxFile, r.problem)
}

// object reads a mapping with the given keys; a key's function gets its value.
func (r *reader) object(n *yaml.Node, what string, keys map[string]func(*yaml.Node)) bool {
	return strictyaml.Object(n, what, keys, r.problem)
}

func kindOf(n *yaml.Node) string { return strictyaml.Kind(n) }

// word is a text with its position, for problems that are found later.
type word struct {
	text string
	at   *yaml.Node
}

// text reads one scalar as it is written: program: true is the program named true.
func (r *reader) text(n *yaml.Node, what string) (word, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.problem(n, "expected %s, but got %s", what, kindOf(n))
		return word{}, false
	}
	if n.Value == "" {
		r.problem(n, "expected %s, but it is empty", what)
		return word{}, false
	}
	for _, c := range n.Value {
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || hidden(c) {
			r.problem(n, "%s holds an invisible character (%U)", what, c)
			return word{}, false
		}
	}
	return word{n.Value, n}, true
}

func hidden(c rune) bool { return secretlist.Invisible(c) }

// texts reads one scalar or a list of them.
func (r *reader) texts(n *yaml.Node, what string) []word {
	if n.Kind != yaml.SequenceNode {
		if w, ok := r.text(n, what); ok {
			return []word{w}
		}
		return nil
	}
	if len(n.Content) == 0 {
		r.problem(n, "expected %s or a list of them, but the list is empty", what)
	}
	return r.list(n, what)
}

// list reads a list of scalars, which may be empty.
func (r *reader) list(n *yaml.Node, what string) []word {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, "expected a list of %s, but got %s", what, kindOf(n))
		return nil
	}
	var all []word
	for _, c := range n.Content {
		if c.Kind == yaml.MappingNode && c.Style&yaml.FlowStyle == 0 && len(c.Content) == 2 && c.Content[0].Kind == yaml.ScalarNode && c.Content[1].Kind == yaml.ScalarNode {
			r.problem(c, "to YAML %s is a key and its value; put the text in quotes: '%s: %s'", short(c.Content[0].Value+": "+c.Content[1].Value), short(c.Content[0].Value), short(c.Content[1].Value))
			continue
		}
		if w, ok := r.text(c, what); ok {
			all = append(all, w)
		}
	}
	return all
}

// oneOf reads a scalar that is one of a few words.
func (r *reader) oneOf(n *yaml.Node, what string, allowed ...string) string {
	w, ok := r.text(n, what)
	if !ok {
		return ""
	}
	if !slices.Contains(allowed, w.text) {
		r.problem(n, "%s is %q, expected %s", what, short(w.text), strings.Join(allowed, ", "))
		return ""
	}
	return w.text
}

func (r *reader) boolean(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.problem(n, "%s is %s, expected true or false", what, kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// duration reads "90s", "10m", "24h".
func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	w, ok := r.text(n, what)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(w.text)
	if err != nil || d < time.Second || d > 24*time.Hour {
		r.problem(n, "%s is %q, expected a time from 1s to 24h, such as 90s or 10m", what, short(w.text))
		return 0
	}
	return d
}

// short keeps quoted foreign text short.
func short(s string) string { return strictyaml.Short(s) }
