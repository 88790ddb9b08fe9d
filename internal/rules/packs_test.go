package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// commands reads one of the tables in testdata.
func commands(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	if len(all) == 0 {
		t.Fatalf("testdata/%s is empty", name)
	}
	return all
}

// No reading pack, and not all of them together, allows what writes, runs, connects elsewhere or
// shows secrets.
func TestPacksAsk(t *testing.T) {
	packs := readers(t)
	for _, c := range commands(t, "packs-ask.txt") {
		if v := packs.Eval(bashCall(c)); v.Action == Allow {
			t.Errorf("allowed by %s: %s", v.Rule, c)
		}
	}
}
