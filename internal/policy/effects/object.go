package effects

import (
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
)

// object is a word that an effect is about, and where it stands.
type object struct {
	shell.Word
	at int // index behind the program
}

// isPathObject says whether the words of an object name files.
func isPathObject(obj string) bool {
	switch obj {
	case "@all", "@first", "@rest", "@last", "@init", "@dest", "@srcs", "@in", "@dd":
		return true
	}
	return strings.HasPrefix(obj, "=")
}

// maxObjects is how many words of one command are looked at one by one.
const maxObjects = 200

// objects are the words of a command that a line is about.
func (c *command) objects(l line) []object {
	words := c.u.Argv[1:]
	some := func(at []int) []object {
		all := make([]object, 0, len(at))
		for _, i := range at[:min(len(at), maxObjects)] {
			all = append(all, object{words[i], i})
		}
		return all
	}
	ops := c.operands
	n := len(ops)
	switch l.obj {
	case "@all", "#all":
		return some(ops)
	case "@first", "#1":
		return some(ops[:min(1, n)])
	case "@rest", "#rest":
		if l.obj == "@rest" && c.scriptByFlag() {
			return some(ops)
		}
		return some(ops[min(1, n):])
	case "@last":
		return some(ops[max(0, n-1):])
	case "@init":
		return some(ops[:max(0, n-1)])
	case "@dest", "@srcs":
		if to, ok := c.target(); ok {
			if l.obj == "@dest" {
				return []object{to}
			}
			return some(ops)
		}
		if l.obj == "@dest" {
			if n < 2 && c.u.Base != "xxd" && c.u.Base != "cp" { // ln FILE
				return []object{c.in()}
			}
			return some(ops[max(0, n-1):])
		}
		if n < 2 {
			return some(ops)
		}
		return some(ops[:n-1])
	case "@in":
		if to, ok := c.valueOf([]string{"-C", "--directory", "-d", "-P", "--directory-prefix", "--output-dir"}); ok {
			return []object{to}
		}
		if slices.Contains([]string{"find", "fd", "fdfind"}, c.u.Base) {
			return c.starts()
		}
		return []object{c.in()}
	case "@dd":
		var all []object
		for _, i := range ops {
			if name, is := strings.CutPrefix(words[i].Text, "of="); is {
				w := words[i]
				w.Text, w.Prefix = name, strings.TrimPrefix(w.Prefix, "of=")
				all = append(all, object{w, i})
			}
		}
		return all
	}
	switch {
	case strings.HasPrefix(l.obj, "="), strings.HasPrefix(l.obj, "%"):
		if to, ok := c.valueOf(strings.Split(l.obj[1:], ",")); ok {
			return []object{to}
		}
	}
	return nil
}

// scriptByFlag says whether sed, awk or grep have their script or pattern by a flag: all their
// arguments are files then.
func (c *command) scriptByFlag() bool {
	switch strings.TrimPrefix(c.u.Base, "g") {
	case "perl":
		_, is := c.valueOf([]string{"-e", "-E"})
		return is
	case "sed", "awk", "rep", "grep", "egrep", "fgrep", "rg", "mawk", "nawk":
		_, is := c.valueOf([]string{"-e", "-f", "--expression", "--file", "--regexp"})
		return is
	}
	return false
}

// in is the directory that the command runs in, as a word.
func (c *command) in() object {
	return object{shell.Word{Text: ".", Prefix: ".", Static: true}, -1}
}

// starts are the directories that find looks through.
func (c *command) starts() []object {
	var all []object
	for i, w := range c.u.Argv[1:] {
		if strings.HasPrefix(w.Prefix, "-") || w.Text == "(" || w.Text == "!" {
			break
		}
		all = append(all, object{w, i})
	}
	if len(all) == 0 || c.u.Base != "find" {
		all = append(all[:0], c.in())
	}
	return all
}

// target is the value of -t, with which cp and its kin are told first where to.
func (c *command) target() (object, bool) {
	return c.valueOf([]string{"-t", "--target-directory"})
}

func (c *command) valueOf(names []string) (object, bool) {
	for _, u := range c.scanned.flags {
		if slices.Contains(names, u.name) && u.value != "" {
			return object{u.word, u.at}, true
		}
	}
	return object{}, false
}

