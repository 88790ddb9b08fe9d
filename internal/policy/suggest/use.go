package suggest

import (
	"fmt"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// knownUse is one use of a program of which every flag and argument is known.
type knownUse struct {
	program  string
	args     []string // the words after it
	flags    []string // entries as in rules files; = at the end takes a value
	paths    bool     // all operands are paths
	anything bool     // operands are names that do no harm
}

func uses() []knownUse {
	goTest := []string{"-v", "-race", "-short", "-count=", "-run=", "-skip=", "-cover", "-failfast", "-timeout=", "-bench=", "-benchmem", "-benchtime=", "-shuffle=", "-p=", "-parallel=", "-tags=", "-x", "-n"}
	cargo := []string{"--release", "--all", "--workspace", "--all-features", "--all-targets", "--no-default-features", "--lib", "--bins", "--tests", "-q", "--quiet", "-v", "--verbose", "--locked", "--offline"}
	return []knownUse{
		{program: "mkdir", flags: []string{"-p", "-v", "--parents", "--verbose"}, paths: true},
		{program: "touch", flags: []string{"-a", "-c", "-m"}, paths: true},
		{program: "git", args: []string{"add"}, flags: []string{"-A", "-u", "-v", "-n", "-N", "--all", "--update", "--verbose", "--dry-run", "--intent-to-add"}, paths: true},
		{program: "git", args: []string{"commit"}, flags: []string{"-m=", "--message=", "-a", "--all", "-q", "--quiet", "-s", "--signoff", "-v", "--verbose"}, paths: true},
		{program: "go", args: []string{"test"}, flags: goTest, paths: true},
		{program: "go", args: []string{"vet"}, flags: []string{"-v", "-x", "-n", "-tags="}, paths: true},
		{program: "go", args: []string{"build"}, flags: []string{"-v", "-x", "-n", "-race", "-tags=", "-p="}, paths: true},
		{program: "gofmt", flags: []string{"-l", "-d", "-s", "-e", "-w"}, paths: true},
		{program: "pytest", flags: []string{"-q", "-v", "-x", "-s", "-vv", "-k=", "--lf", "--ff"}, paths: true},
		{program: "cargo", args: []string{"test"}, flags: cargo, anything: true},
		{program: "cargo", args: []string{"build"}, flags: cargo, anything: true},
		{program: "cargo", args: []string{"check"}, flags: cargo, anything: true},
	}
}

// known returns the use that a command is one of, and the words behind its arguments.
func known(u *shell.Unit) (*knownUse, []shell.Word) {
	for _, k := range uses() {
		if u.Program != k.program || len(u.Argv) <= len(k.args) {
			continue
		}
		same := true
		for i, a := range k.args {
			same = same && u.Argv[i+1].Static && u.Argv[i+1].Text == a
		}
		if same {
			return &k, u.Argv[1+len(k.args):]
		}
	}
	return nil, nil
}

// seen returns the entries for the flags among words; false if one is not known.
func (k *knownUse) seen(words []shell.Word) ([]string, bool) {
	all := []string{}
	note := func(name string) bool {
		for _, entry := range k.flags {
			if strings.TrimSuffix(entry, "=") == name {
				if !slices.Contains(all, entry) {
					all = append(all, entry)
				}
				return true
			}
		}
		return false
	}
	for _, w := range words {
		t := w.Prefix
		if w.Static && t == "--" {
			break
		}
		if len(t) < 2 || t[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(t, "=")
		if note(name) {
			continue
		}
		if t[1] == '-' {
			return nil, false
		}
		for i := 1; i < len(name); i++ { // -am is -a -m
			if !note("-" + name[i:i+1]) {
				return nil, false
			}
		}
	}
	return all, true
}

// wider is a rule for the same program doing the same to other files of the project, for the few
// programs whose arguments are known to be nothing but that.
func (ec *execContext) wider(u *shell.Unit) (draft, string, bool) {
	if ec.elsewhere || !ec.narrowProject() || !u.DirKnown || !below(ec.project, u.Dir) || len(u.Argv) == 0 {
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
	in, ok := ec.bind(&d, u.Dir, true)
	if !ok {
		return draft{}, "", false
	}
	what := ""
	if k.paths {
		roots, ok := ec.patterns(ec.project)
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
