// Package optin reads agents.yaml, in which the owner of a machine says which agents may be started
// there, and looks at each of them: whether somebody else could have a say in what runs. No file, no
// agent. The file stands among the user's own configuration and is never read from a repository.
package optin

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"assent/internal/agent/claude/install"
	"assent/internal/host/regular"
	"assent/internal/text/strictyaml"
)

// Bounds of the file, and of what stands in it.
const (
	maxFile     = 64 << 10 // bytes
	maxProblems = 20
	maxAgents   = 32
	maxAccept   = 64
	maxTags     = 16
	maxText     = 200 // bytes of a tag or a description
	maxPath     = 4 << 10

	// MaxSessions is how many sessions run on a machine at once, of all its agents.
	MaxSessions = 8
	maxBudget   = 1000 // USD
	minTimeout  = time.Minute
	maxTimeout  = 24 * time.Hour
)

// What an agent may spend where the file does not say.
const (
	defaultBudget  = 5 // USD
	defaultTimeout = 2 * time.Hour
)

// Agent is one place to work: a project, and the program that works in it. Its ceilings can be lowered
// by a message and never raised.
type Agent struct {
	Name        string
	Description string
	Project     string // absolute, clean
	CLI         string // absolute, clean; the program of Claude Code
	Mode        string // one of install.Modes: those in which it asks
	Worktree    bool   // each session works in a work tree of its own
	BudgetUSD   float64
	Timeout     time.Duration // of a session
	Sessions    int           // at once
	AutoPR      bool          // a message may have a pull request asked for at the end of its turn
	Tags        []string
}

// File is what agents.yaml says.
type File struct {
	Accept []string // thumbprints of the devices' keys whose orders are obeyed (auth.Thumbprint), sorted
	Agents []Agent  // sorted by name
}

// Agent returns the agent with this name.
func (f File) Agent(name string) (Agent, bool) {
	i := slices.IndexFunc(f.Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return f.Agents[i], true
}

// Problem is one mistake in the file. Line and Column count from 1.
type Problem struct {
	Line, Column int
	Message      string
}

// Mistakes is the error of a file that cannot be used. Nothing of such a file counts.
type Mistakes struct {
	Path     string
	Problems []Problem
}

func (m *Mistakes) Error() string {
	var b strings.Builder
	for i, p := range m.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", m.Path, p.Line, p.Column, p.Message)
	}
	return b.String()
}

// Read reads the file at path, an absolute one, if it is its owner's alone: nobody else can read it, or
// put another one in its place. The error is fs.ErrNotExist where there is no file, *Mistakes for what
// stands in it, and else says what to do.
func Read(path string) (File, error) {
	text, err := Own(path, maxFile)
	if err != nil {
		return File{}, err
	}
	file, problems := parse(text)
	if len(problems) > 0 {
		return File{}, &Mistakes{path, problems}
	}
	return file, nil
}

// Own reads a file at path, an absolute one, if it is this user's alone: nobody else can read it, or put another one in
// its place. A longer one than most bytes comes with one byte more. The error is fs.ErrNotExist where there is
// none, and else says what to do.
func Own(path string, most int64) ([]byte, error) {
	f, fi, err := regular.Open(path, os.O_RDONLY, regular.NoLink)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("%s is a link; put the file itself there", path)
	case errors.Is(err, regular.ErrRefused):
		return nil, fmt.Errorf("%s is no file", path)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if uid := owner(fi); uid != os.Geteuid() {
		return nil, fmt.Errorf("%s belongs to %s; it has to be your own", path, userName(uid))
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read or write %s: chmod 600 %[1]s", path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if o := Others(dir); o != nil {
		return nil, fmt.Errorf("%w, and so could replace %s", o, path)
	}
	text, err := regular.All(f, most)
	if err != nil && !errors.Is(err, regular.ErrLarge) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// parse reads the text of the file. Where there are problems nothing of it may be used.
func parse(text []byte) (File, []Problem) {
	r := &reader{}
	var f File
	doc := strictyaml.Document(text, maxFile, r.problem)
	if doc == nil {
		if len(r.problems) == 0 {
			r.problem(&yaml.Node{Line: 1, Column: 1}, "the file is empty; want the key agents, as assent agent example prints it in a project")
		}
		return File{}, r.problems
	}
	named := false
	strictyaml.Object(doc, "the file", map[string]func(*yaml.Node){
		"agents": func(n *yaml.Node) { named, f.Agents = true, r.agents(n) },
		"accept": func(n *yaml.Node) { f.Accept = r.accept(n) },
	}, r.problem)
	if !named && len(r.problems) == 0 {
		r.problem(doc, "the key agents is missing")
	}
	slices.SortFunc(f.Agents, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	return f, r.problems
}

// reader collects what is wrong.
type reader struct{ problems []Problem }

func (r *reader) problem(n *yaml.Node, format string, a ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{n.Line, n.Column, fmt.Sprintf(format, a...)})
	}
}

