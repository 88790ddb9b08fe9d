package suggest

import (
	"path"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
	"assent/internal/text/show"
)

// command makes one rule for each part of a command that no rule covers yet.
func (ec *execContext) command(s *shell.Script, verdicts []policy.UnitVerdict) ([]candidate, string) {
	var narrow, wide candidate
	wider := false
	var words, wideWords []string
	for i := range s.Units {
		u := &s.Units[i]
		if u.DenyOnly || u.Kind == shell.Assign || verdicts[i].Action == hook.ActionAllow {
			continue
		}
		if len(narrow.drafts) == maxParts {
			return nil, "too many parts of it are not allowed yet; make rules of them one by one"
		}
		switch u.Kind {
		case shell.Write, shell.ReadFile:
			d, sentence, why := ec.redirect(u)
			if why != "" {
				return nil, why
			}
			narrow.drafts, wide.drafts = append(narrow.drafts, d), append(wide.drafts, d)
			words, wideWords = append(words, sentence), append(wideWords, sentence)
		case shell.Command:
			if why := never(u); why != "" {
				return nil, why
			}
			n, sentence, why := ec.exactly(u)
			x, wideSentence, ok := ec.wider(u)
			if why != "" && !ok {
				return nil, why
			}
			if why != "" { // the wider one is the narrowest there is
				n, sentence = x, wideSentence
			}
			if !ok {
				x, wideSentence = n, sentence
			}
			wider = wider || ok
			narrow.drafts, wide.drafts = append(narrow.drafts, n), append(wide.drafts, x)
			words, wideWords = append(words, sentence), append(wideWords, wideSentence)
			if warning := projectCode(u); warning != "" && !slices.Contains(narrow.warnings, warning) {
				narrow.warnings = append(narrow.warnings, warning)
				wide.warnings = append(wide.warnings, warning)
			}
		default:
			return nil, "the command cannot be read with certainty"
		}
	}
	if len(narrow.drafts) == 0 {
		return nil, "no part of it needs a rule"
	}
	narrow.sentence, wide.sentence = strings.Join(words, "; "), strings.Join(wideWords, "; ")
	if wider {
		return []candidate{narrow, wide}, ""
	}
	return []candidate{narrow}, ""
}

// exactly is a rule for a command as it stands: the words, the directory, what it reads.
func (ec *execContext) exactly(u *shell.Unit) (draft, string, string) {
	if !u.DirKnown {
		return draft{}, "", "the directory it runs in is not known for certain"
	}
	args := []string{}
	for _, word := range u.Argv[1:] {
		if !word.Static {
			return draft{}, "", "`" + show.Short(word.Text, 60) + "` is known only when it runs"
		}
		if ec.leadsOut(word.Text, u.Dir) {
			return draft{}, "", "`" + show.Short(word.Text, 60) + "` may be a place outside the project, of which no rule is made"
		}
		args = append(args, literal(word.Text))
	}
	stdin, why := streams(u)
	if why != "" {
		return draft{}, "", why
	}
	d := draft{match: match{Command: &command{Program: u.Program, Args: args, Stdin: stdin}}}
	in, ok := ec.bind(&d, u.Dir, false)
	if !ok {
		return draft{}, "", "its directory cannot be named in a rule"
	}
	cmd := quoted(u.Argv)
	d.test.Cmd = cmd
	after := d.test
	after.Cmd, after.Expect = cmd+"; rm -rf ~", "ask"
	d.tests = []test{after}
	return d, "Run `" + show.Short(cmd, 200) + "`, exactly these words, " + in, ""
}

// leadsOut says whether a word may name a place outside the project: by itself, after a = or a
// letter with a dash (--out=/etc/x, -o/etc/x), after a colon or an @.
func (ec *execContext) leadsOut(word, dir string) bool {
	if strings.Contains(word, "://") {
		return false // an address
	}
	all := []string{word}
	for _, sign := range []string{"=", ":", "@"} {
		if _, after, ok := strings.Cut(word, sign); ok {
			all = append(all, after)
		}
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		all = append(all, word[2:])
	}
	for _, at := range all {
		switch {
		case at == "" || at == "/dev/null":
			continue
		case at[0] == '~':
			return true
		case !path.IsAbs(at):
			at = path.Join(dir, at)
		}
		if at = path.Clean(at); !below(ec.project, at) && !below(dir, at) {
			return true
		}
		// A link on the way, which the agent may have made and can turn elseec.
		if !ec.elsewhere && !ec.inProject(at) && !below(resolved(dir), resolved(at)) {
			return true
		}
	}
	return false
}

// bind binds a rule to where the command ran, or with below to the whole project, and says so.
func (ec *execContext) bind(d *draft, dir string, below bool) (string, bool) {
	if ec.elsewhere {
		d.match.Session = &session{Repo: ec.repo}
		d.test.Repo = ec.repo
		return "in " + ec.repo, ec.repo != ""
	}
	d.test.Cwd = dir
	if below {
		dir = ec.project
	}
	patterns, ok := ec.patterns(dir)
	if below {
		for i := range patterns {
			patterns[i] += "/**"
		}
	}
	d.match.Cwd = patterns
	if below {
		return "in " + dir + ec.really(dir) + " and below", ok
	}
	return "in " + dir + ec.really(dir), ok
}

// streams says where standard input may come from: where it came from. What is written into it
// is part of what a person decides about, so a pipe goes to programs only that do nothing but
// read it.
func streams(u *shell.Unit) ([]string, string) {
	switch u.Stdin {
	case shell.Inherit, shell.DevNull, shell.OtherFD:
		return []string{"none", "devnull"}, ""
	case shell.Pipe:
		if filter(u.Program) {
			return []string{"none", "devnull", "pipe"}, ""
		}
	case shell.File:
		return []string{"none", "devnull", "file"}, "what it reads from its standard input may be another thing next time"
	}
	return nil, "what it reads from its standard input may be another thing next time"
}

// redirect is a rule for a file that the shell writes or reads.
func (ec *execContext) redirect(u *shell.Unit) (draft, string, string) {
	const why = "it writes or reads a file whose name is not certain, or that lies outside the project"
	if ec.elsewhere || !u.Path.Static || !u.DirKnown && !path.IsAbs(u.Path.Text) {
		return draft{}, "", why
	}
	at := u.Path.Text
	if !path.IsAbs(at) {
		at = path.Join(u.Dir, at)
	}
	at = path.Clean(at)
	patterns, ok := ec.patterns(at)
	if !ok || !ec.narrowProject() || !ec.inProject(at) {
		return draft{}, "", why
	}
	op, verb, name := "write", "Write", tools.Write
	if u.Kind == shell.ReadFile {
		op, verb, name = "read", "Read", tools.Read
	}
	d := draft{match: match{File: &file{Op: []string{op}, Path: patterns}}}
	d.test = test{Tool: name, Input: map[string]any{tools.Of(name).Path[0]: at}}
	return d, verb + " the file " + at + ec.really(at), ""
}
