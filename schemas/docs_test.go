package schemas

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")
	link      = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
)

// TestDocs holds the papers of the repository to what they show: JSON that parses, hook events
// that exist, links that lead somewhere.
func TestDocs(t *testing.T) {
	papers, err := filepath.Glob("../docs/*.md")
	if err != nil || len(papers) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	papers = append(papers, "../README.md", "../SECURITY.md", "../CONTRIBUTING.md", "../CHANGELOG.md")
	for _, p := range papers {
		t.Run(filepath.Base(p), func(t *testing.T) {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(p), m[1])); err != nil {
					t.Errorf("the link to %s leads nowhere", m[1])
				}
			}
			for _, m := range jsonBlock.FindAllSubmatch(text, -1) {
				var block struct {
					Hooks map[string]json.RawMessage
				}
				if err := json.Unmarshal(m[1], &block); err != nil {
					t.Errorf("%v in\n%s", err, m[1])
				}
				for event := range block.Hooks {
					if !slices.Contains(events, event) || event == "WorktreeCreate" {
						t.Errorf("the settings name the event %s", event)
					}
				}
			}
			if strings.Contains(string(text), "\t") && !strings.Contains(string(text), "```go") {
				t.Error("tabs")
			}
		})
	}
}
