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
	default:
		c.ownCode(effect{object: p.shown})
		c.task(append([]int{-1}, indices(c.u.Argv[1:])...))
	}
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

// textFlags are flags whose values are texts and patterns, or directories of a compiler's own, though they
// may look like a path.
var textFlags = map[string]bool{ // read-only
	"-e": true, "--regexp": true, "--grep": true, "-S": true, "-G": true, "-m": true, "--message": true, "--format": true, "--pretty": true, "-printf": true, "--printf": true,
	"-name": true, "-iname": true, "-path": true, "-ipath": true, "-wholename": true, "-iwholename": true, "-regex": true, "-iregex": true, "-run": true, "-skip": true, "-bench": true,
	"-g": true, "--glob": true, "--include": true, "--exclude": true, "--exclude-dir": true, "--ignore": true, "-I": true, "-L": true, "-isystem": true, "--expression": true, "--author": true, "-k": true, "--trailer": true,
}

// line tells one line of a row.
func (c *command) line(r *row, l line) {
	var at []int
	for _, f := range l.on {
		if i, ok := c.spot(f); ok {
			at = append(at, i)
		}
	}
	words := c.objects(l)
	if l.obj == "@dest" && l.kind == "writes" && slices.ContainsFunc(c.objects(line{obj: "@srcs"}), func(w object) bool { return strings.HasPrefix(w.Text, "/dev/") }) {
		if l.kind, l.risk = "overwrites", hook.Attention; c.u.Base == "cp" && len(c.operands) == 2 && c.u.Argv[1:][c.operands[0]].Text == "/dev/null" {
			l.phrase = "Empties"
		}
	}
	switch {
	case l.kind == "writes" && l.phrase == "Edits" && strings.HasSuffix(c.u.Base, "sed") && c.onlySubstitutes():
		l.risk = ""
	case strings.HasPrefix(l.phrase, "Unpacks"):
		l = c.unpacks(l)
	}
	if isPathObject(l.obj) {
		for _, w := range words {
			before := len(c.effects)
			risk := c.path(l, w.Word, c.u, c.f)
			c.seen(risk)
			if risk.Level() >= hook.Attention.Level() {
				c.marks(risk, at...)
				if !slices.Contains(c.u.Via, "unread") {
					c.mark(w.Start, w.End, risk)
				}
			}
			if before > keepMost {
				break
			}
		}
		if len(words) == 0 && !strings.HasPrefix(l.obj, "=") && !(l.obj == "@rest" && l.kind == "overwrites") {
			c.missing(l, at)
		}
		return
	}
	f := effect{kind: l.kind, phrase: l.phrase, tail: l.tail, risk: l.risk, tree: l.tree}
	switch {
	case l.obj == "@script":
		c.scriptOf(l)
		return
	case l.obj == "@host":
		c.hosts(l, at)
		return
	case l.obj == "@push":
		f.object = c.pushed()
		if f.plain = f.object == theRemote; f.plain {
			c.fromBranch(&f)
		}
		if remote, branch, named := strings.Cut(f.object, "/"); named && l.kind == "overwrites" && !strings.ContainsAny(branch, ", ") {
			f.text = "Force-pushes " + quiet(branch, 60) + " to " + quiet(remote, 40)
		}
		at = append(at, c.operands[:min(len(c.operands), 8)]...)
	case l.obj == "@db":
		f.object = c.database()
	case l.obj == "":
	case l.obj[0] == '\'':
		f.object, f.plain = l.obj[1:], true
	case l.obj == "#cmd":
		words = c.withSubs()
		f.object, f.plain = join(words), simple(words)
		if l.phrase == "Runs or changes containers:" && startsContainers(words) {
			f.phrase = "Starts containers:"
		}
	default:
		f.object, f.plain = join(words), simple(words)
		switch l.phrase {
		case "Stages":
			if f.object == "" {
				f.object, f.plain = "all changes", true
			}
		case changesCluster:
			f.phrase = c.clusterPhrase()
			if file, ok := c.valueOf([]string{"-f", "--filename"}); ok && file.Static {
				f.object, f.plain = f.object+" "+file.Text, f.plain && simple([]object{file})
			}
		}
		if l.tail == "in the cluster" {
			f.tail = "in the cluster" + c.clusterName()
		}
	}
	if l.kind == "publishes" {
		c.published(&f)
	}
	if f.object == "" && l.phrase == "" && l.kind != "reads" {
		f.object, f.plain, f.by = c.name(), true, l.kind != "runs-project" && l.kind != "unknown"
		if l.kind == "installs" {
			f.phrase, f.by = "Installs packages:", false
		}
	}
	if f.risk == "" {
		f.risk = standard(l.kind)
		if l.kind == "runs-project" {
			for _, w := range words {
				if _, value, is := strings.Cut(w.Text, "="); is && w.Static && w.Text[0] == '-' { // behind --
					w.Text, w.Prefix = value, value
				}
				if w.Static && !strings.HasPrefix(w.Text, "/") && !strings.Contains(w.Text, "..") {
					continue
				}
				if p := c.where.word(w.Word, c.u.Dir, true); p.outside || p.unknown {
					f.risk, f.outside, f.unknown = hook.Attention, p.outside, p.unknown
					at = append(at, w.at)
				}
			}
			if f.risk == hook.Attention {
				c.marks(f.risk, at...)
			}
			if f.object != "" && l.phrase == "" && !f.by && l.obj[0] != '\'' {
				f.object, f.plain = c.name(), true
				if c.skip == 0 {
					f.object, f.plain = c.u.Base+" "+join(words), simple(words)
				}
			}
			c.ownCode(f)
			return
		}
	}
	if l.kind == "reads" && f.object == "" {
		if f.phrase == "" {
			f.phrase, f.object, f.plain = onlyReads, c.name(), true
		}
	}
	if slices.ContainsFunc(words, func(w object) bool { return !w.Static }) {
		f.risk = maxRisk(f.risk, hook.Attention)
	}
	for _, w := range words {
		at = append(at, w.at)
	}
	c.marks(f.risk, at...)
	c.put(f)
	if f.kind == "downloads" {
		c.fetch()
	}
}