// path tells what is done to a file, and returns its risk.
func (e *found) path(l line, w shell.Word, u *shell.Unit, f *policy.Facts) hook.Risk {
	p := e.where.word(w, u.Dir, u.DirKnown || !e.lost)
	if p.none && l.kind == "moves" {
		e.mark(w.Start, w.End, hook.Danger)
		e.add(effect{kind: "deletes", phrase: "Moves to", object: p.shown, risk: hook.Danger})
		return hook.Danger
	}
	if p.none {
		return hook.Calm
	}
	x := effect{kind: l.kind, phrase: l.phrase, tail: l.tail, object: p.shown, outside: p.outside, unknown: p.unknown, tree: l.tree, find: l.find, class: p.class}
	changes := l.kind != "runs-project"
	if !changes {
		x.runs, x.unit = u, e.unitAt
	}
	switch l.kind {
	case "reads":
		changes = false
		x.risk = hook.Normal
		if f.Pack != "" {
			x.risk = hook.Calm
		}
		switch {
		case p.outside || p.unknown:
			x.risk = hook.Attention
		case p.glob:
			x.risk = hook.Normal
		}
	case "deletes":
		x.risk = hook.Attention
		switch {
		case p.outside && !p.made, p.whole, l.tree && !p.made, p.class >= runsAlone, l.tree && p.unknown:
			x.risk = hook.Danger
		}
	case "permissions":
		x.risk = hook.Attention
		if p.outside && !p.made || p.class >= forAgent {
			x.risk = hook.Danger
		}
	default:
		x.risk = hook.Normal
		if p.outside || p.unknown || p.whole && l.kind != "writes" {
			x.risk = hook.Attention
		}
		if l.kind == "moves" && p.whole {
			x.risk = hook.Danger
		}
	}
	if changes && l.kind != "deletes" && l.kind != "permissions" {
		switch p.class {
		case runsLater:
			x.kind, x.phrase, x.tail, x.risk = "plants", "", "", maxRisk(x.risk, hook.Attention)
		case runsAlone:
			x.kind, x.phrase, x.tail, x.risk = "plants", "", "", hook.Danger
		case forAgent:
			x.kind, x.phrase, x.tail, x.risk = "agent-settings", "", "", hook.Danger
		case forAssent:
			x.kind, x.phrase, x.tail, x.risk = "assent", "", "", hook.Danger
		case ofSystem:
			x.risk = hook.Danger
		}
	}
	if changes && l.kind != "deletes" && l.kind != "permissions" {
		e.noteWrite(&l, &p, u)
	}
	if link, is := e.throughLink(p.full); is && !(l.kind == "deletes" && link == p.shown) {
		x.risk, x.news = maxRisk(x.risk, hook.Attention), "It goes through "+quiet(link, 44)+", a link that this session made: nobody here knows where to."
		if x.kind == "writes" || x.kind == "overwrites" {
			x.tail = strings.TrimSpace("through a link " + x.tail)
		}
	}
	if p.unknown && strings.Contains(w.Text, "…") || w.Text == "{}" {
		x.unknown, x.object, x.plain = true, "files named at run time", true
		if l.kind == "deletes" {
			x.risk = hook.Danger
		}
	}
	if slices.Contains(f.Secrets, w.Text) {
		x.secret, x.risk = true, hook.Danger
		if x.kind == "reads" {
			x.kind, x.phrase, x.tail = "reads-secrets", readsSecrets, ""
		}
	}
	x.risk = maxRisk(x.risk, l.risk)
	if l.risk == "" {
		x.risk = maxRisk(x.risk, hook.Calm)
	}
	e.mark(w.Start, w.End, x.risk)
	e.add(x)
	return x.risk
}

