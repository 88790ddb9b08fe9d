package effects

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// manualText has commands as manuals show them, each with the risk and the kinds of effect that must
// be told of it.
//
//go:embed testdata/manual.txt
var manualText string

// TestManual: what the manual says that a command does, is told. Each row of the table has such a
// command, and each of its lines that a flag turns on.
func TestManual(t *testing.T) {
	of := Func("/home/dev")
	tested := map[*line]bool{}
	for l := range strings.Lines(manualText) {
		l = strings.TrimSuffix(l, "\n")
		if l == "" || l[0] == '#' {
			continue
		}
		risk, rest, _ := strings.Cut(l, " ")
		list, command, _ := strings.Cut(strings.TrimSpace(rest), " ")
		command = strings.TrimSpace(command)
		t.Run(command, func(t *testing.T) {
			input, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			e := of(&hook.Request{ToolName: "Bash", ToolInput: hook.JSON(input), CWD: "/srv/shop", Origin: hook.Origin{Repo: hook.Repo{Root: "/srv/shop", Branch: "main"}}})
			if e.Risk != hook.Risk(risk) {
				t.Errorf("%s, want %s: %s", e.Risk, risk, e.Sentence)
			}
			for kind := range strings.SplitSeq(list, ",") {
				if !slices.ContainsFunc(e.Effects, func(f hook.Effect) bool { return f.Effect == kind }) {
					t.Errorf("no effect %s: %s", kind, e.Sentence)
				}
			}
			script := shell.Read(command, shell.Options{Dir: "/srv/shop", Home: "/home/dev", Project: "/srv/shop"})
			for i := range script.Units {
				u := &script.Units[i]
				if u.Kind != shell.Command || len(u.Argv) == 0 {
					continue
				}
				rows, _, s := theTable().find(&scanMemory{}, u.Base, u.Argv[1:])
				for _, r := range rows {
					for k := range r.lines {
						if l := &r.lines[k]; (len(l.on) == 0 || s.has(l.on)) && !s.has(l.but) {
							tested[l] = true
						}
					}
				}
			}
		})
	}
	programs := map[string]bool{}
	for _, rows := range theTable() {
		for _, r := range rows.all {
			for _, p := range r.programs {
				programs[p] = true
			}
			for k := range r.lines {
				if l := &r.lines[k]; !tested[l] {
					t.Errorf("table.txt:%d: no command of testdata/manual.txt shows %s %q of %v %v", r.n, l.kind, l.phrase, r.programs[:min(4, len(r.programs))], r.subs)
					tested[l] = true
				}
			}
		}
	}
	if len(programs) < 120 {
		t.Errorf("%d programs", len(programs))
	}
	t.Logf("%d programs, %d lines", len(programs), len(tested))
}

// TestTableMistakes: what is no row is said with its line.
func TestTableMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"\treads":                   "table.txt:1: no program stands above it",
		"x\n\tfrobs":                `table.txt:2: "frobs" is no kind of effect`,
		"x\n\treads maybe":          `table.txt:2: "maybe" is neither object nor risk`,
		"x\n\treads \"no end":       "table.txt:2: a quotation does not end",
		"x\n\n# c\n\treads @nobody": `table.txt:4: "@nobody" is no object`,
	} {
		if _, err := readTable(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