// seen notes that something of a risk was told.
func (c *command) seen(risk hook.Risk) {
	if risk == "" {
		return
	}
	if !c.told || risk.Level() > c.worst.Level() {
		c.worst = risk
	}
	c.told = true
}

// missing is a line whose arguments are not there: they come from elsewhere, or there are none.
func (c *command) missing(l line, at []int) {
	switch {
	case l.kind == "reads":
		if !c.told {
			c.put(effect{kind: "reads", phrase: onlyReads, object: c.name(), plain: true, risk: c.readRisk()})
		}
	case l.obj == "@srcs":
	case strings.HasPrefix(l.phrase, "Fixes code"): // of all there is
		c.seen(c.path(l, c.in().Word, c.u, c.f))
	default:
		c.marks(hook.Attention, at...)
		risk := maxRisk(l.risk, hook.Attention)
		if l.kind == "deletes" {
			risk = hook.Danger
		}
		c.put(effect{kind: l.kind, phrase: l.phrase, tail: l.tail, object: "files named at run time", plain: true, unknown: true, risk: risk})
	}
}

// readRisk is that of reading where nothing speaks against it: calm only for what a pack knows.
func (c *command) readRisk() hook.Risk {
	if c.f.Pack != "" {
		return hook.Calm
	}
	return hook.Normal
}

// standard is the risk of a kind of effect of which the table says none.
func standard(kind string) hook.Risk {
	switch kind {
	case "reads":
		return hook.Normal
	case "writes", "moves", "runs-project":
		return hook.Normal
	case "runs-downloaded", "reads-secrets", "escalates", "agent-settings", "assent":
		return hook.Danger
	}
	return hook.Attention
}

// fetch notes that the command fetches something.
func (c *command) fetch() {
	c.found.downloaded = true
	if c.u.Stdout == shell.Pipe || slices.ContainsFunc(c.u.Via, func(v string) bool { return strings.HasSuffix(v, "()") }) {
		c.found.fetched = true
	}
}
