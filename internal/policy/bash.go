package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// bash evaluates a shell command.
func (s *Set) bash(e *scope, o *outcome, explain bool) []UnitVerdict {
	command, ok := e.text("command")
	if !ok {
		o.refuse("input", "The command is missing or is not a text.")
	}
	for _, m := range e.input {
		if !slices.Contains(e.tool.Known, m.Key) { // even a yes could change what runs
			o.refuse("input", "The input has the member "+quote(m.Key)+", whose meaning is not known.")
		} else if m.Key == "dangerouslyDisableSandbox" && string(m.Value) != "false" {
			o.refuse("sandbox", "The command asks to run outside the agent's sandbox.")
		}
	}
	e.command = command
	script := shell.Borrow(command, shell.Options{Dir: e.cwd, Home: e.home, Project: e.project, Zsh: e.call.Shell != "bash"})
	defer script.Release()
	e.units = script.Units
	for _, d := range script.Doubts {
		o.refused = append(o.refused, Refusal{d.Code, d.Start, d.End, d.Why})
	}
	s.wholeCommand(e, o)

	covered := make([]*rule, len(script.Units))
	shadowed := covered
	if s.shadows {
		shadowed = make([]*rule, len(script.Units))
	}
	var units []UnitVerdict
	if explain {
		units = make([]UnitVerdict, len(script.Units))
	}
	for i := range script.Units {
		u := &script.Units[i]
		var own outcome
		s.unitGuards(u, e, &own)
		if u.Kind == shell.Command && own.deny == nil && len(s.guards.byProgram)+len(s.guards.wild)+len(s.guardFiles) > 0 {
			for _, inner := range started(u, e) {
				s.unitGuards(&inner, e, &own)
			}
			own.maybe = first(own.maybe, s.unseen(u, e))
		}
		for _, r := range own.asks {
			o.guard(r, yes)
		}
		if own.deny != nil {
			o.guard(own.deny, yes)
		}
		if own.maybe != nil {
			o.guard(own.maybe, likely)
		}
		o.shadow = append(o.shadow, own.shadow...)
		if why := s.protect.touchedBy(u, e); why != "" {
			own.refused = append(own.refused, Refusal{"self", u.Start, u.End, why})
			o.refused = append(o.refused, own.refused...)
		}
		e.secrets = nil
		if !u.DenyOnly {
			e.secrets = e.secretsOf(u)
		}
		if u.Kind == shell.Command && !u.DenyOnly {
			var shadow *rule
			if covered[i], shadow = s.commandAllowed(u, e); s.shadows {
				shadowed[i] = shadow
			}
		}
		if explain {
			units[i] = s.explainUnit(u, e, &own, covered[i])
		}
	}
	// Files after commands: a command's rule may permit its redirections.
	commands := 0
	for i := range script.Units {
		u := &script.Units[i]
		if u.DenyOnly {
			continue
		}
		e.secrets = nil
		switch u.Kind {
		case shell.Command:
			commands++
		case shell.Write, shell.ReadFile:
			e.secrets = e.secretsOf(u)
			var shadow *rule
			if covered[i], shadow = s.fileCovered(u, e, covered, shadowed); s.shadows {
				shadowed[i] = shadow
			}
		case shell.Assign:
			continue // harmless by itself, or there is a doubt
		}
		o.allow = first(o.allow, covered[i])
		o.rest(covered[i])
		if covered[i] == nil {
			if o.uncovered == "" {
				o.uncovered = quote(unitText(u))
				if len(e.secrets) == 0 && u.Kind == shell.Command {
					e.secrets = e.secretsOf(u)
				}
				if len(e.secrets) > 0 {
					o.why = e.secrets[0].why()
				}
			}
			if shadowed[i] == nil {
				o.shadowMissed = true
			}
			o.shadowAllow = first(o.shadowAllow, shadowed[i])
		}
		if explain && (u.Kind == shell.Write || u.Kind == shell.ReadFile) {
			var command *rule
			if u.Of >= 0 && u.Of < len(covered) {
				command = covered[u.Of]
			}
			s.explainFile(&units[i], u, covered[i], command)
		}
	}
	if r := s.scriptAllowed(e); r != nil && commands > 0 {
		o.allow, o.uncovered, o.why, o.saved = first(o.allow, r), "", "", nil
		o.rest(r)
	}
	if commands > 0 {
		o.contain, o.programs, o.also = s.contained(e, o, &script)
	}
	return units
}

// wholeCommand asks the rules that are written with shell syntax in them, and those about the
// tool.
func (s *Set) wholeCommand(e *scope, o *outcome) {
	for _, r := range s.guardScripts {
		e.charge(r)
		if !e.spend(r.match.command.script.cost(len(e.command))) {
			break // nothing is allowed, then
		}
		if r.match.command.script.match(e.command) {
			t, _ := r.match.circumstances(e, e.cwd, true, true)
			o.guard(r, t)
		}
	}
	s.toolGuards(e, o)
}

