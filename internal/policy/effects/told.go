package effects

import (
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
)

// command is one command with the rows of the table that are about it.
type command struct {
	*found
	u    *shell.Unit
	f    *policy.Facts
	rows []*row
	skip int
	scanned

	worst hook.Risk // of what was told of it
	told  bool
	again bool // it is another reading of a command
}

// put adds an effect of the command.
func (c *command) put(f effect) {
	if f.risk == "" {
		f.risk = hook.Attention
	}
	if !c.told || f.risk.Level() > c.worst.Level() {
		c.worst = f.risk
	}
	c.told = true
	if f.kind == "runs-project" {
		f.runs, f.unit = c.u, c.unitAt
		f.checks = slices.ContainsFunc(c.rows, func(r *row) bool { return r.checks })
	}
	c.add(f)
}

// marks marks the program, the words of its row, and others.
func (c *command) marks(risk hook.Risk, more ...int) {
	if slices.Contains(c.u.Via, "unread") {
		return // its words have no offsets
	}
	c.mark(c.u.Argv[0].Start, c.u.Argv[0].End, risk)
	words := c.u.Argv[1:]
	left := c.skip
	for i := 0; i < len(words) && left > 0; i++ {
		if !strings.HasPrefix(words[i].Prefix, "-") {
			c.mark(words[i].Start, words[i].End, risk)
			left--
		}
	}
	for _, i := range more {
		if i < len(words) {
			c.mark(words[i].Start, words[i].End, risk)
		}
	}
}

// known is a command that a pack of rules knows to do no more than the pack says.
func (c *command) known() {
	p := packsBy(c.f.Pack)
	for _, r := range c.rows {
		for _, l := range r.lines {
			if l.kind == "reads" && len(l.on) == 0 && p.kind == "reads" && l.risk == "" && l.obj != "" && !c.has(l.but) {
				c.line(r, l)
			}
		}
		for _, l := range r.lines { // what it does besides running the project's code
			if p.kind != "runs-project" || l.kind == "reads" || l.kind == "unknown" || len(l.on) == 0 && (l.kind == "runs-project" || len(r.subs) == 0) {
				continue
			}
			if (len(l.on) == 0 || c.has(l.on)) && !c.has(l.but) {
				c.line(r, l)
			}
		}
		if r.tasks && p.kind == "runs-project" {
			c.tasks()
		}
	}
	c.guarded()
	c.elsewhere()
	if c.worst != "" && c.worst != hook.Calm && p.kind == "reads" {
		return
	}
	if !c.inside() {
		c.put(effect{kind: "reads", phrase: "Reads in", object: shownDir(c.u), plain: !c.u.DirKnown, outside: true, unknown: !c.u.DirKnown, risk: hook.Attention})
		return
	}
	switch p.kind {
	case "downloads":
		c.marks(p.risk)
		c.put(effect{kind: p.kind, phrase: "Reads from", object: p.host, plain: true, risk: p.risk})
	case "runs-project":
		c.ownCode(effect{kind: p.kind, object: c.name(), plain: true})
	default:
		risk := hook.Calm
		if slices.ContainsFunc(c.u.Argv, func(w shell.Word) bool { return !w.Static }) { // what it reads or shows is known only then
			risk = hook.Normal
		}
		if !c.told || risk != hook.Calm {
			c.put(effect{kind: "reads", phrase: onlyReads, object: c.name(), plain: true, risk: risk})
		}
	}
}

// inside says whether the command runs within the project for certain.
func (c *command) inside() bool {
	if c.where.project == "" || c.lost && !c.u.DirKnown {
		return false
	}
	_, ok := below(c.where.project, c.u.Dir)
	return ok
}

func shownDir(u *shell.Unit) string {
	if u.Dir == "" || !u.DirKnown {
		return "a directory that is known only when it runs"
	}
	return u.Dir
}

