package strictyaml

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func read(text string) (got []string) {
	report := func(n *yaml.Node, format string, a ...any) {
		got = append(got, fmt.Sprintf("%d:%d: ", n.Line, n.Column)+fmt.Sprintf(format, a...))
	}
	doc := Document([]byte(text), 100, report)
	if doc == nil {
		return append(got, "nothing")
	}
	Object(doc, "the file", map[string]func(*yaml.Node){
		"a": func(n *yaml.Node) { got = append(got, "a is "+Kind(n)) },
		"b": func(n *yaml.Node) { got = append(got, "b is "+Kind(n)) },
	}, report)
	return got
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: [x]\n", `a is "1"|b is a list`},
		{"a: {}\nb:\n", "a is a map|b is nothing"},
		{"# no more\n", "nothing"},
		{"a: 1\na: 2\n", `a is "1"|2:1: key "a" stands here twice`},
		{"c: 1\n", `1:1: unknown key "c" in the file, expected one of a, b`},
		{"x", `1:1: expected the file with the keys a, b, but got "x"`},
		{"a: &y 1\n", "1:4: anchors (&y) are not read here; write the value out|nothing"},
		{"a: !!str 1\n", "1:4: tags (!!str) are not read here|nothing"},
		{"a: 1\n---\nb: 1\n", "2:1: expected one document, but a second one starts here|nothing"},
		{"a: [\n", "|nothing"},
		{"a: 1\n\tb: 1\n", "2:1: this is not YAML, near here: this line begins with a tab; indent with spaces|nothing"},
		{"b:\n\t- x\n", "2:1: this is not YAML, near here: this line begins with a tab; indent with spaces|nothing"},
		{"a: \xff\n", "1:1: the file is not UTF-8|nothing"},
		{strings.Repeat("#", 101), "1:1: the file has 101 bytes, more than 100|nothing"},
	} {
		got := strings.Join(read(c.text), "|")
		if got != c.want && (!strings.HasPrefix(c.want, "|") || !strings.HasSuffix(got, c.want)) {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}
