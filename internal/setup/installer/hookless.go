package installer

import (
	"fmt"
	"strings"
)

// Hookless is an agent for which assent installs no hooks, since none of them could be answered from elsewhere.
type Hookless struct {
	Found          // Program is empty where nobody looked for it
	Why     string // why no hook of it is installed
	Command string // its way into the queue, in an editor; empty: there is none
}

// hookless are those that docs/agents.md describes.
var hookless = []Hookless{ // read-only
	{Found{Name: "gemini", Title: "Gemini CLI"}, "its hooks can deny a call, not allow one", "assent acp -- gemini --acp"},
	{Found{Name: "kimi", Title: "Kimi Code"}, "its hooks can deny a call, not allow one", "assent acp -- kimi acp"},
	{Found{Name: "goose", Title: "Goose"}, "what its hooks answer stops nothing", "assent acp -- goose acp"},
	{Found{Name: "cline", Title: "Cline"}, "its hooks can only end the whole run, and its editor protocol wants a login and was not tried", ""},
}

// HooklessOnMachine finds those that are on the search path of env.
func HooklessOnMachine(env func(string) string) []Hookless {
	var found []Hookless
	for _, a := range hookless {
		if a.Program = Program(a.Name, env); a.Program != "" {
			found = append(found, a)
		}
	}
	return found
}

// Known says what is wrong with the name of an agent for which nothing can be installed, and nil of one of Names.
func Known(name string) error {
	for _, n := range Names {
		if n == name {
			return nil
		}
	}
	for _, a := range hookless {
		if a.Name != name {
			continue
		}
		if a.Command == "" {
			return fmt.Errorf("assent installs no hooks for %s: %s", a.Title, a.Why)
		}
		return fmt.Errorf("assent installs no hooks for %s: %s. In an editor its requests reach the queue: have the editor start %q (assent acp --help)", a.Title, a.Why, a.Command)
	}
	return fmt.Errorf("%s: want one of %s", name, strings.Join(Names, ", "))
}
