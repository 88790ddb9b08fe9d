// Package strictyaml parses YAML that people write and programs obey: one document, in UTF-8, and
// nothing in it that means something else than it shows. Whoever asks reads the nodes.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Report takes what is wrong with a node, whose line and column count from 1.
type Report func(n *yaml.Node, format string, a ...any)

// syntaxLine finds the line in an error of the YAML parser.
var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Document parses the one document of a file of at most most bytes; nil when there is none or it is
// wrong. Anchors, aliases, tags and merge keys are refused: what stands in such a file is what it says.
func Document(text []byte, most int, report Report) *yaml.Node {
	whole := &yaml.Node{Line: 1, Column: 1}
	if len(text) > most {
		report(whole, "the file has %d bytes, more than %d", len(text), most)
		return nil
	}
	if !utf8.Valid(text) {
		report(whole, "the file is not UTF-8")
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
			report(&more, "expected one document, but a second one starts here")
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
		lines := bytes.Split(text, []byte("\n"))
		if line <= len(lines) {
			column += len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
		}
		why := strings.TrimPrefix(err.Error(), m[0])
		if line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")) {
			why = "this line begins with a tab; indent with spaces"
		}
		report(&yaml.Node{Line: line, Column: column}, "this is not YAML, near here: %s", why)
		return nil
	}
	if !plain(doc.Content[0], report) {
		return nil
	}
	return doc.Content[0]
}

// plain refuses what would make a node mean something else than it shows.
func plain(n *yaml.Node, report Report) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		report(n, "aliases (*%s) are not read here; write the value out", n.Value)
		return false
	case n.Anchor != "":
		report(n, "anchors (&%s) are not read here; write the value out", n.Anchor)
		return false
	case n.Style&yaml.TaggedStyle != 0:
		report(n, "tags (%s) are not read here", n.Tag)
		return false
	}
	for _, c := range n.Content {
		if !plain(c, report) {
			return false
		}
	}
	return true
}

// Object reads a mapping with the given keys; a key's function gets its value.
func Object(n *yaml.Node, what string, keys map[string]func(*yaml.Node), report Report) bool {
	if n.Kind != yaml.MappingNode {
		report(n, "expected %s with the keys %s, but got %s", what, names(keys), Kind(n))
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		read := keys[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || read == nil:
			report(k, "unknown key %q in %s, expected one of %s", Short(k.Value), what, names(keys))
		case seen[k.Value]:
			report(k, "key %q stands here twice", k.Value)
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

// Kind says what a node is, for people: "a map", or a short text in quotes.
func Kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return fmt.Sprintf("%q", Short(n.Value))
	default:
		return "something else"
	}
}

// Short keeps quoted foreign text short.
func Short(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
