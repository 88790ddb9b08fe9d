package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"assent/internal/hook"
)

// LoadOptions says what the files are loaded for. The zero value is good for tests.
type LoadOptions struct {
	// Home is the home directory that ~ stands for in test cases; empty: "/home/user".
	// A call brings its own.
	Home string
	// Protected are paths of assent's own that no rule may allow a touch of, beside the
	// well-known ones: the state directory, the socket, the configuration, the programs.
	Protected []string
	// SkipTests leaves the files' own tests unrun; Set.Test runs them.
	SkipTests bool
}

// Problem is something wrong in a file, with its line and column: from 1, both 0 when the file as a whole is meant.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// String reads "rules.yaml:3:5: unknown key".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	if p.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// LoadError is the error of Load: everything that was found wrong, in the order of the files.
type LoadError struct{ Problems []Problem }

func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Problems returns what Load found wrong, or nil for another error.
func Problems(err error) []Problem {
	var e *LoadError
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

// Set is the rules in force. Its zero value asks about everything.
type Set struct {
	defaults defaults
	rules    []*rule // all, in the order of the files
	notices  []Problem
	tests    []fileTests
	protect  *protection
	readlink func(string) (string, error) // nil: no links, for the tests of a file
	linkless func(string) (none, there bool)

	shadows bool // there are shadow rules

	// The rules by what they are about; shadow rules that allow stand apart.
	allows, shadowAllows, guards      index
	allowFiles, allowTools            []*rule // shadow ones among them
	guardFiles, guardTools, guardURLs []*rule
	allowScripts, guardScripts        []*rule
	denied                            []*rule // those that deny commands
	contains                          containRules
}

// Load reads, checks and compiles the sources. An error is a *LoadError; no Set is returned
// with it. Without sources the Set asks about everything.
func Load(sources []Source, o LoadOptions) (*Set, error) {
	if o.Home == "" {
		o.Home = "/home/user"
	}
	files, problems := readSources(sources)
	if len(problems) > 0 {
		return nil, &LoadError{problems}
	}
	s, err := newSet(files, o)
	if err != nil {
		return nil, err
	}
	s.readlink, s.linkless = readlink, linkless
	for _, f := range files {
		if len(f.tests) == 0 {
			continue
		}
		// A file's tests know its own rules and packs, and no disk.
		own := []*rulesFile{f}
		for _, p := range files {
			if p.source.Layer == Builtin && slices.ContainsFunc(f.use, func(w word) bool { return w.text == p.source.Name }) {
				own = append(own, p)
			}
		}
		set, err := newSet(own, o)
		if err != nil {
			return nil, err
		}
		s.tests = append(s.tests, fileTests{f.source.Name, f.tests, set, o.Home})
	}
	if o.SkipTests {
		return s, nil
	}
	for _, r := range s.Test() {
		if r.Failed != "" {
			problems = append(problems, Problem{r.File, r.Line, r.Column, r.Failed})
		}
	}
	if len(problems) > 0 {
		return nil, &LoadError{problems[:min(len(problems), maxProblems)]}
	}
	return s, nil
}

// readSources compiles the files, and after each the packs that it uses first.
func readSources(sources []Source) ([]*rulesFile, []Problem) {
	var files []*rulesFile
	var problems []Problem
	rank := []Layer{Managed, User, Assent, Repository, Builtin}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int { return slices.Index(rank, a.Layer) - slices.Index(rank, b.Layer) })
	used := map[string]bool{}
	for _, s := range sources {
		if s.Layer == "" {
			s.Layer = User
		}
		if !slices.Contains(rank, s.Layer) {
			problems = append(problems, Problem{File: s.Name, Message: fmt.Sprintf("there is no layer %q", s.Layer)})
			continue
		}
		r := &reader{file: s.Name}
		f := readFile(r, s)
		files = append(files, f)
		for _, w := range f.use {
			data, err := pack(w.text)
			switch {
			case err != nil:
				r.problem(w.at, "%v", err)
				continue
			case s.Layer == Builtin:
				r.problem(w.at, "a pack cannot use another pack")
				continue
			case s.Layer == Repository:
				f.notices = append(f.notices, Problem{s.Name, w.at.Line, w.at.Column, "a repository's file may only deny and ask: this pack is ignored"})
				continue
			case used[w.text]:
				continue
			}
			used[w.text] = true
			inner := &reader{file: w.text}
			p := readFile(inner, Source{Name: w.text, Layer: Builtin, Data: data})
			p.tests = nil // they run where the pack is made
			p.usedBy = s.Name
			problems = append(problems, inner.problems...)
			files = append(files, p)
		}
		problems = append(problems, r.problems...)
	}
	return files, problems
}

