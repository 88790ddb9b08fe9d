package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "assent/"
	picture = "../docs/architecture.md"
	begin   = "<!-- Made by go test ./internal -run FloorPlan -update. -->\n```\n"
	end     = "```\n<!-- The end of what was made. -->\n"
)

var update = flag.Bool("update", false, "write the picture of the floor plan")

// noRow matches packages that belong to no program.
var noRow = regexp.MustCompile(`^(internal$|docs/|e2e(/|$)|internal/tool/)|test$`)

// pkg is what `go list` says about one.
type pkg struct {
	ImportPath                               string
	Imports, Deps, TestImports, XTestImports []string
}

// list returns the packages of this module, as they are on an operating system.
func list(t *testing.T, system string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps,TestImports,XTestImports", module+"...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// everywhere returns the packages with what they import on any operating system we build for.
func everywhere(t *testing.T) []pkg {
	t.Helper()
	all := list(t, "linux")
	for _, p := range list(t, "darwin") {
		i := slices.IndexFunc(all, func(q pkg) bool { return q.ImportPath == p.ImportPath })
		if i < 0 {
			all = append(all, p)
			continue
		}
		all[i].Imports = union(all[i].Imports, p.Imports)
		all[i].Deps = union(all[i].Deps, p.Deps)
	}
	return all
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func TestFloorPlan(t *testing.T) {
	rows := map[string][]string{}
	for _, row := range plan {
		if rows[row.name] != nil {
			t.Errorf("%s has two rows", row.name)
		}
		rows[row.name] = append([]string{}, strings.Fields(row.may)...)
	}
	used := map[string]bool{} // "package import" and, of modules, "package path"
	here := map[string]bool{}
	for _, p := range everywhere(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if noRow.MatchString(name) {
			continue
		}
		here[name] = true
		may, known := rows[name]
		if !known {
			t.Errorf("%s has no row in the floor plan", name)
		}
		for _, path := range p.Imports {
			if target, inside := strings.CutPrefix(path, module); inside {
				used[name+" "+target] = true
				if known && !slices.Contains(may, target) {
					t.Errorf("%s imports %s, which its row does not allow%s", name, target, because(name))
				}
			} else if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
				checkModule(t, name, path, used)
			}
		}
		checkDeps(t, name, p.Deps)
	}
	for _, row := range plan {
		if !here[row.name] {
			t.Errorf("%s has a row, and is not there", row.name)
		}
		for _, target := range rows[row.name] {
			if !used[row.name+" "+target] {
				t.Errorf("%s may import %s, and does not: take that out of its row", row.name, target)
			}
		}
	}
	for _, m := range modules {
		for _, name := range strings.Fields(m.may) {
			if !used[name+" "+m.path] {
				t.Errorf("%s may import %s, and does not: take that out of the module's row", name, m.path)
			}
		}
	}
	for _, f := range forbidden {
		if !here[f.from] {
			t.Errorf("%s is forbidden something, and is not there", f.from)
		}
	}
}

// because says why a row has no more.
func because(name string) string {
	for _, row := range plan {
		if row.name == name && row.why != "" {
			return ": " + row.why
		}
	}
	return ""
}

func checkModule(t *testing.T, name, path string, used map[string]bool) {
	t.Helper()
	for _, m := range modules {
		if path != m.path && !strings.HasPrefix(path, m.path+"/") {
			continue
		}
		used[name+" "+m.path] = true
		if !slices.Contains(strings.Fields(m.may), name) {
			why := ""
			if m.why != "" {
				why = ": " + m.why
			}
			t.Errorf("%s imports %s, which the module's row does not allow%s", name, path, why)
		}
		return
	}
	t.Errorf("%s imports %s, a module without a row", name, path)
}

func checkDeps(t *testing.T, name string, deps []string) {
	t.Helper()
	for _, f := range forbidden {
		if f.from != name {
			continue
		}
		for _, dep := range deps {
			if strings.HasPrefix(dep, jsonReader) {
				continue
			}
			prefix, below := strings.CutSuffix(f.to, "...")
			if below && strings.HasPrefix(dep, prefix) || dep == f.to {
				t.Errorf("%s imports %s, perhaps through others: %s", name, dep, f.why)
			}
		}
	}
}

// TestFloorPlanPicture: docs/architecture.md shows the floor plan as it is.
func TestFloorPlanPicture(t *testing.T) {
	doc, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines that enclose the picture", picture)
	}
	drawn := draw(t)
	switch {
	case drawn == old:
	case *update:
		if err := os.WriteFile(picture, []byte(before+begin+drawn+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the picture in %s is not the floor plan's: go test ./internal -run FloorPlan -update", picture)
	}
}

// draw returns the plan, one line for a package, the highest floor first: a package stands one floor
// above the highest one it may import. An arrow that follows from the others is left out.
func draw(t *testing.T) string {
	t.Helper()
	rows := map[string][]string{}
	for _, row := range plan {
		rows[row.name] = strings.Fields(row.may)
	}
	floors := map[string]int{}
	var floor func(name string, path []string) int
	floor = func(name string, path []string) int {
		if slices.Contains(path, name) {
			t.Fatalf("the floor plan has a circle: %s", strings.Join(append(path, name), " -> "))
		}
		if n, ok := floors[name]; ok {
			return n
		}
		n := 0
		for _, target := range rows[name] {
			n = max(n, 1+floor(target, append(slices.Clone(path), name)))
		}
		floors[name] = n
		return n
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return slices.ContainsFunc(rows[from], func(next string) bool { return next == to || reaches(next, to) })
	}
	top := 0
	for name := range rows {
		top = max(top, floor(name, nil))
	}
	var b strings.Builder
	for n := top; n >= 0; n-- {
		for _, row := range plan {
			if floors[row.name] != n {
				continue
			}
			var to []string
			for _, target := range rows[row.name] {
				if !slices.ContainsFunc(rows[row.name], func(other string) bool { return reaches(other, target) }) {
					to = append(to, short(target))
				}
			}
			b.WriteString(line(n, short(row.name), to))
		}
	}
	return b.String()
}

func short(name string) string { return strings.TrimPrefix(name, "internal/") }

// line is a package and its arrows, at most 100 columns wide.
func line(floor int, name string, to []string) string {
	const indent, width = 32, 100
	if len(to) == 0 {
		return fmt.Sprintf("%d  %s\n", floor, name)
	}
	var b strings.Builder
	head := fmt.Sprintf("%d  %-*s", floor, indent-7, name) + "──► "
	column := indent
	b.WriteString(head)
	for i, target := range to {
		switch {
		case i == 0:
		case column+len(" · ")+len(target) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteString(" · ")
			column += len(" · ")
		}
		b.WriteString(target)
		column += len(target)
	}
	return b.String() + "\n"
}

// TestShellParserLivesInShell: tests, too, read shell text by internal/policy/shell only.
func TestShellParserLivesInShell(t *testing.T) {
	found := false
	for _, p := range list(t, "linux") {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if !strings.HasPrefix(path, "mvdan.cc/sh/") {
				continue
			}
			if p.ImportPath != module+"internal/policy/shell" {
				t.Errorf("%s imports mvdan.cc/sh: only internal/policy/shell may", p.ImportPath)
			}
			found = true
		}
	}
	if !found {
		t.Error("internal/policy/shell does not import mvdan.cc/sh: this test says nothing")
	}
}