// name is a command as a person knows it: the program and the word that says what it does.
func (c *command) name() string {
	name := c.u.Base
	if a := c.u.Argv; len(a) > 2 && a[1].Text == "-m" && a[2].Static && len(a[2].Text) < 24 && plainName(a[2].Text) {
		return name + " -m " + a[2].Text
	}
	if n := len(c.u.Argv); n > 1 && (c.skip > 0 || c.f.Pack != "") {
		w := c.u.Argv[1]
		if w.Static && len(w.Text) < 24 && w.Text != "" && w.Text[0] != '-' && verb(w.Text) {
			name += " " + w.Text
			if n > 2 && (w.Text == "run" || w.Text == "run-script") && c.u.Argv[2].Static && len(c.u.Argv[2].Text) < 24 && strings.Trim(c.u.Argv[2].Text, "abcdefghijklmnopqrstuvwxyz0123456789-:_") == "" {
				name += " " + c.u.Argv[2].Text
			}
		}
	}
	return name
}

// verb says whether a word may be that of a subcommand: small letters, dashes and colons.
func verb(s string) bool {
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '-' && s[i] != ':' {
			return false
		}
	}
	return true
}

// ownCode is an effect by which code of the project runs.
func (c *command) ownCode(f effect) {
	f.kind, f.risk = "runs-project", maxRisk(f.risk, hook.Normal)
	if f.phrase == "" && tests(f.object) {
		f.phrase = "Runs the project's tests:"
	}
	c.put(f)
}

// tests says whether a command runs tests, by its name.
func tests(command string) bool {
	program, rest, _ := strings.Cut(command, " ")
	switch program {
	case "jest", "mocha", "rspec", "phpunit", "playwright", "cypress", "ava", "karma", "pytest", "py.test", "vitest", "ctest", "bats":
		return true
	}
	for word := range strings.FieldsSeq(rest) {
		if word == "test" || word == "pytest" || word == "unittest" || strings.HasPrefix(word, "test:") || word == "t" {
			return true
		}
	}
	return false
}

// checksOrFormats is the phrase of programs that read or format code and run none but that of plugins.
const checksOrFormats = "Checks or formats"

// onlyReads is the phrase of commands that read what is not said.
const onlyReads = "Only reads:"

func maxRisk(a, b hook.Risk) hook.Risk {
	if a == "" || b != "" && a.Level() < b.Level() {
		return b
	}
	return a
}

// ownProgram is a program that is named by its path.
func (c *command) ownProgram() {
	w := c.u.Argv[0]
	p := c.where.word(w, c.u.Dir, c.u.DirKnown || !c.lost)
	switch {
	case c.downloaded:
		c.marks(hook.Danger)
		c.put(effect{kind: "runs-downloaded", phrase: ranFetched, object: p.shown, row: c.source(), risk: hook.Danger})
	case p.outside || p.unknown:
		c.marks(hook.Attention)
		c.put(effect{kind: "unknown", phrase: "Runs the program", object: p.shown, outside: p.outside, risk: hook.Attention})
	case len(c.rows) == 0 && installed(p.shown): // others wrote it, and what it does to its arguments nobody said
		c.marks(hook.Attention)
		c.put(effect{kind: "unknown", object: p.shown, risk: hook.Attention})
	default:
		c.ownCode(effect{object: p.shown})
		c.task(append([]int{-1}, indices(c.u.Argv[1:])...))
	}
}

// installed says whether a path within the project is that of what a package manager put there.
func installed(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "node_modules", "vendor", "venv", ".venv", "site-packages", ".bundle", ".tox", ".nox":
			return true
		}
	}
	return false
}

func indices(words []shell.Word) []int {
	all := make([]int, len(words))
	for i := range all {
		all[i] = i
	}
	return all
}

