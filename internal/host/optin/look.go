package optin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/text/show"
)

// Finding is what a look at one agent found out. With Refused it is not started.
type Finding struct {
	Name    string // project, accepted, mode, program, autoPr
	Refused bool
	Warning bool // it is started; somebody should know
	Detail  string
	Fix     string // what to do next
}

// Surroundings are what agents are looked at in.
type Surroundings struct {
	Home       string // of the person
	ManagedDir string // see install.Options
	SearchPath string
	Accepted   Accepted

	wait time.Duration // for a program's answer; 0: versionWait
}

// versionWait is how long a program may take to say its version: a prompt that was taken is not to fail because the machine is busy.
const versionWait = time.Minute

// Started is the oldest Claude Code whose stream of messages was tried.
const Started = "2.1.329"

// Startable reports whether nothing stands against starting an agent.
func Startable(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Refused })
}

// Look looks at one agent. It changes nothing, and runs the agent's program for its version if nobody else
// can have put it there.
func (s Surroundings) Look(ctx context.Context, a Agent) []Finding {
	project := a.lookProject()
	if !Startable(project) {
		return append(project, s.lookProgram(ctx, a)) // what stands in it may be anybody's
	}
	all := append(project, s.lookAccepted(a), s.lookMode(a), s.lookProgram(ctx, a))
	if a.AutoPR {
		all = append(all, s.lookAutoPR())
	}
	return all
}

// Again looks once more at what can have changed since Look, for Look takes seconds: what the project brings, and what settings
// say. It runs nothing, and is quick.
func (s Surroundings) Again(a Agent) []Finding {
	return []Finding{s.lookAccepted(a), s.lookMode(a)}
}

// lookAutoPR looks for what an agent opens pull requests with. It may have another way, so nothing is refused.
func (s Surroundings) lookAutoPR() Finding {
	for _, name := range []string{"gh", "glab"} {
		for _, dir := range filepath.SplitList(s.SearchPath) {
			if fi, err := os.Stat(filepath.Join(dir, name)); filepath.IsAbs(dir) && err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o111 != 0 {
				return Finding{Name: "autoPr", Detail: "pull requests can be opened with " + filepath.Join(dir, name)}
			}
		}
	}
	return Finding{Name: "autoPr", Warning: true, Detail: "neither gh nor glab is in PATH, with which the agent could open a pull request", Fix: "install one and log in with it, as the user who runs the host"}
}

func (a Agent) lookProject() []Finding {
	refuse := func(detail, fix string) []Finding {
		return []Finding{{Name: "project", Refused: true, Detail: detail, Fix: fix}}
	}
	const writable = "take the right to write away (chmod go-w, chown), or name a project that is yours alone"
	fi, err := os.Stat(a.Project)
	if err != nil || !fi.IsDir() {
		return refuse(a.Project+" is no directory that is there", "make it, or correct project in agents.yaml")
	}
	if err := Others(a.Project); err != nil {
		return refuse(err.Error(), writable)
	}
	if err := othersOf(a.Project); err != nil {
		return refuse(err.Error(), writable)
	}
	repo := gitrepo.Find(a.Project)
	if root := repo.Root; root != "" && root != a.Project {
		return refuse(a.Project+" is in the work tree "+root+", whose settings would count too", "name the work tree itself as project")
	}
	found, all, first := below(a.Project)
	if found > 1 {
		return refuse(fmt.Sprintf("%v, and so it is with %d more", first, found-1), writable)
	} else if found == 1 {
		return refuse(first.Error(), writable)
	}
	if !all {
		return []Finding{{Name: "project", Warning: true, Detail: fmt.Sprintf("%s: nobody else can write to the first %d files; there are more", a.Project, maxEntries)}}
	}
	if a.Worktree && repo.Root != "" && repo.Head == "" {
		return []Finding{{Name: "project", Warning: true, Detail: "no commit was found in " + a.Project + ", of which a session could get a work tree", Fix: "make one there (git commit), or write worktree: false"}}
	}
	return []Finding{{Name: "project", Detail: a.Project + ": nobody else can write to it"}}
}

// othersOf is Others of the project's repository, and all that is in it, where that stands elsewhere: what is set there counts in
// the project.
func othersOf(project string) error {
	for _, dir := range []string{gitrepo.OwnDir(project), gitrepo.CommonDir(project)} {
		if dir == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		if within(real, []string{project}) { // it is looked at with that
			continue
		}
		if err := Others(real); err != nil {
			return err
		}
		if _, _, first := below(real); first != nil {
			return first
		}
	}
	return nil
}

