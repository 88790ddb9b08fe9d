package agents

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table in docs/agents.md")

// TestDocumentedTable: what docs/agents.md says of each agent is what the broker acts on.
func TestDocumentedTable(t *testing.T) {
	mark := func(yes bool) string {
		if yes {
			return "yes"
		}
		return "no"
	}
	var b strings.Builder
	b.WriteString("| agent | tried | words of a denial | edited input | “always” | stops the turn | questions | its prompt meanwhile | a hook that fails |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, a := range all {
		f := a.Facts()
		failed := "at a terminal: " + f.Failed.Terminal + "; without: " + f.Failed.Headless
		if f.Failed.Runs {
			failed = "**may run**: " + failed
		}
		tried := f.Version
		if f.Newest != "" {
			tried += " to " + f.Newest
		}
		prompt := "up, the first answer counts"
		if !f.Race {
			prompt = "none until the hook ends"
		}
		fmt.Fprintf(&b, "| %s (`%s`) | %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Title, a.Name(), tried,
			mark(f.Can.Words), mark(f.Can.Edit), mark(f.Can.Always), mark(f.Can.Interrupt), mark(f.Can.Question), prompt, failed)
	}
	const path, begin, end = "../../../docs/agents.md", "<!-- Made by go test ./internal/agent/agents -update. -->\n", "<!-- The end of what was made. -->"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(doc), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", path)
	}
	want := before + begin + b.String() + end + after
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	} else if string(doc) != want {
		t.Errorf("%s does not hold the table; go test ./internal/agent/agents -update writes it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
