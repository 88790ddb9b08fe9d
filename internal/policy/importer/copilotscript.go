package importer

import (
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// copilotScript reads the flags with which a script starts Copilot: --allow-tool, --deny-tool, --allow-url,
// --deny-url and what else there is about permissions. What they allow holds for what the script starts, so that
// it is left out unless everything is meant to hold everywhere.
func (m *Import) copilotScript(path string, text []byte) error {
	script := shell.Read(string(text), shell.Options{})
	found := false
	for i := range script.Units {
		u := &script.Units[i]
		if u.Kind != shell.Command {
			continue
		}
		switch u.Base {
		case "copilot":
			found = true
			m.copilotFlags(u.Argv[1:])
		case "alias":
			for _, w := range u.Argv[1:] {
				if line, ok := strings.CutPrefix(w.Text, "copilot="); ok && w.Static && line != string(text) {
					found = m.copilotScript(path, []byte(line)) == nil || found
				}
			}
		}
	}
	if !found {
		return errNoCopilot(path)
	}
	for _, d := range script.Doubts {
		m.left("script", strings.Join(strings.Fields(cutText(script.Text, d.Start, d.End)), " "), d.Why)
	}
	return nil
}

func cutText(text string, start, end int) string {
	if start < 0 || end > len(text) || start > end {
		return text
	}
	return text[start:end]
}

// copilotFlags reads the words that follow the program's name.
func (m *Import) copilotFlags(words []shell.Word) {
	take := map[string]func(string){
		"--allow-tool": func(v string) { m.here(v, m.copilotPattern) }, "--allow-url": func(v string) { m.here(v, m.copilotURL) },
		"--deny-tool": func(v string) { m.copilotPattern("deny", v) },
		"--deny-url":  func(v string) { m.copilotURL("deny", v) },
		"--excluded-tools": func(v string) {
			m.left("--excluded-tools", v, "it takes a tool from Copilot's model by its own name; no rule stands for it")
		},
	}
	named := []string{"--allow-all", "--yolo", "--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--add-dir", "--available-tools", "--mode"}
	for i := 0; i < len(words); i++ {
		flag, value, has := strings.Cut(words[i].Text, "=")
		read := take[flag]
		switch {
		case !words[i].Static && strings.HasPrefix(words[i].Prefix, "-") && read == nil && (words[i].MaybeFlag || words[i].Glob):
			m.unread("deny", words[i].Text, "it is known only when the script runs")
			continue
		case slices.Contains(named, flag):
			m.left(flag, words[i].Text, "it stays Copilot's; no rule stands for it")
			continue
		case read == nil && !words[i].Static && words[i].MaybeFlag:
			m.unread("deny", words[i].Text, "it may become a flag when the script runs")
			continue
		case read == nil:
			continue
		}
		values := []string{}
		static := words[i].Static
		if has {
			values = append(values, value)
		} else {
			for i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-") {
				i++
				static = static && words[i].Static
				values = append(values, words[i].Text)
			}
		}
		for _, v := range values {
			if !static {
				action, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "-")
				m.unread(action, flag+" "+v, "it is known only when the script runs")
				continue
			}
			for _, one := range commas(v) {
				read(one)
			}
		}
	}
}

// here reads what a flag allows, which holds for what the script starts only.
func (m *Import) here(text string, read func(action, text string)) {
	if !m.Everywhere {
		m.left(string(hook.ActionAllow), text, "it holds for what that script starts, and here it would hold everywhere; --everywhere says that you mean that")
		return
	}
	read(string(hook.ActionAllow), text)
}

// commas splits a value at its commas outside of parentheses.
func commas(s string) []string {
	var all []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			all, from = append(all, strings.TrimSpace(s[from:i])), i+1
		}
	}
	return slices.DeleteFunc(append(all, strings.TrimSpace(s[from:])), func(s string) bool { return s == "" })
}
