package effects

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// says is how a kind of effect begins in words, what several objects of it are called, and what is
// said of it where there is no room for its objects.
type says struct{ verb, one, many, brief string }

func saying(kind string) says {
	switch kind {
	case "reads":
		return says{"Reads", "file", "files", "reads files"}
	case "writes":
		return says{"Writes", "file", "files", "writes files"}
	case "overwrites":
		return says{"Overwrites", "file", "files", "overwrites data"}
	case "deletes":
		return says{"Deletes", "file", "files", "deletes data"}
	case "moves":
		return says{"Moves", "file", "files", "moves files"}
	case "publishes":
		return says{"Publishes", "thing", "things", "publishes"}
	case "sends":
		return says{"Sends data to", "host", "hosts", "sends data"}
	case "downloads":
		return says{"Downloads from", "host", "hosts", "downloads"}
	case "runs-downloaded":
		return says{"Runs code from the network:", "program", "programs", "runs code from the network"}
	case "installs":
		return says{"Installs", "package", "packages", "installs packages"}
	case "reads-secrets":
		return says{"Uses secrets in", "file", "files", "uses secrets"}
	case "escalates":
		return says{"Takes more rights", "way", "ways", "takes more rights"}
	case "permissions":
		return says{"Changes the permissions of", "file", "files", "changes permissions"}
	case "agent-settings":
		return says{"Changes the agent's settings:", "file", "files", "changes settings"}
	case "assent":
		return says{"Changes assent's files:", "file", "files", "changes assent"}
	case "kills":
		return says{"Kills", "process", "processes", "stops programs"}
	case "database":
		return says{"Uses the database", "database", "databases", "uses a database"}
	case "plants":
		return says{"Changes code that runs later:", "file", "files", "changes code that runs later"}
	case "runs-project":
		return says{"Runs the project's code:", "program", "programs", "runs the project's code"}
	case "unknown":
		return says{"Runs the unknown program", "program", "programs", "does what is not known"}
	}
	return says{"Does", "thing", "things", "changes other things"}
}

func (f *effect) verb() string {
	if f.phrase != "" {
		return f.phrase
	}
	return saying(f.kind).verb
}

// words is an effect in words.
func (f *effect) words(max int) string {
	if f.text != "" {
		return f.text
	}
	object := f.name(max)
	if f.by {
		object = "with " + object
	}
	return f.with(object, f.outside && f.kind != "reads-secrets")
}

// with is an effect in words with this for its object.
func (f *effect) with(object string, outside bool) string {
	s := f.verb()
	if object == "" {
		s = bare(s)
	} else {
		s += " " + object
	}
	if f.tail != "" && f.tail[0] != ',' {
		s += " " + f.tail
	}
	switch {
	case outside && f.kind == "runs-project":
		s += " with files outside the project"
	case outside:
		s += " outside the project"
	}
	if f.tail != "" && f.tail[0] == ',' {
		s += f.tail
	}
	return s
}

// bare is a phrase without what leads to its object: "Pushes to" is "Pushes".
func bare(phrase string) string {
	phrase = strings.TrimSuffix(strings.TrimSuffix(phrase, ":"), ",")
	for _, end := range []string{" to or from", " by", " to", " from", " in", " into", " at", " with", " on", " of", " for"} {
		if short, is := strings.CutSuffix(phrase, end); is {
			return strings.TrimSuffix(short, ",")
		}
	}
	return phrase
}

// maxSentence is how long a headline is at most, in characters; mustSay is how long it may become so
// that no kind of danger is left out.
const (
	maxSentence = 90
	mustSay     = 140
)

// group is some effects of a headline of which one verb is said.
type group struct {
	all  []effect
	full string // with objects
}

// headline is all effects in one sentence, the worst first. What only reads is left out beside what
// does more. No kind of danger or attention is left out: where the objects of all have no room, the
// last of them go first, then all.
func (e *found) headline(all []effect) string {
	groups := grouped(all)
	must := 0 // of danger or attention
	for must < len(groups) && groups[must].all[0].risk.Level() >= hook.Attention.Level() {
		must++
	}
	if must == 1 && groups[0].all[0].doubt && !groups[0].all[0].unread && len(groups) > 1 {
		groups, must = groups[1:], 0 // the reason tells the doubt
	}
	rest := groups[must:]
	if must == 0 {
		must, rest = 1, groups[1:]
	}
	s := ""
	for brief := range must + 1 {
		if s = said(groups[:must], brief); utf8.RuneCountInString(s) <= maxSentence {
			break
		}
	}
	if utf8.RuneCountInString(s) > maxSentence+12 && must > 1 {
		return e.kinds(groups[:must])
	}
	left := 0
	for _, g := range rest {
		part := "; " + lowerFirst(g.full)
		if utf8.RuneCountInString(s)+utf8.RuneCountInString(part) > maxSentence {
			left += len(g.all)
			continue
		}
		s += part
	}
	if left > 0 {
		s = fmt.Sprintf("%s; %d more", s, left)
	}
	return s
}

