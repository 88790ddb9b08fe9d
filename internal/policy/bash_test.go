package policy

import (
	"bufio"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/policy/shell"
	"assent/internal/policy/shell/bashtest"
)

var (
	mutantCount = flag.Int("mutants", 10_000, "how many mutants to compare with bash")
	mutantSeed  = flag.Uint64("mutant-seed", 1, "which mutants; each seed makes others")
)

// TestBashRunsWhatIsAllowed hands every command that rules allow to bash, which prints its own
// reading and runs nothing, and expects the commands that the rules were asked about. The
// commands are those of our tables and mutants of them; with ASSENT_CORPORA also of the tables there.
func TestBashRunsWhatIsAllowed(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	packs, example := readers(t), load(t, string(text))
	var rows []string
	by := map[string][]*Set{} // the rules that stand with a command, where there are any
	add := func(command string, sets ...*Set) {
		rows = append(rows, strings.ReplaceAll(command, "\n", "⏎"))
		by[rows[len(rows)-1]] = sets
	}
	for _, c := range append(commands(t, "packs-allow.txt"), commands(t, "packs-ask.txt")...) {
		add(c)
	}
	for _, f := range example.tests {
		for _, c := range f.cases {
			var input struct{ Command string }
			if c.call.Tool == "Bash" && json.Unmarshal(c.call.Input, &input) == nil {
				add(input.Command, example)
			}
		}
	}
	own := []*Set{packs, example}
	for _, r := range corpusRows(t) {
		if r.set == nil {
			r.set = packs
		}
		add(r.command, r.set)
	}

	tried, allowed, bad := 0, 0, 0
	seen := map[string]bool{} // mutants meet
	var batch []string
	flush := func() {
		allowed += len(batch)
		for _, text := range bashtest.Differences(t, readCommands, batch) {
			if bad++; bad <= 20 {
				t.Errorf("allowed: bash reads %q\nas                %q\nwe read           %q", text, bashtest.Pretty(t, text), readCommands(text))
			}
		}
		batch = batch[:0]
	}
	try := func(text string, sets []*Set) bool {
		if !utf8.ValidString(text) {
			return false // no call can hold it: what is no UTF-8 is uninspectable before rules are asked
		}
		if seen[text] {
			return false
		}
		seen[text] = true
		tried++
		for _, s := range sets {
			if s.Eval(bashCall(text)).Action != hook.ActionAllow {
				continue
			}
			if bashtest.Printable(text) {
				batch = append(batch, text)
			}
			if len(batch) >= 400 {
				flush()
			}
			return true
		}
		return false
	}
	setsOf := func(row string) []*Set {
		if s := by[row]; len(s) > 0 {
			return s
		}
		return own
	}
	var good []string
	for _, row := range rows {
		if try(strings.ReplaceAll(row, "⏎", "\n"), setsOf(row)) {
			good = append(good, row)
		}
	}
	// A mutant is made of an allowed command, whose rules decide, and of two others.
	for i := 0; i < *mutantCount; {
		random := rand.New(rand.NewPCG(*mutantSeed, uint64(i)))
		from, other := good[random.IntN(len(good))], good[random.IntN(len(good))]
		bashtest.Mutants([]string{from, from, from, other, rows[random.IntN(len(rows))]}, random.Uint64(), func(text string) bool {
			try(text, setsOf(from))
			i++
			return i%8 != 0 && i < *mutantCount
		})
	}
	flush()
	t.Logf("%d different commands, %d allowed, %d read differently", tried, allowed, bad)
	if allowed < tried/20 {
		t.Errorf("only %d of %d are allowed: the comparison says little", allowed, tried)
	}
}

func readCommands(text string) []string {
	return shell.Commands(text, shell.Options{Dir: "/home/user/project", Home: "/home/user"})
}

type corpusCommand struct {
	command string
	set     *Set // the row's own rules, nil without
}

// corpusRows reads the tables in ASSENT_CORPORA.
func corpusRows(t *testing.T) []corpusCommand {
	dir := os.Getenv("ASSENT_CORPORA")
	if dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl in %s (%v)", dir, err)
	}
	var all []corpusCommand
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row corpusRow
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, corpusCommand{row.Command, row.own(t)})
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return all
}

// own are the rules that stand in the row, nil without.
func (row *corpusRow) own(t *testing.T) *Set {
	if row.Rules == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{"version": 1, "allow": list(row.Rules.Allow), "ask": list(row.Rules.Ask), "deny": list(row.Rules.Deny)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load([]Source{{Name: "row", Data: data}}, LoadOptions{})
	if err != nil {
		t.Errorf("%s: %v", row.Command, err)
		return nil
	}
	return set
}

// What bash -c runs may begin with a redirection or an assignment, which is no command: a rule that
// denies bash still sees bash.
func TestDenyInlineScript(t *testing.T) {
	set, err := Load([]Source{{Name: "x.yaml", Data: []byte("version: 1\nuse: [builtin/readonly@1]\ndeny: [\"Bash(bash *)\"]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"bash -c ls", "bash -c '< x cat'", "bash -c 'LANG=C ls'", "bash -c 'f=a'", "bash -c 'cat<x'"} {
		if v := set.Eval(bashCall(c)); v.Action != hook.ActionDeny {
			t.Errorf("%s: %s (%s)", c, v.Action, v.Reason)
		}
	}
}
