package effects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// written is a file, or a folder with what is put into it, that a command or a tool writes.
type written struct {
	at    string // absolute and clean; of a file that only the run names, the folder it may lie in
	shown string
	start int // of the unit that writes it, in bytes of the command
	of    int // the index of the command that a redirection belongs to, else -1
	link  bool
}

// maxWritten bounds the files that are kept of one command.
const maxWritten = 64

// noteWrite keeps a file that is written, for those who run code afterwards. Folders that are made and
// files that are formatted hold no new code; and what is built holds that of the project.
func (e *found) noteWrite(l *line, p *place, u *shell.Unit) {
	if l.derived || l.kind == "reads" || l.kind == "runs-project" || l.phrase == "Creates" || strings.HasPrefix(l.phrase, "Formats") || strings.HasPrefix(l.phrase, "Fixes code") || p.none || len(e.wrote) >= maxWritten {
		return
	}
	w := written{at: p.full, shown: p.shown, start: u.Start, of: -1}
	if p.unknown || w.at == "" {
		w.at, w.shown = u.Dir, namedLater
	}
	if u.Kind == shell.Write {
		w.of = u.Of
	}
	if w.link = l.phrase == makesLink; w.link && (p.whole || p.shown == ".") { // its name is that of what it leads to
		for _, arg := range slices.Backward(u.Argv) {
			if name := path.Base(arg.Text); w.at != "" && name != "." && name != "/" {
				w.at = path.Join(w.at, name)
				break
			}
		}
	}
	if w.at != "" {
		e.wrote = append(e.wrote, w)
	}
}

// makesLink is the phrase of ln.
const makesLink = "Creates the link at"

// throughLink says through which link of the session's own making a path leads, if it does.
func (e *found) throughLink(full string) (string, bool) {
	if full == "" {
		return "", false
	}
	for _, c := range e.before {
		if !c.Link {
			continue
		}
		if _, in := below(c.Path, full); in {
			return e.where.relative(c.Path), true
		}
	}
	return "", false
}

const namedLater = "a file named at run time"

// runsWritten raises what runs code of the project after some of it was written, by this command or by the
// session before.
func (e *found) runsWritten() {
	for i := range e.effects {
		f := &e.effects[i]
		if f.kind != "runs-project" || f.risk == hook.Danger || f.runs == nil {
			continue
		}
		own := slices.IndexFunc(e.wrote, func(w written) bool {
			return (w.of < 0 || w.of != f.unit) && (w.start <= f.runs.Start || e.repeats()) && e.concerns(f, w.at)
		})
		if own >= 0 {
			f.risk, f.news = hook.Attention, "It writes "+quiet(e.wrote[own].shown, 44)+" and then runs code that may use it."
			continue
		}
		if f.risk == hook.Attention && f.outside {
			continue
		}
		n, last := 0, ""
		for _, c := range e.before {
			at := c.Path
			if !e.concerns(f, at) {
				continue
			}
			if n++; last == "" || !inert(last) && slices.ContainsFunc(f.runs.Argv, func(w shell.Word) bool { return path.Base(w.Text) == path.Base(at) }) {
				last = at
			}
		}
		if n > 0 {
			f.risk, f.news = maxRisk(f.risk, hook.Attention), "This session changed "+quiet(e.where.relative(last), 44)
			if n > 1 {
				f.news += fmt.Sprintf(" and %d more", n-1)
			}
			f.news += " before, so what runs is new."
		}
	}
}

// concerns says whether a command that runs code of the project may run, or build, what is at a path: all
// that lies in the project or below where it runs, but for what holds no code; of that too what it names.
// What checks or formats runs only what its settings name.
func (e *found) concerns(f *effect, at string) bool {
	if f.checks {
		return e.where.path(at, "", true).class >= runsLater
	}
	for _, w := range f.runs.Argv {
		if w.Text == "" || len(w.Text) > maxObject {
			continue
		}
		_, value, _ := strings.Cut(w.Text, "=") // -javaagent=FILE
		for _, t := range []string{w.Text, strings.TrimPrefix(w.Text, "@"), value} {
			if p := e.where.path(t, f.runs.Dir, true); t != "" && p.full == at {
				return true
			}
		}
	}
	if inert(at) {
		return false
	}
	if _, in := below(e.where.project, at); in {
		return true
	}
	if _, in := below(f.runs.Dir, at); in || !f.runs.DirKnown {
		return true
	}
	_, in := below(at, f.runs.Dir) // a folder that something was unpacked into
	return in
}

// inert says whether a file holds what people and programs read and no tool of a project runs, by its name.
func inert(at string) bool {
	name := strings.ToLower(path.Base(at))
	switch path.Ext(name) {
	case ".log", ".out", ".md", ".adoc", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".csv", ".tsv", ".prof", ".pprof", ".cov":
	case ".txt":
	default:
		return false
	}
	return plants().classify("/"+name, "") == ordinary
}

// repeats says whether a part of the command may run after one that stands behind it, or again: in a loop,
// as a function, or in the background.
func (e *found) repeats() bool {
	for i := range len(e.command) {
		if e.command[i] == '&' && (i == 0 || strings.IndexByte("&><|", e.command[i-1]) < 0) && (i+1 == len(e.command) || strings.IndexByte("&>", e.command[i+1]) < 0) {
			return true
		}
	}
	for _, sign := range []string{"for ", "while ", "until ", "()", "function ", "trap "} {
		if strings.Contains(e.command, sign) {
			return true
		}
	}
	return false
}

// relative is a path as it is shown.
func (e *surroundings) relative(full string) string {
	if rest, in := below(e.project, full); in && rest != "" {
		return rest
	}
	return e.short(full)
}
