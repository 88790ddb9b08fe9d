package web

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestPage holds the page to what the server's content security policy lets run: no script or
// style in the document, nothing from elsewhere, and every file that it names is there.
func TestPage(t *testing.T) {
	page := read(t, "index.html")
	for _, bad := range []string{"<style", " style=", " onclick=", " onload=", "http:", "https:", "//"} {
		if strings.Contains(page, bad) {
			t.Errorf("index.html has %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`<script[^>]*>([^<]*)</script>`).FindAllStringSubmatch(page, -1) {
		if strings.TrimSpace(m[1]) != "" {
			t.Errorf("index.html has a script in it: %q", m[1])
		}
	}
	named := regexp.MustCompile(`(?:src|href)="/([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(named) < 3 {
		t.Errorf("index.html names %d files, want script, style and icon", len(named))
	}
	for _, m := range named {
		read(t, m[1])
	}
	for _, bad := range []string{"localStorage", "sessionStorage", "document.cookie", "eval(", "insertAdjacentHTML", "document.write"} {
		if strings.Contains(read(t, "app.js"), bad) {
			t.Errorf("app.js uses %s", bad)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(Assets(), name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) == 0 {
		t.Errorf("%s is empty", name)
	}
	return string(b)
}
