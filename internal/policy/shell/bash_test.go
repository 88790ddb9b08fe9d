package shell

import (
	"flag"
	"os/exec"
	"strings"
	"testing"

	"assent/internal/policy/shell/bashtest"
)

var (
	mutantCount = flag.Int("mutants", 20_000, "how many mutants to compare with bash")
	mutantSeed  = flag.Uint64("mutant-seed", 1, "which mutants")
)

// TestBashReadsTheSame hands every mutant that is read without doubt to bash, which prints its
// own reading and runs nothing, and expects the same commands.
func TestBashReadsTheSame(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	var batch []string
	tried, certain, bad := 0, 0, 0
	flush := func() {
		certain += len(batch)
		for _, text := range bashtest.Differences(t, readCommands, batch) {
			if bad++; bad <= 20 {
				t.Errorf("bash reads %q\nas          %q\nwe read     %q", text, bashtest.Pretty(t, text), readCommands(text))
			}
		}
		batch = batch[:0]
	}
	for _, s := range bashtest.Seeds {
		batch = append(batch, certainOnly(strings.ReplaceAll(s, "⏎", "\n"))...)
	}
	flush()
	if certain < len(bashtest.Seeds)/2 {
		t.Errorf("only %d of %d plain commands are read without doubt", certain, len(bashtest.Seeds))
	}
	bashtest.Mutants(bashtest.Seeds, *mutantSeed, func(text string) bool {
		tried++
		if batch = append(batch, certainOnly(text)...); len(batch) >= 400 {
			flush()
		}
		return tried < *mutantCount
	})
	flush()
	t.Logf("%d mutants, %d without doubt, %d read differently", tried, certain, bad)
	if certain < tried/10 {
		t.Errorf("only %d of %d mutants are read without doubt: the comparison says little", certain, tried)
	}
}

func readCommands(text string) []string { return Commands(text, Options{Dir: "/p", Home: "/h"}) }

func certainOnly(text string) []string {
	if len(Read(text, Options{Dir: "/p", Home: "/h"}).Doubts) > 0 || !bashtest.Printable(text) {
		return nil
	}
	return []string{text}
}

// Of these bash prints something else than it has read: among a million mutants no other was found that is read differently.
func TestPrintedOtherwise(t *testing.T) {
	for _, text := range []string{
		"ca^<<-EOF | # sort -u\n\ttabbe*d\n\tEOF\nx=1; ls",
		"case $\"\"x in a|b) ls;; *) echo \"eval x y\";; esac",
		"if ls;\\&; then :; fi | cat",
		"for f in *or f$\"\".txt a b\\`; do echo \"$for f\"; done",
	} {
		if bashtest.Printable(text) {
			t.Errorf("%q is compared", text)
		}
		if _, err := exec.LookPath("bash"); err == nil && len(bashtest.Differences(t, readCommands, []string{text})) == 0 {
			t.Errorf("%q is read and printed alike: it may be compared", text)
		}
	}
	for _, text := range []string{"cat <<EOF | sort\na\nEOF", "cat <<EOF |\na\nEOF\nsort", "echo $\"x\"; for f in a; do ls; done", "cat <<< x | sort; ls"} {
		if !bashtest.Printable(text) {
			t.Errorf("%q is not compared", text)
		}
	}
}