func (s Surroundings) lookAccepted(a Agent) Finding {
	f := Finding{Name: "accepted", Refused: true}
	b, err := Bring(a.Project, s.Home)
	if err != nil {
		f.Detail, f.Fix = "what the project has for Claude Code cannot be looked at: "+err.Error(), "fix that; only what was looked at can be accepted"
		return f
	}
	if b.Digest == "" {
		return Finding{Name: "accepted", Detail: "the project has no settings for Claude Code, so there is nothing to accept"}
	}
	ok, err := s.Accepted.Has(a.Project, b)
	switch {
	case err != nil:
		f.Detail, f.Fix = err.Error(), "see there"
	case !ok:
		f.Detail = "the project brings files for Claude Code that were not accepted as they are: " + b.summary()
		f.Fix = "assent agent accept " + a.Name
	default:
		f = Finding{Name: "accepted", Detail: "what the project brings for Claude Code was accepted as it is: " + show.Count(len(b.Files), "file")}
	}
	return f
}

// summary is a line: what settings say, or else some of the files.
func (b Brought) summary() string {
	const most = 3
	parts := slices.Clone(b.Says)
	for i, name := range b.Files {
		if i == most {
			parts = append(parts, show.Count(len(b.Files)-most, "file")+" more")
			break
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, "; ")
}

// lookMode looks at all settings that will count, for what keeps Claude Code from asking.
func (s Surroundings) lookMode(a Agent) Finding {
	f := Finding{Name: "mode", Refused: true}
	allowed := 0
	for _, x := range install.Survey(install.Options{Home: s.Home, ManagedDir: s.ManagedDir}, a.Project, "") {
		switch {
		case x.Err != nil:
			f.Detail, f.Fix = fmt.Sprintf("%s cannot be read: %v", x.Path, x.Err), "fix the file"
		case x.DefaultMode != "" && !slices.Contains(install.Modes, x.DefaultMode):
			f.Detail, f.Fix = fmt.Sprintf("%s says mode %s, in which Claude Code decides without asking", x.Path, x.DefaultMode), "set permissions.defaultMode to one of "+strings.Join(install.Modes, ", ")
		case x.DisableAllHooks:
			f.Detail, f.Fix = x.Path+" switches all hooks off, so nobody would be asked", "take disableAllHooks out"
		case x.ManagedOnly && !slices.ContainsFunc(x.Hooks, func(h install.Hook) bool { return h.Ours && h.Event == hook.EventPermissionRequest }):
			f.Detail, f.Fix = x.Path+" lets no hooks run but its own, and assent's is not among them", "see assent install --scope managed"
		default:
			allowed += len(x.Allow)
			continue
		}
		return f
	}
	if allowed > 0 {
		return Finding{Name: "mode", Warning: true, Detail: fmt.Sprintf("mode %s; settings allow %s of calls, for which nobody is asked", a.Mode, show.Count(allowed, "kind"))}
	}
	return Finding{Name: "mode", Detail: "mode " + a.Mode + ", in which Claude Code asks"}
}

func (s Surroundings) lookProgram(ctx context.Context, a Agent) Finding {
	f := Finding{Name: "program", Refused: true, Fix: "correct executor.cli in agents.yaml"}
	real, err := program(a.CLI)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	if within(a.CLI, []string{a.Project}) || within(real, []string{a.Project}) {
		f.Detail = a.CLI + " is in the project, where the agent could change it"
		f.Fix = "install Claude Code elsewhere, and name that in executor.cli"
		return f
	}
	c := s.ask(ctx, real)
	switch {
	case errors.Is(c.Err, install.ErrSlow):
		f.Detail = c.Err.Error()
		f.Fix = "the machine may be too busy, then send it again later; if it is not, run " + a.CLI + " --version there, and see whether executor.cli in agents.yaml names the right program"
	case c.Err != nil:
		f.Detail = c.Err.Error()
	case install.Older(c.Version, Started):
		f.Detail, f.Fix = fmt.Sprintf("%s is Claude Code %s, older than %s, the oldest with which this was tried", a.CLI, c.Version, Started), "update it"
	case install.Older(install.Newest, c.Version):
		f = Finding{Name: "program", Warning: true, Detail: fmt.Sprintf("%s is Claude Code %s, newer than %s, the newest that was tried", a.CLI, c.Version, install.Newest)}
	default:
		f = Finding{Name: "program", Detail: fmt.Sprintf("%s is Claude Code %s", a.CLI, c.Version)}
	}
	return f
}

// Version returns the version of an agent's program, "" where it says none, or is not asked because somebody else
// could have put it there.
func (s Surroundings) Version(ctx context.Context, a Agent) string {
	real, err := program(a.CLI)
	if err != nil {
		return ""
	}
	return s.ask(ctx, real).Version
}

func (s Surroundings) ask(ctx context.Context, real string) install.Client {
	wait := s.wait
	if wait == 0 {
		wait = versionWait
	}
	return install.Ask(ctx, wait, real, s.SearchPath, s.Home)
}

// program follows the links of a path to the program, and refuses it where somebody else could change
// any step of the way.
func program(path string) (string, error) {
	const hops = 16
	at := path
	for range hops {
		fi, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			if !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 {
				return "", errors.New(at + " is no program")
			}
			return at, Others(at)
		}
		if err := Others(filepath.Dir(at)); err != nil {
			return "", err
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = filepath.Clean(to)
	}
	return "", fmt.Errorf("%s leads through more than %d links", path, hops)
}