// namePattern is narrow because a name is a word of subjects, addresses and directories.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ValidName reports whether an agent may be called so.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// thumbprint is that of a key as RFC 7638 has it: SHA-256 in unpadded base64url.
var thumbprint = regexp.MustCompile(`^device:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$`)

// accept reads whose orders are obeyed. That is a device's key and nothing else: what holds a token of the
// broker, such as its owner, can be the broker itself.
func (r *reader) accept(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxAccept {
		r.problem(n, "accept is %s; want a list of at most %d", strictyaml.Kind(n), maxAccept)
		return nil
	}
	var all []string
	for _, c := range n.Content {
		text := r.text(c, "an entry of accept", maxText)
		print, _ := strings.CutPrefix(text, "device:")
		switch {
		case text == "":
		case !thumbprint.MatchString(text):
			r.problem(c, "accept holds %q; want device: and the thumbprint of a device's key, as assent device list prints it; neither owner nor a token can give orders to a host", strictyaml.Short(text))
		case slices.Contains(all, print):
			r.problem(c, "accept holds %s twice", text)
		default:
			all = append(all, print)
		}
	}
	slices.Sort(all)
	return all
}

func (r *reader) agents(n *yaml.Node) []Agent {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.problem(n, "expected a map of agents by their names, but got %s", strictyaml.Kind(n))
		return nil
	}
	if len(n.Content)/2 > maxAgents {
		r.problem(n, "there are more than %d agents", maxAgents)
		return nil
	}
	var all []Agent
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || !namePattern.MatchString(k.Value):
			r.problem(k, "%s is no name of an agent; want up to 63 of a-z, 0-9, - and _, such as coder", strictyaml.Kind(k))
		case slices.ContainsFunc(all, func(a Agent) bool { return a.Name == k.Value }):
			r.problem(k, "agent %q stands here twice", k.Value)
		default:
			all = append(all, r.agent(k, v))
		}
	}
	return all
}