// scriptAllowed finds a rule string with shell syntax in it that is exactly the command.
func (s *Set) scriptAllowed(e *scope) *rule {
	for _, r := range s.allowScripts {
		if r.match.cwd == nil && !e.inPlace(e.cwd, true) {
			continue
		}
		if ok, _ := r.match.command.allows(nil, e); ok {
			if t, _ := r.match.circumstances(e, e.cwd, true, false); t == yes {
				return r
			}
		}
	}
	return nil
}

// unitGuards asks every rule that denies or asks about one unit.
func (s *Set) unitGuards(u *shell.Unit, e *scope, o *outcome) {
	inEach(u, func() bool {
		s.guardsHere(u, e, o)
		return true
	})
}

func (s *Set) guardsHere(u *shell.Unit, e *scope, o *outcome) {
	if u.Kind == shell.Command {
		s.guards.guards(u, func(r *rule) bool {
			e.charge(r)
			t := r.match.command.guards(u, e)
			if t != no {
				c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
				t = t.and(c)
			}
			o.guard(r, t)
			return true
		})
	}
	for _, r := range s.guardFiles {
		e.charge(r)
		t := r.match.file.guardsUnit(u, e)
		if t != no {
			c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
			t = t.and(c)
		}
		o.guard(r, t)
	}
	e.charge(nil)
}

// guardsUnit says whether a rule about files is meant by a part of a command.
func (m *fileMatch) guardsUnit(u *shell.Unit, e *scope) truth {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		op := opWrite
		if u.Kind == shell.ReadFile {
			op = opRead
		}
		return m.guardsWord(u.Path, op, u, e)
	case shell.Command:
		found := no
		for _, op := range []operation{opRead, opEdit} {
			if m.ops&op == 0 && (op != opEdit || (m.ops|m.also)&opWrite == 0) {
				continue
			}
			words := u.Argv[min(1, len(u.Argv)):]
			if whole := asWhole(u, op); whole != no && m.means(op) {
				for _, w := range taken(u) {
					found = found.or(whole.and(e.holds(w, u, m.paths)))
				}
			}
			certain := fileProgram(u.Base, op)
			if certain == no {
				continue
			}
			if op != opRead {
				words = append(placed(u), words...)
			}
			for _, w := range words {
				found = found.or(certain.and(m.guardsWord(w, op, u, e)))
			}
		}
		return found
	}
	return no
}

// means says whether a rule that denies or asks is about an operation on its files.
func (m *fileMatch) means(op operation) bool {
	if op == opRead {
		return m.ops&opRead != 0
	}
	return (m.ops|m.also)&(opEdit|opWrite) != 0
}

func (m *fileMatch) guardsWord(w shell.Word, op operation, u *shell.Unit, e *scope) truth {
	if !m.means(op) {
		return no
	}
	t := e.wordTouches(w, u, m.paths)
	if t == perhaps && op != opRead && m.ops&(opEdit|opWrite) == 0 {
		return no // rm dist/* is not about .env
	}
	if t == yes && m.not != nil {
		if at, ok := e.resolvePath(u.Dir, w.Text); ok && u.DirKnown && e.inside(at, m.not) {
			return no
		}
	}
	return t
}

// fileProgram says whether a program does op to the files it is given: yes, perhaps, or no for
// those that are known not to.
func fileProgram(base string, op operation) truth {
	if namesOnly(base) && (base != "mkdir" || op == opRead) {
		return no
	}
	switch base {
	case "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "zgrep", "rg", "awk", "gawk", "mawk", "sort", "uniq", "wc", "cut",
		"diff", "cmp", "comm", "join", "paste", "nl", "od", "xxd", "hexdump", "strings", "base64", "base32", "tac", "rev", "fold", "fmt", "jq", "yq", "bat", "batcat",
		"source", ".", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column", "expand", "zcat", "bzcat", "xzcat", "look", "ag", "ack",
		"unexpand", "tsort", "hd", "basenc", "nawk", "colordiff", "ripgrep", "rgrep", "ugrep", "zstdcat", "gzcat", "bzgrep", "xzgrep", "zless", "zmore", "pr", "hexyl":
		if op == opRead {
			return yes
		}
		return no
	case "cp", "mv", "scp", "rsync", "install", "ln", "dd", "sed", "perl", "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "code", "tar", "zip", "gzip", "gunzip", "bzip2", "xz", "patch",
		"gsed", "zstd", "unzstd", "unxz", "lzma", "unlzma", "bunzip2":
		return yes
	case "shuf", "iconv", "plutil", "textutil", "split", "csplit":
		if op == opRead {
			return yes
		}
		return perhaps
	case "rm", "tee", "touch", "chmod", "chown", "chgrp", "truncate", "shred", "unlink", "rmdir", "mkdir":
		if op == opRead {
			return no
		}
		return yes
	}
	return perhaps
}

