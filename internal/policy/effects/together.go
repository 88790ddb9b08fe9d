package effects

import (
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// together raises what is worse than each part by itself: what is written after a link was made may land
// behind the link, and a file that is written and then run holds code that nobody has seen in the project.
func (e *found) together() {
	link, others := -1, false
	for i := range e.effects {
		f := &e.effects[i]
		switch f.kind {
		case "writes", "overwrites", "moves", "plants", "downloads":
			if strings.Contains(f.phrase, "link") {
				link = i
				continue
			}
			others = true
		}
	}
	if e.some(func(f *effect) bool { return f.phrase == showsEnvironment }) {
		for i := range e.effects { // curl -d "$(env)"
			if f := &e.effects[i]; f.kind == "sends" {
				f.risk = hook.Danger
			}
		}
	}
	if link >= 0 && others {
		f := &e.effects[link]
		f.risk, f.text = hook.Danger, "Makes a link and writes, perhaps through it"
	}
	for i := range e.effects {
		if f := &e.effects[i]; f.kind == "runs-project" && f.object != "" && slices.ContainsFunc(e.wrote, func(w written) bool { return w.shown == f.object }) {
			f.kind, f.risk, f.phrase = "runs-downloaded", hook.Danger, "Runs what it has just written:"
		}
	}
}

// showsEnvironment is the phrase of printenv and its kin.
const showsEnvironment = "Shows the environment, which may hold secrets"

// severalCommands says that a script runs more than one command.
func severalCommands(units []shell.Unit) bool {
	first := -1
	for i := range units {
		if u := &units[i]; u.Kind == shell.Command && first < 0 {
			first = u.Start
		} else if u.Kind == shell.Command && u.Start != first || u.Kind == shell.Write && u.Of < 0 {
			return true
		}
	}
	return false
}