// grouped are the effects that a headline says, those of one verb together.
func grouped(all []effect) []group {
	worst := all[0].risk
	groups := make([]group, 0, min(len(all), 16))
	outside := false
	for i := 0; i < len(all); {
		f := &all[i]
		j := i + 1
		for j < len(all) && f.alike(&all[j]) {
			j++
		}
		g := group{all: all[i:j]}
		i = j
		switch {
		case f.kind == "reads" && f.risk != worst && f.risk.Level() < hook.Attention.Level():
			continue
		case f.doubt && len(groups) > 0,
			f.aside && f.risk != worst && (all[0].kind == "deletes" || all[0].kind == "overwrites"),
			f.phrase == onlyReads && slices.ContainsFunc(groups, func(g group) bool { return g.all[0].kind == "reads" }),
			f.kind == "runs-project" && len(groups) > 0 && f.object == all[0].object:
			continue // enough is said
		}
		g.full = f.several(g.all, outside)
		outside = outside || f.outside // said once; the paths say it of the others
		groups = append(groups, g)
	}
	return groups
}

// alike says whether one verb can be said of both.
func (f *effect) alike(g *effect) bool {
	return g.kind == f.kind && g.phrase == f.phrase && g.tail == f.tail && g.risk == f.risk && g.outside == f.outside && g.tree == f.tree && f.text == "" && g.text == ""
}

// said are groups in a sentence, as many of the last as brief says without their objects.
func said(groups []group, brief int) string {
	parts := make([]string, 0, len(groups))
	for i := range groups {
		part := groups[i].full
		if i >= len(groups)-brief {
			part = groups[i].brief()
		}
		if i > 0 {
			part = lowerFirst(part)
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// brief is a group without its objects.
func (g *group) brief() string {
	f := &g.all[0]
	switch {
	case f.aside:
		return "May change settings"
	case f.text != "":
		return g.full
	case f.kind == "database" && f.phrase != "":
		return bare(f.phrase)
	case f.phrase == "":
		s := saying(f.kind).brief
		return strings.ToUpper(s[:1]) + s[1:]
	}
	s := bare(f.phrase)
	switch {
	case f.kind == "permissions" && f.tail != "":
		s += " files " + f.tail
	case f.tail != "" && f.tail[0] != ',':
		s += " " + f.tail
	}
	return s
}

// kinds is a sentence of what many commands do, by kinds alone: "Deletes data, sends data: 10 commands".
func (e *found) kinds(groups []group) string {
	var b strings.Builder
	told := make([]string, 0, 8)
	for i := range groups {
		f := &groups[i].all[0]
		s := saying(f.kind).brief
		if slices.Contains(told, s) || len(told) > 0 && (f.kind == "unknown" || f.kind == "other") {
			continue
		}
		if b.Len()+len(s) > mustSay-30 {
			b.WriteString(" and more")
			break
		}
		if told = append(told, s); len(told) > 1 {
			b.WriteString(", ")
			b.WriteString(s)
			continue
		}
		b.WriteString(strings.ToUpper(s[:1]) + s[1:])
	}
	n := 0
	for i := range e.units() {
		if u := &e.script.Units[i]; u.Kind == shell.Command && !u.DenyOnly && len(u.Via) == 0 {
			n++
		}
	}
	if n > 1 {
		fmt.Fprintf(&b, ": %d commands", n)
	}
	return b.String()
}

func (e *found) units() int {
	if e.script == nil {
		return 0
	}
	return len(e.script.Units)
}

// several are some effects of one verb: by their names where those are few and short, else by number.
// quietly leaves out that one lies outside the project, as its path says: it was said of another.
func (f *effect) several(all []effect, quietly bool) string {
	n := len(all)
	outside := f.outside && (!quietly || n > 1) && f.kind != "reads-secrets"
	if n == 1 {
		if f.text != "" {
			return f.text
		}
		object := f.name(44)
		if f.by {
			object = "with " + object
		}
		return f.with(object, outside)
	}
	names := make([]string, 0, 3)
	length := 0
	for i := range all[:min(n, 3)] {
		names = append(names, all[i].name(40))
		length += len(names[i])
	}
	s := saying(f.kind)
	list := f.phrase == onlyReads
	switch {
	case n == 2 && f.kind == "moves" && length < 50:
		return f.with(names[0]+" to "+names[1], outside)
	case (n == 2 || n <= 3 && list) && !f.outside && length < 50:
		return f.with(strings.Join(names[:n-1], ", ")+" and "+names[n-1], false)
	case list:
		return fmt.Sprintf("%s %s and %d more", f.phrase, names[0], n-1)
	case f.tree:
		return f.with(fmt.Sprintf("%d folders", n), outside)
	case f.kind == "database" && f.phrase != changesDatabase:
		return f.with(fmt.Sprintf("%d tables", n), outside)
	}
	return f.with(fmt.Sprintf("%d %s", n, s.many), outside)
}

// name is the object of an effect as it stands in a sentence.
func (f *effect) name(max int) string {
	switch {
	case f.object == ".":
		return "the project's folder"
	case f.object == "~" && f.outside:
		return "~ (your home folder)"
	case f.object == "/" && f.outside:
		return "/ (the whole disk)"
	case f.plain:
		return shown(f.object, max)
	}
	return quiet(f.object, max)
}
