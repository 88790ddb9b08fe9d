package policy

import (
	"slices"
	"strings"

	"assent/internal/agent/tool"
	"assent/internal/text/strictjson"
)

// strangeMember returns the name of a member that may say what a tool works on: one that is not known
// and holds more than a number or a yes. Agents and versions of them name their paths differently, and
// some have a list of them.
func (e *scope) strangeMember() string {
	if len(e.tool.Known) == 0 {
		return ""
	}
	return strangeAmong(e.input, e.tool)
}

// strangeMember is that of an input, which no scope has read yet.
func strangeMember(input []byte, known []string) string {
	ms, _ := members(input) // what is wrong with it is said elsewhere
	return strangeAmong(ms, tool.Tool{Known: known})
}

func strangeAmong(ms []strictjson.Member, t tool.Tool) string {
	for _, m := range ms {
		switch {
		case len(m.Value) == 0 || strings.IndexByte("\"[{", m.Value[0]) < 0 || string(m.Value) == `""`:
		case !slices.Contains(t.Known, m.Key):
			return m.Key
		case t.List != nil && t.List.Name == m.Key:
			if !plainList(m.Value, t.List) {
				return m.Key
			}
		case m.Value[0] != '"' && !slices.Contains(t.Lists, m.Key):
			return m.Key
		}
	}
	return ""
}

// plainList says whether a value is a list of objects of which every member is known, or a number or a yes.
func plainList(raw []byte, is *tool.List) bool {
	all, err := strictjson.Array(raw)
	return err == nil && !slices.ContainsFunc(all, func(one []byte) bool {
		ms, problem := members(one)
		known := slices.Clone(is.Known)
		for _, m := range is.Members {
			known = append(known, m.Name)
		}
		return problem != "" || strangeAmong(ms, tool.Tool{Known: known}) != ""
	})
}
