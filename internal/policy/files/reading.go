package files

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy/memo"
	"assent/internal/policy/shell"
	"assent/internal/text/show"
)

// Bounds of what a page is sent of one command.
const (
	maxUnits     = 64
	maxUnitWords = 512 // of all units together
	maxDoubts    = 8
	maxUnitText  = 200 // characters
	maxVia       = 8
)

// Reading returns a function that says how the rules read a request's shell command, or nil where
// there is none; nobody may change it. home is the home directory of the agents' user; empty: ours. The function may be called
// from any goroutine.
func Reading(home string) func(*hook.Request) *hook.Reading {
	if home == "" {
		home, _ = os.UserHomeDir() // without one, ~ is nobody's
	}
	home = clean(home)
	known := memo.Memo[asked, *hook.Reading]{Most: maxMemo}
	return func(req *hook.Request) *hook.Reading {
		t := tools.Of(req.ToolName)
		if t.Kind != tool.Command || req.Uninspectable != "" {
			return nil
		}
		command, ok := describe.Member(req.ToolInput, t.Command)
		if !ok {
			return nil
		}
		project := req.ProjectDir
		if project == "" {
			project = req.Repo.Root
		}
		q := asked{sha256.Sum256([]byte(command)), clean(req.CWD), clean(project)}
		if r, ok := known.Get(q); ok {
			return r
		}
		// As the rules do: the shell is not known, so what zsh reads differently is doubted.
		r := reading(shell.Read(command, shell.Options{Dir: q.dir, Home: home, Project: q.project, Zsh: true}), q.dir)
		if len(command) <= maxMemoCommand {
			known.Put(q, r)
		}
		return r
	}
}

// Bounds of what is remembered of the last requests, which are shown again whenever they move.
const (
	maxMemo        = 64 // requests; twice as many at most
	maxMemoCommand = 4 << 10
)

// asked is all on which a reading depends.
type asked struct {
	command      [sha256.Size]byte // its digest: what was forgotten should not stand here
	dir, project string
}

// clean is a directory for shell.Read, which wants an absolute one or none.
func clean(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Clean(dir)
}

func reading(s shell.Script, dir string) *hook.Reading {
	r := &hook.Reading{}
	var offsets []*int // in the text as it came; turned into those in the text as shown at the end
	span := func(start, end *int) { offsets = append(offsets, start, end) }

	units := slices.Clone(s.Units)
	// What was only guessed at is said where nothing else says the same.
	known := map[string]bool{}
	for i := range units {
		if !guess(&units[i]) {
			known[asRead(&units[i])] = true
		}
	}
	units = slices.DeleteFunc(units, func(u shell.Unit) bool { return guess(&u) && known[asRead(&u)] })
	if len(units) > maxUnits {
		r.MoreUnits = len(units) - maxUnits
		units = units[:maxUnits]
	}
	r.Units = make([]hook.Unit, len(units))
	words := 0
	for i := range units {
		u, out := &units[i], &r.Units[i]
		*out = unit(u)
		span(&out.Start, &out.End)
		if words += len(out.Words); words > maxUnitWords {
			out.Words = nil
		}
		for k := range out.Words {
			span(&out.Words[k].Start, &out.Words[k].End)
		}
		if !u.DirKnown && dir != "" {
			out.DirUnknown = true
		} else if u.Dir != dir {
			out.Dir = show.Line(u.Dir)
		}
	}
	for i, d := range s.Doubts {
		if i == maxDoubts {
			break
		}
		r.Doubts = append(r.Doubts, hook.Doubt{Code: d.Code, Start: d.Start, End: d.End, Why: show.Line(d.Why)})
	}
	for i := range r.Doubts {
		span(&r.Doubts[i].Start, &r.Doubts[i].End)
	}

	at := make([]int, len(offsets))
	for i, p := range offsets {
		at[i] = *p
	}
	for i, n := range show.Offsets(s.Text, at) {
		*offsets[i] = n
	}
	return r
}

// guess reports whether a unit was made of a text that could not be parsed.
func guess(u *shell.Unit) bool { return slices.Contains(u.Via, "unread") }

// asRead is a unit as the rules read it.
func asRead(u *shell.Unit) string {
	switch u.Kind {
	case shell.Command:
		var b strings.Builder
		for i, w := range u.Argv {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
			if b.Len() > 4*maxUnitText {
				break
			}
		}
		return b.String()
	case shell.Write, shell.ReadFile:
		return u.Path.Text
	case shell.Assign:
		return u.Name + "=" + u.Value.Text
	}
	return ""
}

// unit is one unit with its offsets in the text as it came.
func unit(u *shell.Unit) hook.Unit {
	out := hook.Unit{
		Start: u.Start, End: u.End, Kind: u.Kind.String(), Program: cut(show.Line(u.Program)),
		Text: cut(show.Line(asRead(u))), Guessed: u.DenyOnly, Inner: u.Inner != "",
	}
	for i, v := range u.Via {
		if i == maxVia {
			break
		}
		out.Via = append(out.Via, cut(show.Line(v)))
	}
	if out.Inner || guess(u) {
		return out // its words have no offsets of their own
	}
	mark := func(w shell.Word, kind string) {
		if w.End > w.Start {
			out.Words = append(out.Words, hook.Word{Start: w.Start, End: w.End, Kind: kind})
		}
	}
	for i, w := range u.Argv {
		switch {
		case i == 0:
			mark(w, "program")
		case !w.Static || w.Expanded:
			mark(w, "expansion")
		case strings.HasPrefix(w.Text, "-"):
			mark(w, "flag")
		}
	}
	if u.Kind == shell.Write || u.Kind == shell.ReadFile {
		mark(u.Path, "path")
	}
	return out
}

// cut bounds a text, and says so.
func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxUnitText {
			return s[:i] + "…"
		}
	}
	return s
}
