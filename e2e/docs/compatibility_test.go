package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"assent/e2e/rig/claude"
)

// TestDocsCompatibility holds the numbers of the page on compatibility against where they come from.
func TestDocsCompatibility(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../../docs/compatibility.md")
	for _, version := range []string{claude.Oldest + " or newer", "drive " + claude.Oldest + " and " + claude.Version} {
		if !strings.Contains(page, version) {
			t.Errorf("the page does not say %q of Claude Code", version)
		}
	}
	if m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("../../go.mod")); m == nil || !strings.Contains(page, "Go "+m[1]+" or newer") {
		t.Errorf("the page does not name the Go of go.mod: %q", m)
	}
	build := read("../../web/scripts/build.mjs")
	found := 0
	for _, m := range regexp.MustCompile(`(Chrome|Firefox|Safari) ([0-9.]*[0-9])`).FindAllStringSubmatch(page, -1) {
		found++
		if !strings.Contains(build, `"`+strings.ToLower(m[1])+m[2]+`"`) {
			t.Errorf("the page is not built for %s", m[0])
		}
	}
	if found != 3 {
		t.Errorf("%d browsers were found", found)
	}
}
