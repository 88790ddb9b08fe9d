package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"assent/e2e/rig"
)

// papers are all pages of the repository, by their path from its root.
func papers(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/examples/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[strings.TrimPrefix(path, "../../")] = string(text)
		}
	}
	if len(pages) < 10 {
		t.Fatalf("only %d pages", len(pages))
	}
	return pages
}

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]*)\)|<img [^>]*src="([^"]*)"`)
	mdHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	mdFence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	mdCode    = regexp.MustCompile("`([^`]+)`")
	mdProgram = regexp.MustCompile(`^(?:ExecStart=)?(?:[^ ]*bin/)?(assent|assent-hook|assent-hook-strict|assent-contain)$`)
	slugDrop  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestDocsLinks follows every relative link, down to the heading it names.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	pages := papers(t)
	for page, text := range pages {
		for _, m := range mdLink.FindAllStringSubmatch(mdFence.ReplaceAllString(text, ""), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") {
				continue
			}
			file, heading, _ := strings.Cut(target, "#")
			path := page
			if file != "" {
				path = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, target)
				continue
			}
			if heading != "" && !slices.Contains(slugs(pages[path]), heading) {
				t.Errorf("%s: %s has no heading #%s, but %q", page, path, heading, slugs(pages[path]))
			}
		}
	}
}