func (r *reader) agent(name, n *yaml.Node) Agent {
	a := Agent{Name: name.Value, Mode: "default", BudgetUSD: defaultBudget, Timeout: defaultTimeout, Sessions: 1}
	ok := strictyaml.Object(n, "an agent", map[string]func(*yaml.Node){
		"description": func(n *yaml.Node) { a.Description = r.text(n, "description", maxText) },
		"project":     func(n *yaml.Node) { a.Project = r.path(n, "project") },
		"executor":    func(n *yaml.Node) { a.CLI = r.executor(n) },
		"mode":        func(n *yaml.Node) { a.Mode = r.mode(n) },
		"worktree":    func(n *yaml.Node) { a.Worktree = r.boolean(n, "worktree") },
		"budgetUsd":   func(n *yaml.Node) { a.BudgetUSD = r.number(n, "budgetUsd", 0.01, maxBudget, false) },
		"timeoutSeconds": func(n *yaml.Node) {
			a.Timeout = time.Duration(r.number(n, "timeoutSeconds", minTimeout.Seconds(), maxTimeout.Seconds(), true)) * time.Second
		},
		"sessions": func(n *yaml.Node) { a.Sessions = int(r.number(n, "sessions", 1, MaxSessions, true)) },
		"autoPr":   func(n *yaml.Node) { a.AutoPR = r.boolean(n, "autoPr") },
		"tags":     func(n *yaml.Node) { a.Tags = r.tags(n) },
	}, r.problem)
	if ok && a.AutoPR && !a.Worktree {
		r.problem(name, "agent %q has autoPr without worktree: true: what you have checked out would be pushed", a.Name)
	}
	if ok && a.Project == "" && len(r.problems) == 0 {
		r.problem(name, "agent %q has no project", a.Name)
	}
	if ok && a.CLI == "" && len(r.problems) == 0 {
		r.problem(name, "agent %q has no executor; want executor: {kind: claude, cli: /the/path/of/claude}", a.Name)
	}
	return a
}

func (r *reader) executor(n *yaml.Node) (cli string) {
	kind := ""
	ok := strictyaml.Object(n, "executor", map[string]func(*yaml.Node){
		"kind": func(n *yaml.Node) {
			if kind = r.text(n, "kind", maxText); kind != "" && kind != "claude" {
				r.problem(n, "kind is %q; this assent knows claude only", strictyaml.Short(kind))
			}
		},
		"cli": func(n *yaml.Node) { cli = r.path(n, "cli") },
	}, r.problem)
	if ok && len(r.problems) == 0 && (kind == "" || cli == "") {
		r.problem(n, "an executor has both, kind and cli")
	}
	return cli
}

func (r *reader) mode(n *yaml.Node) string {
	m := r.text(n, "mode", maxText)
	if m != "" && !slices.Contains(install.Modes, m) {
		r.problem(n, "mode is %q: in it Claude Code decides without asking; want one of %s", strictyaml.Short(m), strings.Join(install.Modes, ", "))
	}
	return m
}

func (r *reader) tags(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxTags {
		r.problem(n, "tags is %s; want a list of at most %d", strictyaml.Kind(n), maxTags)
		return nil
	}
	var all []string
	for _, c := range n.Content {
		all = append(all, r.text(c, "a tag", maxText))
	}
	return all
}

// text reads a scalar in which all can be seen; "" after a problem.
func (r *reader) text(n *yaml.Node, what string, most int) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "":
		r.problem(n, "%s is %s; want a text", what, strictyaml.Kind(n))
	case len(n.Value) > most:
		r.problem(n, "%s is longer than %d bytes", what, most)
	case strings.ContainsFunc(n.Value, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.problem(n, "%s holds a character that cannot be seen", what)
	default:
		return n.Value
	}
	return ""
}

func (r *reader) path(n *yaml.Node, what string) string {
	p := r.text(n, what, maxPath)
	if p == "" {
		return ""
	}
	if !filepath.IsAbs(p) || filepath.Clean(p) != p {
		r.problem(n, "%s is %q; want an absolute path without . and .., and without a / at its end", what, strictyaml.Short(p))
		return ""
	}
	return p
}

func (r *reader) boolean(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.problem(n, "%s is %s; want true or false", what, strictyaml.Kind(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// plainNumber is what a person takes for the number that it is: no 1_000, 0x10, .inf or 010.
var plainNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$`)

func (r *reader) number(n *yaml.Node, what string, least, most float64, whole bool) float64 {
	kind := "a number"
	if whole {
		kind = "a whole number"
	}
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float") && plainNumber.MatchString(n.Value) {
		x, err := strconv.ParseFloat(n.Value, 64)
		if err == nil && x >= least && x <= most && (!whole || x == math.Trunc(x)) {
			return x
		}
	}
	r.problem(n, "%s is %s; want %s from %v to %v", what, strictyaml.Kind(n), kind, least, most)
	return least
}
