package policy

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLazyPatterns: each pattern that is compiled late can be, for a mistake in one would fail a request.
func TestLazyPatterns(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "lazily" {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the pattern is no text of its own", name)
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil {
				_, err = regexp.Compile(text)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, lit.Value, err)
			}
			n++
			return true
		})
	}
	if n < 20 {
		t.Errorf("%d patterns were found", n)
	}
	if p := lazily(strings.Repeat("a", 2)); !p.MatchString("baab") || p.FindString("baab") != "aa" {
		t.Error("it does not match")
	}
}
