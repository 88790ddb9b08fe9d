package grants

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
	"assent/internal/text/show"
)

// candidates returns what could be proposed for a request, the narrowest first, or why nothing.
func (p *Proposer) candidates(req *hook.Request) ([]candidate, string) {
	if req.Uninspectable != "" {
		return nil, "the request can be read in two ways, and no rule allows such a request"
	}
	trial, err := p.book.Try(req)
	if err != nil {
		return nil, err.Error()
	}
	v := trial.Explain(req)
	switch {
	case v.Action == policy.Deny:
		return nil, "a rule denies it, which no other rule undoes"
	case v.Action == policy.Allow:
		return nil, "the rule " + v.Rule + " allows it already"
	case v.Rule != "":
		return nil, "the rule " + v.Rule + " wants a person to decide each time"
	case len(v.Refused) > 0:
		return nil, v.Refused[0].Why
	}
	c := p.book.Call(req)
	where, ok := newPlace(&c)
	if !ok {
		return nil, "it is not certain which files it is about: the agent runs elsewhere, or its directory cannot be named in a rule"
	}
	if c.Tool != "Bash" {
		return where.tool()
	}
	var in struct{ Command string }
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Input, &members) != nil || json.Unmarshal(members["command"], &in.Command) != nil {
		return nil, "it is no command"
	}
	script := shell.Read(in.Command, shell.Options{Dir: where.cwd, Home: c.Home, Project: where.project, Zsh: c.Shell != "bash"})
	if len(script.Doubts) > 0 || len(script.Units) != len(v.Units) {
		return nil, "the command cannot be read with certainty"
	}
	return where.command(&script, v.Units)
}