// pack returns the text of a pack that comes with assent.
func pack(name string) ([]byte, error) {
	short, ok := strings.CutPrefix(name, "builtin/")
	if ok && !strings.Contains(short, "/") {
		if data, err := packFiles.ReadFile("packs/" + short + ".yaml"); err == nil {
			return data, nil
		}
	}
	return nil, errors.New(packNotFound(name, Packs()))
}

// Packs are the names of the packs that come with assent.
func Packs() []string {
	entries, err := packFiles.ReadDir("packs")
	if err != nil { // it is part of the program
		panic(err)
	}
	var all []string
	for _, f := range entries {
		all = append(all, "builtin/"+strings.TrimSuffix(path.Base(f.Name()), ".yaml"))
	}
	return all
}

// newSet puts the rules of files together.
func newSet(files []*rulesFile, o LoadOptions) (*Set, error) {
	s := &Set{}
	var err error
	if s.protect, err = newProtection(o.Protected, o.Home); err != nil {
		return nil, fmt.Errorf("compile the paths that are always protected: %w", err)
	}
	for _, f := range files {
		s.notices = append(s.notices, f.notices...)
		s.addDefaults(f)
		for _, r := range f.rules {
			r := *r
			r.seq, r.from = len(s.rules), cmp.Or(f.usedBy, f.source.Name)
			s.rules = append(s.rules, &r)
			s.shadows = s.shadows || r.shadow
			s.addRule(&r)
		}
	}
	return s, nil
}

// Verification is for which allows people have to be verified, by the strictest file: hook.VerifyDanger and
// its like, "" for none.
func (s *Set) Verification() string { return s.defaults.verification }

// addDefaults lets the stricter default win. A repository's file cannot say how long an
// approver has, nor what people have to do to allow.
func (s *Set) addDefaults(f *rulesFile) {
	d := f.defaults
	if d.action == hook.ActionDeny || s.defaults.action == "" {
		s.defaults.action = d.action
	}
	if d.onTimeout == hook.Deny || s.defaults.onTimeout == "" {
		s.defaults.onTimeout = d.onTimeout
	}
	if s.defaults.timeout == 0 && f.source.Layer != Repository {
		s.defaults.timeout = d.timeout
	}
	if f.source.Layer != Repository {
		s.defaults.verification = hook.StricterVerification(s.defaults.verification, d.verification)
	}
}

// addRule puts a rule into the lists where Eval looks for it.
func (s *Set) addRule(r *rule) {
	m := r.match
	add := func(list *[]*rule) { *list = append(*list, r) }
	switch {
	case m.command != nil && m.command.script != nil:
		if r.guard() {
			add(&s.guardScripts)
		} else if !r.shadow {
			add(&s.allowScripts)
		}
	case m.command != nil && r.guard():
		if s.guards.add(r); r.action == hook.ActionDeny && !r.shadow {
			add(&s.denied)
		}
	case m.command != nil && r.contain && !r.shadow && m.command.open():
		s.contains.add(r)
	case m.command != nil && r.shadow:
		s.shadowAllows.add(r)
	case m.command != nil && r.contain:
		s.contains.add(r)
		s.allows.add(r)
	case m.command != nil:
		s.allows.add(r)
	case m.file != nil && r.guard():
		add(&s.guardFiles)
	case m.file != nil:
		add(&s.allowFiles)
	case m.url != nil && r.guard():
		add(&s.guardURLs)
	case r.guard():
		add(&s.guardTools)
	default:
		add(&s.allowTools)
	}
}

// Notices are things in the files that were accepted but have less effect than their author
// may think, such as allow rules in a repository's file.
func (s *Set) Notices() []Problem { return slices.Clone(s.notices) }

// Rules lists what is in force, in the order of the files.
func (s *Set) Rules() []Info {
	all := make([]Info, len(s.rules))
	for i, r := range s.rules {
		all[i] = Info{ID: r.id, File: r.file, Line: r.line, Layer: r.layer, Action: r.action, Shadow: r.shadow, rule: r}
	}
	return all
}
