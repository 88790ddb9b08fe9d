package effects

// What one line of the table says of a command.

import (
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

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
