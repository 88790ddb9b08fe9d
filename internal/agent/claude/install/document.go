package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds the nesting of a settings file: the parser calls itself for every level.
const maxDepth = 1000

// maxShort bounds, in bytes, what a message quotes of a file.
const maxShort = 200

var bom = []byte("\xef\xbb\xbf")

// document is a settings file as a tree that keeps every byte.
type document struct {
	agent string // for people
	path  string
	text  []byte // without the byte order mark
	bom   bool
	tree  hujson.Value
	// How the file is written, for what is added: its line break, and one step of its indent.
	newline, step string
}

// parse reads a settings file. Comments and trailing commas are understood; strict refuses them.
// An empty file and none at all are settings that say nothing, as they are for Claude Code.
func parse(path string, b []byte) (*document, error) { return parseFor("Claude Code", path, b) }

// parseFor is parse for another agent, by its name for people.
func parseFor(agent, path string, b []byte) (*document, error) {
	d := &document{agent: agent, path: path, newline: "\n", step: "  "}
	d.text, d.bom = bytes.CutPrefix(b, bom)
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.tree = hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra("\n")}
		return d, nil
	}
	if err := shallow(d.text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tree, err := hujson.Parse(d.text)
	if err != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %s; fix it first, %s ignores the whole file as it is",
			path, short(strings.TrimPrefix(err.Error(), "hujson: ")), agent)
	}
	if _, ok := tree.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("%s holds no JSON object, {…}; fix it first, %s ignores the whole file as it is", path, agent)
	}
	d.tree = tree
	d.style()
	return d, nil
}

// shallow refuses text that is nested beyond reason. It reads strings and comments as the parser
// does, so that nothing is nested deeper for that one.
func shallow(b []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		if !inString {
			if end := commentEnd(b[i:]); end > 0 {
				i += end - 1
				continue
			}
		}
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("values are nested more than %d deep; that is no settings file", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// commentEnd is the length of the comment that b begins with; 0 if it begins with none. One
// without an end is as long as b.
func commentEnd(b []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(b, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	if i := bytes.Index(b[2:], []byte(end)); i >= 0 {
		return 2 + i + len(end)
	}
	return len(b)
}

// style finds out how the file is written.
func (d *document) style() {
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		d.newline = "\r\n"
	}
	if o := d.root(); len(o.Members) > 0 {
		if _, in, ok := strings.Cut(string(o.Members[0].Name.BeforeExtra), "\n"); ok && in != "" && strings.Trim(in, " \t") == "" {
			d.step = in
		}
	}
}

func (d *document) root() *hujson.Object { return d.tree.Value.(*hujson.Object) }

// bytes is the file's text.
func (d *document) bytes() []byte {
	b := d.tree.Pack()
	if d.bom {
		b = append(slices.Clone(bom), b...)
	}
	return b
}

// strict says why hooks should not be written into this file: what the agent does not read, or
// reads otherwise than a person would. f is nil for Claude Code.
func (d *document) strict(f *Format) error {
	if f != nil && d.bom && !f.BOM {
		return fmt.Errorf("%s begins with a byte order mark, for which %s ignores the whole file; remove it first", d.path, d.agent)
	}
	// Standardize puts spaces in the place of what is not JSON.
	plain, err := hujson.Standardize(slices.Clone(d.text))
	for at := 0; err == nil && at < len(d.text); at++ {
		if plain[at] == d.text[at] {
			continue
		}
		what := "a comment"
		switch end := commentEnd(d.text[at:]); {
		case end == 0:
			what = "a comma with nothing after it"
		case f != nil && f.Comments:
			at += end - 1
			continue
		}
		return d.fault(at, "%s, for which %s ignores the whole file; remove it first", what, d.agent)
	}
	root := d.root()
	if err := d.unique(root, "at the top"); err != nil {
		return err
	}
	if v := last(root, "permissions"); v != nil {
		if err := d.strictPermissions(v); err != nil {
			return err
		}
	}
	hooks := last(root, "hooks")
	if hooks == nil {
		return nil
	}
	if err := d.uniqueBelow(*hooks, "in hooks"); err != nil {
		return err
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return d.fault(hooks.StartOffset, "hooks must be an object, {…}; %s runs none of them as it is", d.agent)
	}
	for _, m := range events.Members {
		name := short(m.Name.Value.(hujson.Literal).String())
		if err := d.strictEvent(name, m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) strictEvent(name string, v hujson.Value) error {
	groups, ok := v.Value.(*hujson.Array)
	if !ok {
		return d.fault(v.StartOffset, "hooks.%s must be a list, […]; fix it first", name)
	}
	for _, g := range groups.Elements {
		group, ok := g.Value.(*hujson.Object)
		if !ok {
			return d.fault(g.StartOffset, "hooks.%s must list objects, {…}; fix it first", name)
		}
		if h := last(group, "hooks"); h != nil {
			if _, ok := h.Value.(*hujson.Array); !ok {
				return d.fault(h.StartOffset, "the hooks in hooks.%s must be a list, […]; fix it first", name)
			}
		}
	}
	return nil
}

func (d *document) strictPermissions(v *hujson.Value) error {
	if err := d.uniqueBelow(*v, "in permissions"); err != nil {
		return err
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return d.fault(v.StartOffset, "permissions must be an object, {…}; fix it first")
	}
	if ask := last(o, "ask"); ask != nil {
		if _, ok := ask.Value.(*hujson.Array); !ok {
			return d.fault(ask.StartOffset, "permissions.ask must be a list, […]; fix it first")
		}
	}
	return nil
}

// uniqueBelow refuses a name that stands twice in an object: the last one counts for Claude
// Code, and it is rarely the one that was meant.
func (d *document) uniqueBelow(v hujson.Value, where string) error {
	switch x := v.Value.(type) {
	case *hujson.Object:
		if err := d.unique(x, where); err != nil {
			return err
		}
		for _, m := range x.Members {
			if err := d.uniqueBelow(m.Value, where); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for _, e := range x.Elements {
			if err := d.uniqueBelow(e, where); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) unique(o *hujson.Object, where string) error {
	seen := map[string]bool{}
	for _, m := range o.Members {
		name := m.Name.Value.(hujson.Literal).String()
		if seen[name] {
			return d.fault(m.Name.StartOffset, "%q stands twice %s; %s takes the last one only; leave one", short(name), where, d.agent)
		}
		seen[name] = true
	}
	return nil
}

// fault is an error at a place in the file.
func (d *document) fault(at int, format string, args ...any) error {
	line := 1 + bytes.Count(d.text[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(d.text[:at], '\n')
	return fmt.Errorf("%s, line %d, column %d: %s", d.path, line, column, fmt.Sprintf(format, args...))
}

// short cuts what a file says to a length fit for a message.
func short(s string) string {
	if len(s) > maxShort {
		return strings.ToValidUTF8(s[:maxShort], "") + "…"
	}
	return s
}

// last returns the member that counts, nil if there is none.
func last(o *hujson.Object, name string) *hujson.Value {
	if i := lastIndex(o, name); i >= 0 {
		return &o.Members[i].Value
	}
	return nil
}

func lastIndex(o *hujson.Object, name string) int {
	for i := range slices.Backward(o.Members) {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			return i
		}
	}
	return -1
}
