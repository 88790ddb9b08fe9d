package policy

import (
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
	if why := e.otherShell(); why != "" {
		o.refuse("shell", why)
	}
	script := shell.Borrow(command, shell.Options{Dir: e.cwd, Home: e.home, Project: e.project, Zsh: e.call.Shell != "bash"})
	defer script.Release()
	e.units, o.cut = script.Units, script.Cut
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
	secrets := make([]unitSecrets, len(script.Units))
	var known repeats
	if !explain && len(script.Units) > fewUnits {
		known = repeats{}
	}
	var f unitFound
	for i := range script.Units {
		u := &script.Units[i]
		if earlier := known.like(u); earlier != nil {
			f = *earlier
			e.work, e.other = e.work+f.work, e.other+f.other
		} else {
			s.look(u, e, &f)
			known.add(u, &f)
		}
		secrets[i] = f.secrets
		own := &f.own
		for _, r := range own.asks {
			o.guard(r, yes)
		}
		if own.deny != nil {
			o.guard(own.deny, yes)
		}
		if own.maybe != nil {
			if o.maybe == nil {
				o.alike = own.alike
			}
			o.guard(own.maybe, likely)
		}
		o.shadow = append(o.shadow, own.shadow...)
		if f.protected != "" {
			own.refused = append(own.refused, Refusal{"self", u.Start, u.End, f.protected})
			o.refused = append(o.refused, own.refused...)
		}
		if u.Kind == shell.Command && !u.DenyOnly {
			if covered[i] = f.covering; s.shadows {
				shadowed[i] = f.shadow
			}
		}
		if explain {
			units[i] = s.explainUnit(u, e, own, covered[i])
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
		o.allow, o.uncovered, o.why, o.saved, o.from = first(o.allow, r), "", "", nil, origin{}
		o.rest(r)
	}
	if commands > 0 {
		o.contain, o.programs, o.also = s.contained(e, o, &script, secrets)
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

// otherShell says why the command may be one for a shell that is not read here: to PowerShell "a\"; rm x #" is a text
// and a command. What is denied of it as bash reads it stays denied.
func (e *scope) otherShell() string {
	switch e.call.Shell {
	case "", "bash", "zsh", "sh":
	default:
		return "The command is for " + quote(e.call.Shell) + ", which is not read here."
	}
	if e.call.Cwd != "" && !strings.HasPrefix(e.call.Cwd, "/") {
		return "It runs in " + quote(e.call.Cwd) + ", on a system whose shell is not read here."
	}
	return ""
}
