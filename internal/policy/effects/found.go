package effects

import (
	"slices"
	"strings"

	"assent/internal/agent/tool"
	"assent/internal/hook"
	"assent/internal/policy/shell"
	"assent/internal/text/show"
)

// Bounds of what is told of one request.
const (
	maxEffects = 32
	maxMarks   = 64
	maxObject  = 120 // characters
	keepMost   = 512 // effects, while they are gathered
)

// effect is one thing that was found, before it is put into words.
type effect struct {
	kind    string
	phrase  string // the beginning of its words; empty: that of its kind
	tail    string // the end of its words
	object  string
	text    string // all of its words, where phrase and object do not make them
	outside bool
	unknown bool        // the object is known only when it runs
	secret  bool        // it is the name of a file with secrets
	tree    bool        // with all below it
	plain   bool        // the object is in assent's own words, or a program with its subcommand
	by      bool        // the object is the program that does it
	doubt   bool        // the reading of the command says so
	unread  bool        // of a part of the command nothing else is known
	aside   bool        // said after what the command is for, where both are as bad
	news    string      // what was done before that makes it attention: files that may run now were written, or a link was made
	runs    *shell.Unit // the command that runs code of the project, while it is read
	unit    int         // its index
	checks  bool        // it checks or formats, and runs only what its settings name
	mcp     bool        // it is a tool of an MCP server, of which only the name is known
	token   bool        // an address holds what looks like a secret
	find    bool        // find deletes
	row     string      // the object where the sentence is not shown; empty: that of the sentence
	class   class
	risk    hook.Risk
}

// found gathers the effects of one request.
type found struct {
	*reader
	req   *hook.Request
	where surroundings
	tool  tool.Tool

	memory  scanMemory
	effects []effect
	dropped int
	marks   []hook.RiskMark // in bytes of the command
	command string
	script  *shell.Script

	wrote  []written
	unitAt int      // the index of the unit at hand
	before []Change // what the session changed

	lost       bool      // a cd leads where nobody knows
	downloaded bool      // something was fetched earlier in the script
	fetched    bool      // and handed on within it
	sources    []string  // the hosts that something was fetched from
	sqlSeen    hook.Risk // of the statements in the whole text; empty: nobody looked
	scannedAll bool      // the whole text was looked through for code
}

func (e *found) add(f effect) {
	if f.risk == "" {
		f.risk = hook.Attention
	}
	for i := range e.effects {
		g := &e.effects[i]
		if g.kind == f.kind && g.object == f.object && g.phrase == f.phrase && g.text == f.text {
			if f.risk.Level() > g.risk.Level() {
				*g = f
			}
			g.runs, g.unit = f.runs, f.unit // the last one sees the most
			return
		}
	}
	if len(e.effects) >= keepMost {
		e.dropped++
		// None that is left out is worse than all that are kept.
		worst := slices.IndexFunc(e.effects, func(g effect) bool { return g.risk.Level() < f.risk.Level() })
		if worst < 0 {
			return
		}
		e.effects[worst] = f
		return
	}
	e.effects = append(e.effects, f)
}

func (e *found) mark(start, end int, risk hook.Risk) {
	if risk.Level() < hook.Attention.Level() || end <= start || len(e.marks) >= 4*maxMarks {
		return
	}
	e.marks = append(e.marks, hook.RiskMark{Start: start, End: end, Risk: risk})
}

// result puts what was found into words, the worst first.
func (e *found) result() *hook.Effects {
	if len(e.effects) == 0 {
		e.add(effect{kind: "unknown", text: "Does something that cannot be read", risk: hook.Attention})
	}
	slices.SortStableFunc(e.effects, func(a, b effect) int {
		if d := b.risk.Level() - a.risk.Level(); d != 0 {
			return d
		}
		if a.unread != b.unread { // what nobody has read stands before what was found
			if a.unread {
				return -1
			}
			return 1
		}
		if a.aside != b.aside {
			if a.aside {
				return 1
			}
			return -1
		}
		return ranks[a.kind] - ranks[b.kind]
	})
	e.oneDatabase()
	var spare [keepMost]bool // each is compared with all
	for i := range e.effects {
		spare[i] = e.saidWorse(&e.effects[i])
	}
	kept := e.effects[:0]
	for i := range e.effects {
		if !spare[i] {
			kept = append(kept, e.effects[i])
		}
	}
	e.effects = kept
	worst := &e.effects[0]
	out := &hook.Effects{Risk: worst.risk, Sentence: e.headline(e.effects), Effects: make([]hook.Effect, 0, min(len(e.effects), maxEffects))}
	for i := range e.effects {
		if i == maxEffects {
			out.MoreEffects = len(e.effects) - maxEffects
			break
		}
		f := &e.effects[i]
		out.Effects = append(out.Effects, hook.Effect{
			Effect: f.kind, Object: shown(f.listed(), maxObject), Outside: f.outside, Risk: f.risk, Text: f.words(maxObject),
		})
	}
	out.MoreEffects += e.dropped
	switch out.Risk {
	case hook.Attention:
		out.RiskReason, out.Action = worst.reason(), worst.action()
		if worst.doubt && strings.HasPrefix(out.Sentence, worst.text) {
			out.RiskReason = "It may do more than can be seen."
		}
	case hook.Danger:
		out.RiskReason = worst.reason()
	}
	out.Marks = e.shownMarks()
	return out
}