// commandAllowed finds a rule that covers the command, and a shadow rule that would.
func (s *Set) commandAllowed(u *shell.Unit, e *scope) (covering, shadow *rule) {
	covers := func(r *rule) bool {
		ok, _ := s.covers(r, u, e)
		return ok
	}
	s.allows.allows(u, func(r *rule) bool {
		if covers(r) {
			covering = first(covering, r)
		}
		return covering == nil || covering.layer == Assent // another one is to be taken first
	})
	if covering == nil && s.shadows {
		s.shadowAllows.allows(u, func(r *rule) bool {
			if covers(r) {
				shadow = r
			}
			return shadow == nil
		})
	}
	return covering, shadow
}

// covers says whether an allow rule covers a command; the fault says why not.
func (s *Set) covers(r *rule, u *shell.Unit, e *scope) (covered bool, f fault) {
	inEach(u, func() bool {
		covered, f = s.coversHere(r, u, e)
		return covered
	})
	return covered, f
}

func (s *Set) coversHere(r *rule, u *shell.Unit, e *scope) (bool, fault) {
	if !e.spend(1 + len(u.Argv)/4) {
		return false, fault{"command", "there is too much to compare"}
	}
	if ok, f := r.match.command.allows(u, e); !ok {
		return false, f
	}
	if f := e.unnamed(r.match); f.selector != "" {
		return false, f
	}
	if r.match.cwd == nil && !e.inPlace(u.Dir, u.DirKnown) {
		return false, fault{"cwd", "it runs outside the project, and the rule says nothing about cwd"}
	}
	t, f := r.match.circumstances(e, u.Dir, u.DirKnown, false)
	return t == yes, f
}

// inPlace says whether a directory is one that an allow without cwd holds in: the project, or
// where nobody knows a project, the agent's own.
func (e *scope) inPlace(dir string, known bool) bool {
	return known && (lies(e.project, dir) || e.project == "" && dir == e.cwd)
}

func lies(dir, at string) bool {
	if dir == "" {
		return false
	}
	_, ok := under(dir, at)
	return ok
}

// fileCovered finds the rule that covers a file that a redirection writes or reads: a rule about
// files, or the rule of the command that it belongs to where that permits it.
func (s *Set) fileCovered(u *shell.Unit, e *scope, covered, shadowed []*rule) (covering, shadow *rule) {
	if !u.Path.Static || !u.DirKnown && !path.IsAbs(u.Path.Text) {
		return nil, nil
	}
	at, ok := e.resolvePath(u.Dir, u.Path.Text)
	if !ok {
		return nil, nil
	}
	op := opWrite
	if u.Kind == shell.ReadFile {
		op = opRead
	}
	for _, r := range s.allowFiles {
		if !r.match.file.allows(op, at, e) || e.unnamed(r.match).selector != "" {
			continue
		}
		if t, _ := r.match.circumstances(e, u.Dir, u.DirKnown, false); t != yes {
			continue
		}
		if !r.shadow {
			return r, nil
		}
		shadow = first(shadow, r)
	}
	if u.Of < 0 || u.Of >= len(covered) {
		return nil, shadow
	}
	permits := func(r *rule) bool {
		if r == nil || e.unnamed(r.match).selector != "" {
			return false
		}
		set := r.match.command.stdout
		if u.Kind == shell.ReadFile {
			set = r.match.command.stdin
		}
		return set&streamFile != 0 || set&streamProject != 0 && e.inside(at, projectFiles)
	}
	if permits(covered[u.Of]) {
		return covered[u.Of], nil
	}
	if shadow == nil && permits(shadowed[u.Of]) {
		shadow = shadowed[u.Of]
	}
	return nil, shadow
}

var projectFiles = []pathPattern{{src: "${project}/**", anchor: atProject, all: true}}

// streamIn says whether a stream of the unit is one of the set.
func (e *scope) streamIn(set streams, s shell.Stream, u *shell.Unit, kind shell.Kind) bool {
	switch s {
	case shell.Inherit, shell.OtherFD:
		return set&streamNone != 0
	case shell.Pipe:
		return set&streamPipe != 0
	case shell.DevNull:
		return set&streamDevNull != 0
	case shell.Heredoc:
		return set&streamHeredoc != 0
	}
	if set&streamFile != 0 {
		return true
	}
	if set&streamProject == 0 {
		return false
	}
	// Every file of this kind that the command is connected to lies in the project.
	found := false
	for i := range e.units {
		f := &e.units[i]
		if f.Kind != kind || f.Of < 0 || &e.units[f.Of] != u {
			continue
		}
		at, ok := e.resolvePath(f.Dir, f.Path.Text)
		if !ok || !f.Path.Static || !f.DirKnown && !path.IsAbs(f.Path.Text) || !e.inside(at, projectFiles) {
			return false
		}
		found = true
	}
	return found
}

// unitText is how a person knows a unit.
func unitText(u *shell.Unit) string {
	switch u.Kind {
	case shell.Command:
		var b strings.Builder
		for i, w := range u.Argv {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
			if b.Len() > 300 {
				break
			}
		}
		return b.String()
	case shell.Write:
		return "> " + u.Path.Text
	case shell.ReadFile:
		return "< " + u.Path.Text
	case shell.Assign:
		return u.Name + "=" + u.Value.Text
	default:
		return "…"
	}
}
