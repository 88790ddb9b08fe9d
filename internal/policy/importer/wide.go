package importer

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

//go:embed wide.txt
var widePrograms string

// wideProgram is one entry of wide.txt, which says what its lines mean.
type wideProgram struct {
	names   []string
	then    []string
	meaning string
	runs    bool
}

// wideTable are the entries in their order.
var wideTable = sync.OnceValue(func() []wideProgram { return readWide(widePrograms) })

func readWide(text string) []wideProgram {
	var all []wideProgram
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != '\t' {
			all = append(all, wideProgram{names: strings.Fields(line)})
			continue
		}
		w := &all[len(all)-1]
		switch key, rest, _ := strings.Cut(line[1:], " "); key {
		case "then":
			w.then = strings.Fields(rest)
		case "runs":
			w.runs = true
		case "means":
			w.meaning = rest
		}
	}
	return all
}

// WideMeaning says what a rule string such as "Bash(python:*)" allows that is wider than it may
// look, as the end of a sentence; empty for others.
func WideMeaning(text string) string {
	name, spec, has := strings.Cut(text, "(")
	spec = strings.TrimSpace(strings.TrimSuffix(spec, ")"))
	t := tools.Of(name)
	whole := !has || strings.Trim(spec, "*/ ") == "" || spec == "~/**" || spec == "./**"
	switch {
	case strings.HasPrefix(text, "mcp__"):
		if name := strings.Split(text[len("mcp__"):], "__"); len(name) == 1 || strings.Trim(name[len(name)-1], "*") == "" {
			return "every tool of that server, also those that it brings later"
		}
		return ""
	case t.Kind == tool.Command:
		return wideCommand(spec)
	case t.Kind == tool.Fetch && (whole || strings.Trim(strings.TrimPrefix(spec, "domain:"), "*.") == ""):
		return "any page, and an address can carry what the agent knows"
	case t.AboutFiles() && t.MayWrite() && whole:
		return "files that are run later (scripts, hooks, Makefiles) are among those that it changes"
	case t.AboutFiles() && !t.MayWrite() && whole && spec != "./**":
		return "keys and passwords in files are among what it reads"
	}
	return "" // also of WebSearch, which asks one service
}

// RunsAnything is WideMeaning for rules about a program that runs whatever its arguments say.
func RunsAnything(text string) string {
	spec, ok := strings.CutPrefix(text, "Bash(")
	if !ok {
		return ""
	}
	if w := wideProgramOf(strings.TrimSpace(strings.TrimSuffix(spec, ")"))); w != nil && w.runs {
		return w.meaning
	}
	return ""
}

func wideCommand(spec string) string {
	if w := wideProgramOf(spec); w != nil {
		return w.meaning
	}
	return ""
}

// wideProgramOf finds the program that a rule about commands leaves open.
func wideProgramOf(spec string) *wideProgram {
	spec, open := strings.CutSuffix(spec, "*")
	words := strings.Fields(strings.TrimSuffix(spec, ":"))
	if !open || len(words) == 0 {
		return nil
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if plain := strings.TrimRight(program, "0123456789."); plain != "" && program != "sqlite3" {
		program = plain
	}
	table := wideTable()
	for i := range table {
		w := &table[i]
		if !slices.Contains(w.names, program) && !slices.Contains(w.names, words[0]) {
			continue
		}
		for _, arg := range words[1:] {
			if !slices.Contains(w.then, arg) {
				return nil
			}
		}
		return w
	}
	return nil
}