// saidWorse says whether another effect says the same and more: that data is sent to a host says that
// it is spoken with.
func (e *found) saidWorse(f *effect) bool {
	if len(e.effects) > 100 {
		return false
	}
	if f.kind == "runs-downloaded" && f.object == "" && f.phrase == "" {
		return e.some(func(g *effect) bool { return g.kind == f.kind && g.object != "" })
	}
	if f.kind == "unknown" && f.object == "find -delete" {
		return e.some(func(g *effect) bool { return g.find })
	}
	if f.kind == "deletes" && f.plain && f.object == rmProtects {
		return e.some(func(g *effect) bool {
			return g.kind == f.kind && g.risk == f.risk && g.object != f.object
		})
	}
	if f.object == "" || f.text != "" {
		return false
	}
	if f.kind == "deletes" && f.tree && !f.find && e.some(func(g *effect) bool {
		return g.kind == f.kind && g.tree && !g.find && !g.unknown && g.risk.Level() >= f.risk.Level() && g.holds(f)
	}) {
		return true
	}
	if f.kind == "reads-secrets" && strings.Contains(f.object, "$(") { // the command within is told by itself
		return e.some(func(g *effect) bool {
			return g.kind == f.kind && g.risk == f.risk && !strings.Contains(g.object, "$(")
		})
	}
	return e.some(func(g *effect) bool {
		switch {
		case g.object != f.object || g.kind == f.kind && g.phrase == f.phrase:
			return false
		case g.kind == f.kind:
			return g.risk.Level() > f.risk.Level()
		case f.kind == "publishes":
			return g.risk.Level() > f.risk.Level() && (g.kind == "overwrites" || g.kind == "deletes" || g.kind == "sends")
		case f.kind == "writes":
			return g.risk.Level() > f.risk.Level()
		case f.kind == "plants":
			return g.kind == "runs-downloaded" && g.risk.Level() > f.risk.Level()
		case f.kind == "downloads":
			return g.kind == "sends" && g.risk.Level() >= f.risk.Level()
		case f.kind == "reads":
			return g.risk.Level() > f.risk.Level()
		}
		return false
	})
}

// some says whether it holds for one of the effects.
func (e *found) some(is func(*effect) bool) bool {
	for i := range e.effects {
		if is(&e.effects[i]) {
			return true
		}
	}
	return false
}

// rmProtects is the object of rm --no-preserve-root.
const rmProtects = "even what rm protects"

// holds says whether the folder of an effect has that of another in it.
func (f *effect) holds(g *effect) bool {
	if f.object == g.object || g.unknown || strings.Contains(g.object, "..") || strings.ContainsAny(f.object, "*?[{$`") {
		return false
	}
	return strings.HasPrefix(g.object, strings.TrimSuffix(f.object, "/")+"/")
}

// listed is the object of an effect in a list that begins with its kind. Empty is one that reads well
// only in the words of the effect; the list shows those.
func (f *effect) listed() string {
	switch {
	case f.row != "":
		return f.row
	case f.mcp, f.kind == "sends", f.phrase == onlyReads, f.kind == "runs-downloaded" && (f.phrase == ranFetched || strings.HasSuffix(f.phrase, " with")):
		return ""
	case f.kind == "publishes" && f.phrase != "" && !strings.HasPrefix(f.phrase, "Publishes") && !strings.HasPrefix(f.phrase, "Pushes"):
		return ""
	case f.object == ".":
		return f.name(maxObject)
	}
	return f.object
}

// ranks order effects of one risk: what destroys or leaks before what is only not known.
var ranks = func() map[string]int { // read-only
	order := map[string]int{}
	for i, kind := range []string{"runs-downloaded", "deletes", "overwrites", "reads-secrets", "sends", "escalates", "assent", "agent-settings", "plants", "publishes", "database", "kills", "permissions", "installs", "moves", "downloads", "writes", "other", "unknown", "runs-project", "asks", "reads"} {
		order[kind] = i
	}
	return order
}()

// shownMarks are the marks in UTF-16 units of the command as it is shown, in order and apart.
func (e *found) shownMarks() []hook.RiskMark {
	if len(e.marks) == 0 {
		return nil
	}
	slices.SortFunc(e.marks, func(a, b hook.RiskMark) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	apart := e.marks[:1]
	for _, m := range e.marks[1:] {
		last := &apart[len(apart)-1]
		switch {
		case m.Start >= last.End:
			if len(apart) < maxMarks {
				apart = append(apart, m)
			}
		case m.Risk == last.Risk || m.End <= last.End && m.Risk == hook.Attention:
			last.End = max(last.End, m.End)
		default: // a worse one within
			last.End, last.Risk = max(last.End, m.End), hook.Danger
		}
	}
	at := make([]int, 0, 2*len(apart))
	for _, m := range apart {
		at = append(at, m.Start, m.End)
	}
	at = show.Offsets(e.command, at)
	for i := range apart {
		apart[i].Start, apart[i].End = at[2*i], at[2*i+1]
	}
	return apart
}

// quiet is an object in a sentence: plain names as they are, others between quotation marks, so that
// no name reads like assent's own words.
func quiet(s string, max int) string {
	s = shown(s, max)
	if s == "" || plainName(s) {
		return s
	}
	return "“" + s + "”"
}

// nameChars are the characters of names that need no quotation marks.
const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@:+~-*%=#,$"

var isNameChar = func() (is [256]bool) { // read-only
	for i := range len(nameChars) {
		is[nameChars[i]] = true
	}
	return is
}()

// plainName says whether a text has none but nameChars.
func plainName(s string) bool {
	for i := range len(s) {
		if !isNameChar[s[i]] {
			return false
		}
	}
	return true
}

// simple says whether words are a few names, which need no quotation marks: namespace prod.
func simple(words []object) bool {
	for _, w := range words {
		if !w.Static || w.Text == "" || !plainName(w.Text) {
			return false
		}
	}
	return len(words) <= 4
}
