package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The packages that the walk of docs/architecture.md comes to.
var walked = map[string]string{
	"server": "server", "intake": "intake", "broker": "../broker", "hook": "hook", "claude": "agent/claude", "agents": "agent/agents",
	"auth": "auth", "halt": "halt", "contain": "policy/contain", "stream": "store/stream", "files": "policy/files", "grants": "policy/grants",
}

// functionsOf are the functions that the Go files of a package declare, a method as Type.Method.
func functionsOf(t *testing.T, dir string) map[string]*ast.FuncDecl {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no Go files, %v", dir, err)
	}
	found := map[string]*ast.FuncDecl{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			key := fn.Name.Name
			if fn.Recv != nil {
				receiver := fn.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if id, ok := receiver.(*ast.Ident); ok {
					key = id.Name + "." + key
				}
			}
			found[key] = fn
		}
	}
	return found
}

// calledIn are the names of what fn calls, in the order in which the calls are made where nothing is
// skipped: what stands in the arguments of a call comes before it.
func calledIn(fn *ast.FuncDecl) (names []string) {
	type made struct {
		at   token.Pos
		name string
	}
	var calls []made
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			calls = append(calls, made{call.Rparen, f.Name})
		case *ast.SelectorExpr:
			calls = append(calls, made{call.Rparen, f.Sel.Name})
		}
		return true
	})
	slices.SortFunc(calls, func(x, y made) int { return int(x.at - y.at) })
	for _, c := range calls {
		names = append(names, c.name)
	}
	return names
}

// step is a row of the walk: a function, and those of other packages that it asks.
type step struct {
	way, name string
	asks      []string
}

func walkOf(t *testing.T) (steps []step, others []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## The walk of one PermissionRequest\n")
	section, _, _ = strings.Cut(section, "\n## ")
	code := regexp.MustCompile("`([a-z]+(?:\\.[A-Za-z]+)+)`")
	way := ""
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 {
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				others = append(others, m[1])
			}
			continue
		}
		if first := strings.TrimSpace(cells[1]); first == "in" || first == "back" {
			way = first
		}
		if m := code.FindStringSubmatch(cells[2]); m != nil {
			s := step{way: way, name: m[1]}
			for _, m := range code.FindAllStringSubmatch(cells[4], -1) {
				s.asks = append(s.asks, m[1])
			}
			steps = append(steps, s)
		}
	}
	return steps, others
}

// TestWalk follows the walk of a request in the code: every function is there, is called by one above
// it on the way in, no package is come back to, and the way is short.
func TestWalk(t *testing.T) {
	steps, others := walkOf(t)
	declared := map[string]map[string]*ast.FuncDecl{}
	find := func(name string) *ast.FuncDecl {
		pkg, fn, _ := strings.Cut(name, ".")
		dir, ok := walked[pkg]
		if !ok {
			t.Errorf("%s: which package is that?", name)
			return nil
		}
		if declared[pkg] == nil {
			declared[pkg] = functionsOf(t, dir)
		}
		if declared[pkg][fn] == nil {
			t.Errorf("%s is not there", name)
		}
		return declared[pkg][fn]
	}
	for _, name := range others {
		find(name)
	}
	longest := map[string]int{"in": 12, "back": 8}
	for way, most := range longest {
		var packages, called []string
		n := 0
		for _, s := range steps {
			if s.way != way {
				continue
			}
			n++
			pkg, _, _ := strings.Cut(s.name, ".")
			if len(packages) == 0 || packages[len(packages)-1] != pkg {
				if slices.Contains(packages, pkg) {
					t.Errorf("%s: %s comes back to %s", way, s.name, pkg)
				}
				packages = append(packages, pkg)
			}
			if own := s.name[strings.LastIndex(s.name, ".")+1:]; way == "in" && n > 1 && !slices.Contains(called, own) {
				t.Errorf("nothing above calls %s", s.name)
			}
			if fn := find(s.name); fn != nil {
				called = append(called, calledIn(fn)...)
			}
			for _, asked := range s.asks {
				find(asked)
			}
		}
		if n == 0 || n > most {
			t.Errorf("%d functions %s, want 1 to %d", n, way, most)
		}
	}
}

// TestWalkInOrder: the journey calls its steps in the order of the list.
func TestWalkInOrder(t *testing.T) {
	steps, _ := walkOf(t)
	conductor := functionsOf(t, walked["intake"])["Intake.Handle"]
	if conductor == nil {
		t.Fatal("who calls the steps?")
	}
	called := calledIn(conductor)
	for _, s := range steps {
		if s.way != "in" || !strings.HasPrefix(s.name, "intake.") || s.name == "intake.Intake.Handle" {
			continue
		}
		i := slices.Index(called, s.name[strings.LastIndex(s.name, ".")+1:])
		if i < 0 {
			t.Fatalf("%s is not called after the step above it; then come %v", s.name, called)
		}
		called = called[i+1:]
	}
}
