package effects

import (
	"slices"
	"strings"

	"assent/internal/hook"
)

// listed says whether a word is a flag of which a line of the table tells what it does.
func (c *command) listed(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	for _, u := range c.scanned.flags {
		if u.name != name && !strings.HasPrefix(word, u.name) {
			continue
		}
		for _, r := range c.rows {
			if slices.ContainsFunc(r.lines, func(l line) bool {
				return slices.ContainsFunc(l.on, func(f flag) bool { return f.name == u.name && (f.like == "" || like(f.like, u.value)) })
			}) {
				return true
			}
		}
	}
	return false
}

// guarded tells of assent's files, the agent's settings and what git runs.
func (c *command) guarded() {
	if c.f.Guarded == "" || c.u.DenyOnly {
		return
	}
	reads := len(c.rows) > 0
	for _, r := range c.rows {
		reads = reads && !slices.ContainsFunc(r.lines, func(l line) bool { return l.kind != "reads" && len(l.on) == 0 && !c.has(l.but) })
	}
	risk := hook.Danger
	if reads || c.f.Pack != "" || c.u.Base == "git" || c.u.Base == "cp" && !strings.Contains(c.f.Guarded, "holds the project") {
		risk = hook.Attention
	}
	kind, what := "agent-settings", "May change the settings of git or the agent"
	if strings.Contains(c.f.Guarded, "may hold a .git") {
		risk, what = hook.Attention, "May change settings of git or the agent, too"
	}
	if strings.Contains(c.f.Guarded, "assent itself") || strings.Contains(c.f.Guarded, "assent's state") {
		kind, what = "assent", "May change assent's own files"
	}
	c.put(effect{kind: kind, text: what, aside: true, risk: risk})
}
