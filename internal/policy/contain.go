package policy

import (
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// What a command may do can be left to the kernel where nobody can say it: a command whose programs
// are all named by rules with contain: read may run contained, see docs/contain.md. Nothing here is
// needed for safety but that the answer is carried out contained; deny and ask rules still come first,
// and what cannot work contained, or would be another thing there, is left to a person.

// containable are the doubts about a command that leave its programs certain.
var containable = []string{shell.DoubtGlob, shell.DoubtGitMoved}

// open says whether a rule leaves open which flags its programs may have. Such a rule with contain: read
// allows nothing that does not run contained.
func (m *commandMatch) open() bool {
	return m.script == nil && (m.flags == nil || m.flags.only == nil)
}

// contained is the rule by which a command may run contained, the programs that it names, and what their
// rules give them besides the project; nil where it may not. found says which of its units name secrets.
func (s *Set) contained(e *scope, o *outcome, script *shell.Script, found []unitSecrets) (by *rule, programs []string, also containAlso) {
	if !e.call.Contain || len(s.contains.rules) == 0 || e.call.Tool != tools.Bash || e.call.Elsewhere {
		return nil, nil, also
	}
	if o.deny != nil || o.ask != nil || o.maybe != nil || !e.ownProject() || e.asked("run_in_background") {
		return nil, nil, also
	}
	for _, r := range o.refused {
		if !slices.Contains(containable, r.Code) {
			return nil, nil, also
		}
	}
	if shell.Outlives(script.Text) != "" {
		return nil, nil, also
	}
	name := func(word string) {
		if word = word[strings.LastIndexByte(word, '/')+1:]; !slices.Contains(programs, word) {
			programs = append(programs, word)
		}
	}
	for i := range script.Units {
		u := &script.Units[i]
		if u.DenyOnly || !e.spend(1) {
			return nil, nil, also
		}
		switch u.Kind {
		case shell.Command:
			for _, how := range u.Via { // "find -exec", "timeout"
				how, _, _ = strings.Cut(how, " ")
				name(how)
			}
			name(u.Argv[0].Text)
			if u.Program == "cd" || u.Program == "[[" || u.Program == "case" { // in a shell of its own, or a word of the language
				continue
			}
			r := s.contains.of(u, e)
			if r == nil || found[i].again(e) || e.networkWord(u) != "" {
				return nil, nil, also
			}
			o.inside.add(r)
			if by = first(by, r); !also.add(r.also, e.home) {
				return nil, nil, also
			}
		case shell.ReadFile:
			if found[i].again(e) || e.networkWord(u) != "" {
				return nil, nil, also
			}
		case shell.Assign: // in front of a command, and harmless
		default: // a file that is written, or nobody knows what
			return nil, nil, also
		}
	}
	if s.mayReadGuarded(e, also.read) {
		return nil, nil, also
	}
	return by, programs, also
}

// begins says whether the words after a program begin as the rule wants: with an operation, or with
// its first argument.
func (m *commandMatch) begins(words []shell.Word) bool {
	if m.flags != nil && m.flags.before != nil {
		rest, bad := m.flags.before.scan(words, true, nil)
		if bad != nil {
			return false
		}
		words = rest
	}
	switch {
	case m.verbs != nil:
		return m.verbs.words(words) > 0
	case m.argsSet && len(m.args) > 0:
		return len(words) > 0 && words[0].Static && matchArg(m.args[0], words[0].Text)
	}
	return true
}

// ownProject says whether the agent works in a project that may be read as a whole: neither all files
// nor somebody's home.
func (e *scope) ownProject() bool {
	return e.project != "" && e.project != "/" && e.home != "" && !lies(e.project, e.home) && e.inPlace(e.cwd, true)
}

// asked says whether a member of the input is anything but false.
func (e *scope) asked(member string) bool {
	raw := e.member(member)
	return len(raw) > 0 && string(raw) != "false"
}

// containedVerdict is the allow of a command that runs contained.
func containedVerdict(o *outcome) hook.Verdict {
	return hook.Verdict{
		Action: hook.ActionAllow, Rule: o.contain.id, File: o.contain.file, Contain: hook.ContainRead,
		Reason: "a rule allows it where it runs contained: it can read, and nothing else", Programs: o.programs,
		ContainReads: o.also.read, ContainEnv: o.also.env, From: o.inside.name(),
	}
}
