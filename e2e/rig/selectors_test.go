package rig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// classesAllowed are the classes that a file may ask for, with the reason.
var classesAllowed = map[string]map[string]string{
	"page/exact_test.go": {
		"word-whole": "the test overrides this very style",
		"long-word":  "the test overrides this very style",
	},
	"rig/page_look.go": { // Fits and NothingCut measure boxes; one that a redesign drops is not measured
		"where":    "a row of the layout",
		"act-row":  "a row of the layout",
		"label":    "a column of the layout",
		"value-of": "a column of the layout",
	},
}

var (
	classInStyle     = regexp.MustCompile(`\.([a-zA-Z][\w-]*)`)
	classInComponent = regexp.MustCompile(`class="([^"]*)"`)
	// A class stands at the beginning of a selector, after what may stand before one, or after an
	// element's name. What follows tells it from a call, as in ".then(", or a name, as in "e.value".
	classInSelector = regexp.MustCompile("(?:^|[\\s\"'`(>~,+\\]]|\\b(?:a|article|aside|b|button|code|details|dialog|div|fieldset|form|header|input|label|li|main|nav|ol|p|pre|search|section|small|span|summary|textarea|time|ul))((?:\\.[a-zA-Z][\\w-]*)+)(?:[\\s\"'`:,\\[>~+)]|$)")
)

// TestNoClassSelectors: what looks at the page asks for no class of the page.
func TestNoClassSelectors(t *testing.T) {
	styled := classesOfThePage(t)
	used := map[string]bool{}
	files := 0
	dir := filepath.Join("..")
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "selectors_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !usesBrowser(string(text)) {
			return err
		}
		files++
		name := filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, class := range classesIn(s, styled) {
				used[name+" "+class] = true
				if classesAllowed[name][class] == "" {
					t.Errorf("%s asks for the class %q; ask for a role, or for what is listed in page_steps.go", set.Position(lit.Pos()), class)
				}
			}
			return true
		})
		return nil
	})
	Must(t, err)
	if files < 20 {
		t.Errorf("%d files look at the page, want more: does the test still find them?", files)
	}
	for name, classes := range classesAllowed {
		for class := range classes {
			if !used[name+" "+class] {
				t.Errorf("%s is allowed the class %q, which it does not ask for", name, class)
			}
		}
	}
}

func TestClassesIn(t *testing.T) {
	styled := map[string]bool{"card": true, "over": true, "allow": true, "value": true, "then": true, "tab": true}
	for s, want := range map[string]string{
		".card":                              "card",
		".card:not(.over) button.allow":      "card over allow",
		`querySelector(".card.over")`:        "card over",
		"main > .tab, p.then":                "tab then",
		"e.value":                            "",
		"x\n\t\t.then(done)":                 "",
		"[data-ui=card] [data-action=allow]": "",
		"https://example.com/card.tab":       "",
		".unknown":                           "",
	} {
		if got := strings.Join(classesIn(s, styled), " "); got != want {
			t.Errorf("%q has the classes %q, want %q", s, got, want)
		}
	}
}

func usesBrowser(text string) bool {
	for _, call := range []string{"chromedp", ".See(", ".Tap(", ".Click(", "Browser"} {
		if strings.Contains(text, call) {
			return true
		}
	}
	return false
}

func classesIn(s string, styled map[string]bool) []string {
	var out []string
	for len(s) > 0 {
		m := classInSelector.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		for _, class := range strings.Split(s[m[2]+1:m[3]], ".") {
			if styled[class] {
				out = append(out, class)
			}
		}
		s = s[m[3]:] // what ends one may begin the next
	}
	return out
}

// classesOfThePage are those that its styles are about and those that its components set.
func classesOfThePage(t *testing.T) map[string]bool {
	t.Helper()
	classes := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "web", "src"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".css":
			text, err := os.ReadFile(path)
			for _, m := range classInStyle.FindAllStringSubmatch(string(text), -1) {
				classes[m[1]] = true
			}
			return err
		case ".tsx":
			text, err := os.ReadFile(path)
			for _, m := range classInComponent.FindAllStringSubmatch(string(text), -1) {
				for _, class := range strings.Fields(m[1]) {
					classes[class] = true
				}
			}
			return err
		}
		return nil
	})
	Must(t, err)
	if len(classes) < 50 {
		t.Fatalf("the page has %d classes, want more", len(classes))
	}
	return classes
}