// tell says what the rows say of the command.
func (c *command) tell() {
	for _, r := range c.rows {
		for _, l := range r.lines {
			if (len(l.on) == 0 || c.has(l.on)) && !c.has(l.but) {
				c.line(r, l)
			}
		}
		if r.tasks {
			c.tasks()
		}
		if r.code {
			c.code()
		}
		if r.sql {
			c.sql()
		}
	}
	c.guarded()
	if c.u.DenyOnly {
		return
	}
	c.elsewhere()
	if !c.told {
		c.marks(hook.Attention)
		c.put(effect{kind: "unknown", object: c.name(), risk: hook.Attention})
		return
	}
	if c.worst.Level() >= hook.Attention.Level() {
		return
	}
	// What is not known about its words is never calm.
	words := c.u.Argv[1:]
	lookalike := slices.IndexFunc(words, func(w shell.Word) bool {
		return strings.IndexAny(w.Text, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d") == 0
	})
	switch {
	case lookalike >= 0:
		c.marks(hook.Attention, lookalike)
		c.put(effect{kind: "unknown", phrase: "Has a word that only looks like an option:", object: words[lookalike].Text, risk: hook.Attention})
	case c.unknown >= 0 && c.unknown < len(words):
		c.marks(hook.Attention, c.unknown)
		c.put(effect{kind: "unknown", phrase: "Has an option that assent does not know:", plain: simple([]object{{Word: words[c.unknown]}}), object: c.u.Base + " " + words[c.unknown].Text, risk: hook.Attention})
	case c.computed >= 0 && c.computed < len(words):
		c.marks(hook.Attention, c.computed)
		c.put(effect{kind: "unknown", phrase: "Has a part that is known only when it runs:", object: c.u.Base + " " + words[c.computed].Text, risk: hook.Attention})
	case c.f.Door != "" && !c.listed(c.f.Door):
		c.marks(hook.Attention)
		c.put(effect{kind: "unknown", phrase: "May write a file or run a program:", object: c.u.Base + " " + c.f.Door, risk: hook.Attention})
	case !c.inside():
		c.marks(hook.Attention)
		c.put(effect{kind: "unknown", phrase: "Works in", object: shownDir(c.u), plain: !c.u.DirKnown, outside: true, risk: hook.Attention})
	}
}

// elsewhere tells of files outside the project that stand where no row expects one: as the value of a
// flag, or in what is at most calm or normal otherwise.
func (c *command) elsewhere() {
	if c.worst.Level() >= hook.Attention.Level() || c.u.DenyOnly {
		return
	}
	look := func(at int, text string) {
		if len(text) < 2 || len(text) > 4*maxObject || strings.ContainsAny(text, " \n\t") {
			return
		}
		if text[0] != '/' && text[0] != '~' && !strings.Contains(text, "..") {
			return
		}
		p := c.where.word(shell.Word{Text: text, Prefix: text, Static: c.u.Argv[1+at].Static}, c.u.Dir, true)
		if !p.outside || p.none {
			return
		}
		c.marks(hook.Attention, at)
		c.put(effect{kind: "reads", phrase: "Names", object: p.shown, outside: true, risk: hook.Attention})
	}
	for _, u := range c.flags {
		if !textFlags[u.name] {
			look(u.at, u.value)
		}
	}
	git := c.u.Base == "git"
	runs := slices.ContainsFunc(c.rows, func(r *row) bool { return r.runs }) || packsBy(c.f.Pack).kind == "runs-project"
	for _, i := range c.operands {
		if w := c.u.Argv[1+i]; runs && w.Static && !strings.HasPrefix(w.Text, "/tmp") { // what is there comes and goes
			look(i, w.Text)
		}
	}
	for i, w := range c.u.Argv[1:] {
		switch {
		case len(w.Text) > 2 && w.Text[0] == '-':
			name, value, has := strings.Cut(w.Text, "=")
			if !has {
				name, value = w.Text[:2], w.Text[2:]
			}
			if !textFlags[name] {
				look(i, value)
			}
		case git && (i == 0 || !textFlags[c.u.Argv[i].Text]):
			look(i, w.Text)
		}
	}
}