// command makes one rule for each part of a command that no rule covers yet.
func (w *where) command(s *shell.Script, said []policy.UnitVerdict) ([]candidate, string) {
	var narrow, wide candidate
	wider := false
	var words, wideWords []string
	for i := range s.Units {
		u := &s.Units[i]
		if u.DenyOnly || u.Kind == shell.Assign || said[i].Action == policy.Allow {
			continue
		}
		if len(narrow.drafts) == maxParts {
			return nil, "too many parts of it are not allowed yet; make rules of them one by one"
		}
		switch u.Kind {
		case shell.Write, shell.ReadFile:
			d, sentence, why := w.redirect(u)
			if why != "" {
				return nil, why
			}
			narrow.drafts, wide.drafts = append(narrow.drafts, d), append(wide.drafts, d)
			words, wideWords = append(words, sentence), append(wideWords, sentence)
		case shell.Command:
			if why := never(u); why != "" {
				return nil, why
			}
			n, sentence, why := w.exactly(u)
			x, wideSentence, ok := w.wider(u)
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
func (w *where) exactly(u *shell.Unit) (draft, string, string) {
	if !u.DirKnown {
		return draft{}, "", "the directory it runs in is not known for certain"
	}
	args := []string{}
	for _, word := range u.Argv[1:] {
		if !word.Static {
			return draft{}, "", "`" + show.Short(word.Text, 60) + "` is known only when it runs"
		}
		if w.leadsOut(word.Text, u.Dir) {
			return draft{}, "", "`" + show.Short(word.Text, 60) + "` may be a place outside the project, of which no rule is made"
		}
		args = append(args, literal(word.Text))
	}
	stdin, why := streams(u)
	if why != "" {
		return draft{}, "", why
	}
	d := draft{match: match{Command: &command{Program: u.Program, Args: args, Stdin: stdin}}}
	in, ok := w.bind(&d, u.Dir, false)
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
func (w *where) leadsOut(word, dir string) bool {
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
		if at = path.Clean(at); !below(w.project, at) && !below(dir, at) {
			return true
		}
		// A link on the way, which the agent may have made and can turn elsewhere.
		if !w.elsewhere && !w.inProject(at) && !below(leads(dir), leads(at)) {
			return true
		}
	}
	return false
}

// bind binds a rule to where the command ran, or with below to the whole project, and says so.
func (w *where) bind(d *draft, dir string, below bool) (string, bool) {
	if w.elsewhere {
		d.match.Session = &session{Repo: w.repo}
		d.test.Repo = w.repo
		return "in " + w.repo, w.repo != ""
	}
	d.test.Cwd = dir
	if below {
		dir = w.project
	}
	patterns, ok := w.patterns(dir)
	if below {
		for i := range patterns {
			patterns[i] += "/**"
		}
	}
	d.match.Cwd = patterns
	if below {
		return "in " + dir + w.really(dir) + " and below", ok
	}
	return "in " + dir + w.really(dir), ok
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
func (w *where) redirect(u *shell.Unit) (draft, string, string) {
	const why = "it writes or reads a file whose name is not certain, or that lies outside the project"
	if w.elsewhere || !u.Path.Static || !u.DirKnown && !path.IsAbs(u.Path.Text) {
		return draft{}, "", why
	}
	at := u.Path.Text
	if !path.IsAbs(at) {
		at = path.Join(u.Dir, at)
	}
	at = path.Clean(at)
	patterns, ok := w.patterns(at)
	if !ok || !w.narrowProject() || !w.inProject(at) {
		return draft{}, "", why
	}
	op, verb, tool := "write", "Write", "Write"
	if u.Kind == shell.ReadFile {
		op, verb, tool = "read", "Read", "Read"
	}
	d := draft{match: match{File: &file{Op: []string{op}, Path: patterns}}}
	d.test = test{Tool: tool, Input: map[string]any{"file_path": at}}
	return d, verb + " the file " + at + w.really(at), ""
}

// literal writes a word that must stand there as it is. In a rule, * stands for anything, re:
// begins an expression, and ... is the rest.
func literal(s string) string {
	if s == "" || s == "..." || strings.Contains(s, "*") || strings.HasPrefix(s, "re:") || strings.HasPrefix(s, "is:") {
		return "re:" + regexp.QuoteMeta(s)
	}
	return s
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted writes words for a shell.
func quoted(words []shell.Word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
		if w.Static && !plainWord.MatchString(w.Text) {
			all[i] = "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}

// wider is a rule for the same program doing the same to other files of the project, for the few
// programs whose arguments are known to be nothing but that.
func (w *where) wider(u *shell.Unit) (draft, string, bool) {
	if w.elsewhere || !w.narrowProject() || !u.DirKnown || !below(w.project, u.Dir) || len(u.Argv) == 0 {
		return draft{}, "", false
	}
	k, words := known(u)
	if k == nil {
		return draft{}, "", false
	}
	seen, ok := k.seen(words)
	stdin, why := streams(u)
	if !ok || why != "" {
		return draft{}, "", false
	}
	args := append(slices.Clone(k.args), "...")
	d := draft{match: match{Command: &command{Program: u.Program, Args: args, Flags: &flags{seen}, Stdin: stdin}}}
	in, ok := w.bind(&d, u.Dir, true)
	if !ok {
		return draft{}, "", false
	}
	what := ""
	if k.paths {
		roots, ok := w.patterns(w.project)
		if !ok {
			return draft{}, "", false
		}
		for _, root := range roots {
			d.match.Command.Paths = append(d.match.Command.Paths, root+"/**")
		}
		what = " on any files of the project"
	}
	if k.anything {
		what = " with any further words"
	}
	cmd := quoted(u.Argv)
	d.test.Cmd = cmd
	after := d.test
	after.Cmd, after.Expect = cmd+"; rm -rf ~", "ask"
	d.tests = []test{after}
	name := strings.Join(append([]string{u.Program}, k.args...), " ")
	with := ""
	if len(seen) > 0 {
		with = " with no flags but " + strings.Join(seen, " ")
	}
	return d, fmt.Sprintf("Run `%s`%s%s, %s", name, what, with, in), true
}