// slugs are the names of a page's headings, as forges make them.
func slugs(text string) []string {
	var all []string
	for _, m := range mdHeading.FindAllStringSubmatch(mdFence.ReplaceAllString(text, ""), -1) {
		slug := strings.ToLower(slugDrop.ReplaceAllString(m[1], ""))
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

// TestDocsCommands looks every assent command of the pages up in the programs' own help: each
// command and each flag must be there.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	found := 0
	for page, text := range papers(t) {
		if page == "CHANGELOG.md" {
			continue // it may name what is gone
		}
		for _, line := range commandLines(text) {
			if len(line) == 3 && (line[2] == "v1" || line[2] == "v2") {
				continue // what devices sign begins like a command
			}
			found++
			if problem := checkCommand(line); problem != "" {
				t.Errorf("%s: %s: %s", page, strings.Join(line, " "), problem)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found: are they still looked for where they stand?", found)
	}
	for line, problem := range map[string]bool{
		"assent pending":                false,
		"assent token create --role x":  false,
		"assent rules explain -- x -y":  false,
		"assent rules explain -y -- x":  true,
		"assent ci run -- claude -p x":  false,
		"assent ci run --nothing -- x":  true,
		"assent no-such-command":        true,
		"assent token no-such-command":  true,
		"assent pending --no-such-flag": true,
		"assent-hook --no-such-flag":    true,
	} {
		if got := checkCommand(strings.Fields(line)); (got != "") != problem {
			t.Errorf("%q is said to have the problem %q", line, got)
		}
	}
}

// commandLines returns the assent commands in a page's code, word by word.
func commandLines(text string) [][]string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	var code []string
	for _, m := range mdFence.FindAllStringSubmatch(text, -1) {
		if m[1] == "" || m[1] == "sh" || m[1] == "ini" {
			code = append(code, strings.Split(m[2], "\n")...)
		}
	}
	text = mdFence.ReplaceAllString(text, "")
	var prose []string
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "    "); ok {
			code = append(code, after)
		} else {
			prose = append(prose, line)
		}
	}
	for _, m := range mdCode.FindAllStringSubmatch(strings.Join(prose, " "), -1) {
		code = append(code, m[1])
	}
	var lines [][]string
	for _, c := range code {
		c, _, _ = strings.Cut(c, " #")
		words := strings.Fields(c)
		for i, word := range words {
			m := mdProgram.FindStringSubmatch(word)
			if m == nil || i > 0 && strings.HasPrefix(words[i-1], "-") && words[i-1] != "--" {
				continue // also a user or a group of this name
			}
			if i+1 < len(words) && words[i+1] == "assent" {
				continue // a container of this name
			}
			line := []string{m[1]}
			for _, w := range words[i+1:] {
				if strings.ContainsAny(w, "|><;&") || w == "or" || w == "and" || strings.HasPrefix(w, "…") {
					break
				}
				line = append(line, strings.Trim(w, `"'()`))
			}
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	helps  sync.Map // of commands, by their words
	helpOf = func(words ...string) string {
		key := strings.Join(words, " ")
		if text, ok := helps.Load(key); ok {
			return text.(string)
		}
		out, err := exec.Command(rig.Program(words[0]), append(slices.Clone(words[1:]), "--help")...).Output()
		if err != nil {
			out = nil
		}
		helps.Store(key, string(out))
		return string(out)
	}
	flagWord = regexp.MustCompile(`^--?[a-z][a-z-]*`)
)

// checkCommand says what is wrong with a command line, "" if nothing is.
func checkCommand(line []string) string {
	path := line[:1]
	help := helpOf(path...)
	words := line[1:]
	if line[0] == "assent" && len(words) == 0 {
		return "" // the program as such
	}
	for len(words) > 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
		if !regexp.MustCompile(`(?m)^  ` + words[0] + ` +\S`).MatchString(help) {
			if strings.Contains(help, "\n  "+strings.Join(path, " ")+" [command]") {
				return "there is no command " + words[0]
			}
			break // an argument
		}
		path = append(slices.Clip(path), words[0])
		help, words = helpOf(path...), words[1:]
	}
	if help == "" {
		return "has no help"
	}
	for i, word := range words {
		if word == "--" && len(path) > 1 && slices.Contains([]string{"rules", "ci", "effects", "contain", "acp"}, path[1]) {
			return "" // what follows is a command of somebody else
		}
		if word == "--" {
			return checkCommand(append([]string{"assent", "serve"}, words[i+1:]...))
		}
		flag := flagWord.FindString(word)
		if flag == "" || flag == "-" {
			continue
		}
		if !regexp.MustCompile(`(^|[\s\[(,])` + flag + `($|[\s,=\]])`).MatchString(help) {
			return "there is no flag " + flag
		}
	}
	return ""
}

// TestDocsMakeTheDirectory: whoever types a line that writes into the directory of assent's settings may not have it
// yet.
func TestDocsMakeTheDirectory(t *testing.T) {
	t.Parallel()
	found := 0
	for page, text := range papers(t) {
		made := false
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "    ") {
				made = false
			}
			made = made || strings.Contains(line, "mkdir -p ~/.config/assent")
			if strings.HasPrefix(line, "    ") && strings.Contains(line, "> ~/.config/assent/") {
				if found++; !made {
					t.Errorf("%s: nothing makes the directory before %s", page, strings.TrimSpace(line))
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d such lines were found", found)
	}
}

// TestDocsYAML parses compose.yaml and the YAML in the pages. (The JSON is looked at in schemas.)
func TestDocsYAML(t *testing.T) {
	t.Parallel()
	blocks := map[string][]string{}
	for page, text := range papers(t) {
		for _, m := range mdFence.FindAllStringSubmatch(text, -1) {
			if m[1] == "yaml" {
				blocks[page] = append(blocks[page], m[2])
			}
		}
	}
	compose, err := os.ReadFile("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	blocks["compose.yaml"] = []string{string(compose)}
	for page, texts := range blocks {
		for _, text := range texts {
			var v any
			if err := yaml.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, text)
			}
		}
	}
	var file struct {
		Services map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(compose, &file); err != nil {
		t.Fatal(err)
	}
	command := file.Services["assent"].Command
	if len(command) < 3 {
		t.Fatalf("compose.yaml runs %q", command)
	}
	if problem := checkCommand(append([]string{"assent"}, command...)); problem != "" {
		t.Errorf("compose.yaml: %s", problem)
	}
}

// TestDocsQuotes holds the troubles that stand in quotes as headings against the programs: somebody
// who searches for a message must find it.
func TestDocsQuotes(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, dir := range []string{"../../cmd", "../../internal", "../../hookclient", "../../broker", "../../web/src"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".ts", ".tsx"}, filepath.Ext(path)) || strings.Contains(path, "test.") {
				return err
			}
			b, err := os.ReadFile(path)
			source.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ours, _ := strings.Cut(string(text), "\n## Answering\n") // before it, the agent speaks
	all, found := strings.ToLower(source.String()), 0
	for _, heading := range mdHeading.FindAllStringSubmatch(ours, -1) {
		for _, quote := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(heading[1], -1) {
			for part := range strings.SplitSeq(quote[1], "…") {
				if found++; !strings.Contains(all, strings.ToLower(strings.TrimSpace(part))) {
					t.Errorf("no program says %q", strings.TrimSpace(part))
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d quotes were found", found)
	}
}
