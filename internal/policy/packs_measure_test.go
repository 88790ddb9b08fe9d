package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
)

// TestCorpora measures the packs on tables of other projects, which are not part of this one.
// ASSENT_CORPORA names a directory of JSON lines: command, expected (allow, ask, deny, unsafe),
// rules (allow, ask and deny as rule strings) or policy, disputed.
func TestCorpora(t *testing.T) {
	dir := os.Getenv("ASSENT_CORPORA")
	if dir == "" {
		t.Skip("ASSENT_CORPORA names no directory of tables")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl in %s (%v)", dir, err)
	}
	packs := readers(t)
	for _, file := range files {
		measure(t, file, packs)
	}
}

// readers are the rules of all packs whose name says that they read.
func readers(t *testing.T) *Set {
	var names []string
	for _, p := range Packs() {
		if strings.Contains(p, "read") {
			names = append(names, p)
		}
	}
	set, err := Load([]Source{{Name: "packs.yaml", Data: []byte("version: 1\nuse: [" + strings.Join(names, ", ") + "]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func bashCall(command string) Call {
	input, _ := json.Marshal(map[string]string{"command": command}) // of texts: cannot fail
	return Call{Agent: "claude", Tool: "Bash", Input: input, Cwd: "/home/user/project", Project: "/home/user/project", Home: "/home/user",
		Shell: "bash", Time: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}
}

type corpusRow struct {
	Command, Expected, Policy string
	Cwd                       string // the project, of tables that name one
	Rules                     *struct{ Allow, Ask, Deny []string }
	Disputed                  bool
}

func measure(t *testing.T, file string, packs *Set) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type count struct{ want, got int }
	byProgram := map[string]*count{}
	total := count{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row corpusRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		set := packs
		if row.Rules != nil {
			if set = row.own(t); set == nil {
				continue
			}
		}
		v := set.Explain(row.call())
		program, _, _ := strings.Cut(strings.TrimSpace(row.Command), " ")
		c := byProgram[program]
		if c == nil {
			c = &count{}
			byProgram[program] = c
		}
		switch {
		case row.Expected == "allow":
			c.want++
			total.want++
			if v.Action == hook.ActionAllow {
				c.got++
				total.got++
			} else if os.Getenv("ASSENT_CORPORA_MISSED") != "" {
				t.Logf("missed: %s\t%s\t%s", row.Command, v.Reason, miss(v))
			}
		case v.Action == hook.ActionAllow && row.Expected == "ask" && filepath.Base(file) == "rippy.jsonl" && substitutes.MatchString(row.Command):
			t.Logf("allowed, though that project asks about every substitution: %s", row.Command)
		case v.Action == hook.ActionAllow && !row.Disputed:
			t.Errorf("%s: allowed by %s, want %s: %s", filepath.Base(file), v.Rule, row.Expected, row.Command)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	var programs []string
	for p, c := range byProgram {
		if c.want > 0 {
			programs = append(programs, p)
		}
	}
	sort.Slice(programs, func(i, j int) bool {
		a, b := byProgram[programs[i]], byProgram[programs[j]]
		return a.want-a.got > b.want-b.got || a.want-a.got == b.want-b.got && programs[i] < programs[j]
	})
	t.Logf("%s: %d of %d allowed (%.1f %%)", filepath.Base(file), total.got, total.want, 100*float64(total.got)/float64(max(total.want, 1)))
	for _, p := range programs[:min(len(programs), 60)] {
		t.Logf("  %-24s %3d of %3d", p, byProgram[p].got, byProgram[p].want)
	}
}

// substitutes finds a substitution. What it runs is looked at by itself.
var substitutes = regexp.MustCompile("[$<]\\(|`")

// call is the row as the broker gets it: nobody says which shell the agent has, unless the table is
// of texts for bash without a place.
func (r *corpusRow) call() Call {
	c := bashCall(r.Command)
	if r.Cwd != "" {
		c.Cwd, c.Project, c.Home, c.Shell = r.Cwd, r.Cwd, path.Dir(r.Cwd), ""
	}
	return c
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// miss is the first selector that failed of the rule that came closest.
func miss(v Explanation) string {
	for _, u := range v.Units {
		if u.Action == hook.ActionAllow {
			continue
		}
		for _, m := range u.Misses {
			return m.Rule + ": " + m.Selector + ": " + m.Why
		}
	}
	return ""
}
