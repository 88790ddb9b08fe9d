package internal_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assent/internal/agent/claude/tools"
)

// nameTools are the files outside of agent/claude that may write the name of one of an agent's tools,
// and why. Whoever else wants to treat a tool differently asks its table.
var nameTools = map[string]string{
	"broker/logtest/records.go":          "it is a helper of tests",
	"cmd/assent/install.go":              "an example in a help text",
	"cmd/assent/ledger_query.go":         "a help text",
	"hookclient/usage.go":                "a help text, of a program that imports next to nothing",
	"internal/policy/suggest/command.go": "verbs of sentences",
	"internal/policy/suggest/tool.go":    "a verb of a sentence",
	"web/src/card/remember.tsx":          "what OpenCode and Kilo call every change of a file",
	"web/src/text/words/later.ts":        "a button to edit a message",
	"web/src/broker/tools.ts":            "the page's own table: the API does not say what a tool does",
}

// TestToolNames finds names of tools in the texts of programs: those of several words, such as
// NotebookEdit, wherever they stand, and a few others where the text is the name and nothing else.
// Names that are English words mean nothing by themselves.
func TestToolNames(t *testing.T) {
	several := slices.DeleteFunc(slices.Clone(tools.Names()), func(n string) bool { return !strings.ContainsAny(n[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") || len(n) < 4 })
	within := regexp.MustCompile(`\b(` + strings.Join(several, "|") + `)\b`)
	alone := regexp.MustCompile(`^(Bash|Edit|Glob|Grep|LS|Read|Write)$`)
	found := map[string]bool{}
	look := func(path, literal string) {
		name := within.FindString(literal)
		if name == "" {
			name = alone.FindString(literal)
		}
		if name == "" {
			return
		}
		if found[path] = true; nameTools[path] == "" {
			t.Errorf("%s has the tool %s in %.60q: ask agent/claude/tools for what is meant by it", path, name, literal)
		}
	}
	for _, dir := range []string{"cmd", "broker", "hookclient", "internal", "web/src"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel("..", path)
			name = filepath.ToSlash(name)
			if err != nil || d.IsDir() {
				if slices.Contains([]string{"internal/agent/claude", "internal/tool"}, name) || d != nil && d.Name() == "testdata" {
					return fs.SkipDir
				}
				return err
			}
			switch {
			case strings.HasSuffix(name, "_test.go"), strings.Contains(name, ".test."):
				return nil
			case strings.HasSuffix(name, ".go"):
				return goLiterals(path, func(s string) { look(name, s) })
			case strings.HasSuffix(name, ".ts"), strings.HasSuffix(name, ".tsx"):
				return pageLiterals(path, func(s string) { look(name, s) })
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range nameTools {
		if !found[path] {
			t.Errorf("%s names no tool: take it out of the list", path)
		}
	}
}

// goLiterals calls see for every string in a Go file.
func goLiterals(path string, see func(string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(path, -1, len(text)), text, nil, 0)
	for {
		switch _, tok, literal := s.Scan(); tok {
		case token.EOF:
			return nil
		case token.STRING:
			if plain, err := strconv.Unquote(literal); err == nil {
				see(plain)
			}
		}
	}
}

var quoted = regexp.MustCompile(`"([^"\n]*)"`)

// pageLiterals calls see for every text in double quotes in a source of the page.
func pageLiterals(path string, see func(string)) error {
	text, err := os.ReadFile(path)
	for _, m := range quoted.FindAllSubmatch(text, -1) {
		see(string(m[1]))
	}
	return err
}