// join are words as one object.
func join(words []object) string {
	var b strings.Builder
	for i, w := range words {
		if b.Len() > 4*maxObject {
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// unknownHost stands for a machine that the command does not name.
const unknownHost = "a host that cannot be told"

// hosts tells which machines a command speaks with.
func (c *command) hosts(l line, at []int) {
	words := c.u.Argv[1:]
	names := []string{}
	for _, i := range c.operands[:min(len(c.operands), 50)] {
		if h := hostOf(words[i].Text); h != "" && !slices.Contains(names, h) {
			names, at = append(names, h), append(at, i)
		}
	}
	if to, ok := c.valueOf([]string{"--url"}); ok {
		if h := hostOf(to.Text); h != "" {
			names, at = append(names, h), append(at, to.at)
		}
	}
	if len(names) == 0 {
		names = append(names, unknownHost)
		if len(c.operands) > 0 {
			names[0] = strings.TrimPrefix(words[c.operands[0]].Text, "//")
			if i := strings.IndexByte(names[0], '/'); i > 0 {
				names[0] = names[0][:i]
			}
		}
	}
	c.marks(l.risk, at...)
	if l.kind == "downloads" {
		c.found.sources = append(c.found.sources, names[:min(len(names), 4)]...)
	}
	for _, w := range words[:min(len(words), maxObjects)] {
		if host := tokenHost(strings.TrimPrefix(w.Text, "--url=")); host != "" {
			c.put(effect{kind: "sends", phrase: sendsToken, object: host, token: true, risk: maxRisk(l.risk, hook.Attention)})
		}
	}
	for i, h := range names {
		if i == 4 {
			break
		}
		c.put(effect{kind: l.kind, phrase: l.phrase, object: h, plain: h == unknownHost, risk: l.risk})
	}
	if l.kind == "downloads" {
		c.fetch()
	}
}

// hostOf is the machine in an address, or in HOST:PATH.
func hostOf(s string) string {
	scheme, rest, is := strings.Cut(s, "://")
	if !is {
		host, _, colon := strings.Cut(s, ":")
		if !colon || host == "" || strings.ContainsAny(host, "/ ") || len(host) == 1 {
			return ""
		}
		return host[strings.LastIndexByte(host, '@')+1:]
	}
	if strings.ContainsAny(scheme, " /") {
		return ""
	}
	rest = rest[:strings.IndexAny(rest+"/", "/?#")]
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(rest, "[") {
		return rest[:min(strings.IndexByte(rest+"]", ']')+1, len(rest))]
	}
	host, _, _ := strings.Cut(rest, ":")
	return host
}

// pushed is what git pushes to: the remote and the branch.
func (c *command) pushed() string {
	words := c.u.Argv[1:]
	var ops []string
	for _, i := range c.operands {
		ops = append(ops, words[i].Text)
	}
	if len(ops) == 0 {
		return theRemote
	}
	remote := ops[0]
	if h := hostOf(remote); h != "" {
		remote = h
	}
	if len(ops) == 1 {
		return remote
	}
	var refs []string
	for _, ref := range ops[1:min(len(ops), 6)] {
		ref = strings.TrimPrefix(ref, "+")
		if _, to, is := strings.Cut(ref, ":"); is {
			ref = to
		}
		if ref == "HEAD" && c.req.Repo.Branch != "" {
			ref = c.req.Repo.Branch
		}
		refs = append(refs, remote+"/"+strings.TrimPrefix(ref, "refs/heads/"))
	}
	return strings.Join(refs, ", ")
}

// fromBranch names the branch that git pushes which is told neither remote nor branch, where it is known.
func (c *command) fromBranch(f *effect) {
	all := c.has([]flag{{name: "--all"}, {name: "--branches"}, {name: "--mirror"}})
	switch begins, to := strings.CutSuffix(f.phrase, " to"); {
	case !to || f.kind == "deletes":
	case all:
		f.phrase, f.object = begins+" all branches to", "the remote"
	case c.has([]flag{{name: "--tags"}}):
		f.phrase, f.object = begins+" with all tags to", "the remote"
	case c.req.Repo.Branch != "" && plainName(c.req.Repo.Branch) && len(c.u.Alt) == 0 && !c.again && c.inside():
		f.phrase, f.object = begins+" from "+shown(c.req.Repo.Branch, 40)+" to", "its remote branch"
	}
}

// theRemote is where git pushes to that is told neither remote nor branch.
const theRemote = "the remote branch"

// withSubs are the words of the row with the arguments behind them: ec2 terminate-instances i-1.
func (c *command) withSubs() []object {
	var all []object
	left := c.skip
	for i, w := range c.u.Argv[1:] {
		if left > 0 && !strings.HasPrefix(w.Prefix, "-") {
			all = append(all, object{w, i})
			left--
		}
	}
	return append(all, c.objects(line{obj: "#all"})...)
}

// database is the name of the database that a client is told.
func (c *command) database() string {
	if to, ok := c.valueOf([]string{"-d", "--dbname", "-D"}); ok {
		return to.Text
	}
	if len(c.operands) > 0 {
		w := c.u.Argv[1:][c.operands[0]]
		if !strings.ContainsAny(w.Text, " \n") {
			if h := hostOf(w.Text); h != "" && strings.Contains(w.Text, "://") {
				return "at " + h
			}
			return w.Text
		}
	}
	return ""
}
