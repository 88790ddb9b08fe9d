// Package describe tells a person what a call of one of Claude Code's tools does: in a sentence, in
// fields that hold all of its input, and in what an approver changed.
//
// Every text in it went through package show.
package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// wholeInput names the one field of an input that could not be taken apart. The space keeps it
// apart from every member's name.
const wholeInput = "whole input"

// Limits of what is indented for reading; beyond them a value is shown as it came, because
// indenting deep and long JSON multiplies it.
const (
	indentBytes = 16 << 10
	indentDepth = 16
)

// Call describes a tool call to the person who is to allow it: a sentence, and fields in
// which every value of input stands. Two inputs that differ in any value give different
// fields. An input that is not one JSON object in valid UTF-8 whose keys differ by more than
// their case is not taken apart: its raw text is the only field.
//
// The sentence repeats parts of the input and may shorten them; it is never all there is to
// see.
func Call(name string, raw []byte) (verb string, fields []show.Field) {
	fields = []show.Field{} // an API shows [], not null
	if short := shorten(show.Line(name)); short != show.Line(name) {
		fields = append(fields, show.Field{Name: "tool name", Text: show.Text(name), Kind: show.KindText})
	}
	members, ok := object(raw)
	if !ok {
		return "Use " + toolName(name) + " with an input that cannot be taken apart",
			append(fields, show.Field{Name: wholeInput, Text: show.Text(string(raw)), Kind: show.KindJSON})
	}
	return sentence(name, members), append(fields, fieldsOf(known(name), members)...)
}

// known is how the input of a tool is shown, or of an MCP server's form, which is asked about like a
// tool call.
func known(name string) tool.Tool {
	if name == hook.EventElicitation {
		return tool.Tool{Name: name, Members: []tool.Member{{Name: "message", Kind: show.KindText}}}
	}
	return tools.Of(name)
}

func fieldsOf(t tool.Tool, members []member) (fields []show.Field) {
	if t.List == nil {
		return flat("", members, t.Members)
	}
	top, listed := members, []show.Field(nil)
	if i := slices.IndexFunc(members, func(m member) bool { return m.key == t.List.Name }); i >= 0 {
		if f, ok := elementFields(t.List, "", members[i].raw); ok {
			top, listed = slices.Delete(slices.Clone(members), i, i+1), f
		}
	}
	n := 0 // the list stands after the members that are known to come first
	for _, mk := range t.Members {
		if slices.ContainsFunc(top, func(m member) bool { return m.key == mk.Name }) {
			n++
		}
	}
	return slices.Insert(flat("", top, t.Members), n, listed...)
}

// elementFields takes a list apart. ok is false when it is not a list of objects or is empty, and
// then its JSON has to be shown.
func elementFields(l *tool.List, prefix, raw string) (fields []show.Field, ok bool) {
	elems, ok := elements(raw)
	if !ok || len(elems) == 0 {
		return nil, false
	}
	for i, e := range elems {
		members, ok := object([]byte(e))
		if !ok || len(members) == 0 {
			return nil, false
		}
		at := fmt.Sprintf("%s%s[%d].", prefix, l.Name, i)
		var inner []show.Field
		if l.List != nil {
			if j := slices.IndexFunc(members, func(m member) bool { return m.key == l.List.Name }); j >= 0 {
				if f, ok := elementFields(l.List, at, members[j].raw); ok {
					inner = f
					members = slices.Delete(members, j, j+1)
				}
			}
		}
		fields = append(fields, flat(at, members, l.Members)...)
		fields = append(fields, inner...)
	}
	return fields, true
}

// flat makes one field of each member, those of first in front.
func flat(prefix string, members []member, first []tool.Member) []show.Field {
	fields := make([]show.Field, 0, len(members))
	for _, mk := range first {
		for _, m := range members {
			if m.key == mk.Name {
				fields = append(fields, field(prefix, m, mk.Kind))
			}
		}
	}
	for _, m := range members {
		if !slices.ContainsFunc(first, func(mk tool.Member) bool { return mk.Name == m.key }) {
			fields = append(fields, field(prefix, m, show.KindText))
		}
	}
	return fields
}

func field(prefix string, m member, kind string) show.Field {
	name := prefix + fieldName(m.key)
	if m.raw[0] == '"' {
		return show.Field{Name: name, Text: show.Text(unquote(m.raw)), Kind: kind}
	}
	return show.Field{Name: name, Text: show.Text(indent(m.raw)), Kind: show.KindJSON}
}

// fieldName is the key, in quotes unless it is a plain word, so that no key can pass for a
// path into a list or for one of our own names.
func fieldName(key string) string {
	plain := key != ""
	for i := 0; i < len(key) && plain; i++ {
		c := key[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '$'
	}
	if plain {
		return key
	}
	return show.Line(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`)
}

func indent(raw string) string {
	if len(raw) > indentBytes || depth(raw) > indentDepth {
		return raw
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return raw
	}
	return b.String()
}

// depth is how deep valid JSON text nests.
func depth(raw string) (deepest int) {
	d := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			d++
			deepest = max(deepest, d)
		case '}', ']':
			d--
		}
	}
	return deepest
}
