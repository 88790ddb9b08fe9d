package install

import (
	"os"
	"strings"
	"testing"

	"assent/internal/agent/claude/events"
)

// The example in the documentation is what install writes into a new file.
func TestExampleInTheDocs(t *testing.T) {
	o := home(t, nil)
	o.Command = []string{"/home/you/assent/bin/assent-hook", "--socket", "/run/user/1000/assent/hook.sock"}
	p, err := Install(o)
	must(t, err)
	const path = "../../../../docs/hooks.example.json"
	if *update {
		must(t, os.WriteFile(path, p.After, 0o644))
	}
	b, err := os.ReadFile(path)
	must(t, err)
	wantSame(t, "hooks.example.json (go test ./internal/agent/claude/install -update)", b, p.After)

	doc, err := os.ReadFile("../../../../docs/hooks.md")
	must(t, err)
	for _, r := range DefaultAsk {
		if !strings.Contains(string(doc), r) {
			t.Errorf("docs/hooks.md does not name the rule %s", r)
		}
	}
	for _, e := range events.All {
		if (e.Never != "" || e.Unwanted != "" || e.Since != "") && !strings.Contains(string(doc), "`"+e.Name+"`") {
			t.Errorf("docs/hooks.md does not say why or when there is no hook for %s", e.Name)
		}
	}
}
