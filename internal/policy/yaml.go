package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	secretlist "assent/internal/policy/secrets"
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

// reader turns YAML nodes into values and collects what is wrong, with its position. Anchors,
// aliases, tags and merge keys are refused: what stands in a rules file is what it says.
type reader struct {
	file     string
	problems []Problem
}

func (r *reader) problem(n *yaml.Node, format string, a ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, a...)})
	}
}

// syntaxLine finds the line in an error of the YAML parser.
var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document parses the one document of a file; nil when there is none or it is wrong.
func (r *reader) document(text []byte, maxFile int) *yaml.Node {
	whole := &yaml.Node{Line: 1, Column: 1}
	if len(text) > maxFile {
		r.problem(whole, "the file has %d bytes, more than %d", len(text), maxFile)
		return nil
	}
	if !utf8.Valid(text) {
		r.problem(whole, "the file is not UTF-8")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // empty, or comments only
	}
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			r.problem(&more, "expected one document, but a second one starts here")
			return nil
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		m := syntaxLine.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(m[1])
		line = max(line, 1)
		column := 1
		if lines := bytes.Split(text, []byte("\n")); line <= len(lines) {
			column += len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
		}
		r.problem(&yaml.Node{Line: line, Column: column}, "this is not YAML, near here: %s", strings.TrimPrefix(err.Error(), m[0]))
		return nil
	}
	if !r.plain(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// plain refuses what would make a node mean something else than it shows.
func (r *reader) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.problem(n, "aliases (*%s) are not read here; write the value out", n.Value)
		return false
	case n.Anchor != "":
		r.problem(n, "anchors (&%s) are not read here; write the value out", n.Anchor)
		return false
	case n.Style&yaml.TaggedStyle != 0:
		r.problem(n, "tags (%s) are not read here", n.Tag)
		return false
	}
	for _, c := range n.Content {
		if !r.plain(c) {
			return false
		}
	}
	return true
}

// object reads a mapping with the given keys; a key's function gets its value.
func (r *reader) object(n *yaml.Node, what string, keys map[string]func(*yaml.Node)) bool {
	if n.Kind != yaml.MappingNode {
		r.problem(n, "expected %s with the keys %s, but got %s", what, names(keys), kindOf(n))
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		read := keys[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || read == nil:
			r.problem(k, "unknown key %q in %s, expected one of %s", short(k.Value), what, names(keys))
		case seen[k.Value]:
			r.problem(k, "key %q stands here twice", k.Value)
		default:
			seen[k.Value] = true
			read(v)
		}
	}
	return true
}

func names(keys map[string]func(*yaml.Node)) string {
	var all []string
	for k := range keys {
		all = append(all, k)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return strconv.Quote(short(n.Value))
	default:
		return "something else"
	}
}

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
func short(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
