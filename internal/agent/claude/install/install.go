// Package install writes assent's hooks into an agent's settings file, and takes them out again.
//
// The file belongs to a person, to other tools, and to the agent itself, which rewrites it when
// it likes. So every edit is made on the text: what is not assent's keeps its bytes, its order
// and its place. Install and Uninstall only plan; Plan.Apply writes, in one step or not at all.
//
// What install did is remembered in the state directory. If the file is as install left it,
// uninstall puts back the very bytes from before. If it was changed since, or the memory is
// lost, uninstall takes out what is recognizably assent's.
//
// The facts about Claude Code that this package relies on are in docs/hooks.md.
package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/internal/text/digest"
)

// Scope says whose settings are meant.
type Scope string

// The scopes of Claude Code.
const (
	User    Scope = "user"    // one person, all projects
	Project Scope = "project" // one project, shared with others
	Local   Scope = "local"   // one project, one person
	Managed Scope = "managed" // the administrator's, for everybody on a machine
)

// Options says what to write where.
type Options struct {
	Scope Scope
	// Home is the person's home directory, ConfigDir the agent's own (CLAUDE_CONFIG_DIR); empty
	// means .claude in Home. Both are for User.
	Home, ConfigDir string
	// ManagedDir is where the administrator's settings are; empty means where Claude Code looks for them.
	ManagedDir string
	// OnlyManaged, for Managed, has no hooks run but those of managed settings.
	OnlyManaged bool
	// Dir is the directory that the agent is started in, for Project and Local.
	Dir string
	// Versions are those of the agents that read the file, at least one. Only events that all
	// of them know are written.
	Versions []string
	// Command is the hook's argv; its first word is an absolute path.
	Command []string
	// CI is for runs without a person: a request that nobody answers is denied after Wait, and so
	// is one that cannot be asked. Wait 0 means CIWait.
	CI   bool
	Wait time.Duration
	// AskRules are added to permissions.ask, DefaultMode becomes permissions.defaultMode. Empty
	// leaves them alone.
	AskRules    []string
	DefaultMode string
	// Format says that the file is another agent's; nil: Claude Code's. Then Scope is User, and of the
	// rest Command and StateDir count.
	Format *Format
	// StateDir is assent's own; memory and backups go to install/ in it.
	StateDir string
}

// Note is something a person should know about a plan.
type Note struct {
	Key  string `json:"key"` // for programs; a plain word
	Text string `json:"text"`
}

// Install plans to write assent's hooks. A file that has them already is not changed; hooks of
// an older install are brought up to date where they stand.
func Install(o Options) (Plan, error) {
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	if o.Format != nil && o.Format.Whole != nil {
		return o.installWhole()
	}
	events, err := o.events()
	if err != nil {
		return Plan{}, err
	}
	p, old, err := o.open()
	if err != nil {
		return Plan{}, err
	}
	if err := o.edit(&p, old, events); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// edit works out the text after an install, from the text before and what is remembered.
func (o Options) edit(p *Plan, old memory, events []string) error {
	doc, err := parseFor(o.agent(), p.Path, p.Before)
	if err == nil {
		err = doc.strict(o.Format)
	}
	if err != nil {
		return err
	}
	old = doc.stillThere(old)
	was, ok, err := old.cleaned(o.agent(), p.Path, p.Before)
	if err != nil {
		return err
	}
	m := memory{Path: p.Target, Before: was, Created: !ok, MadeDir: p.madeDir || old.MadeDir && !ok}
	// What somebody has undone by hand since is no longer ours to undo.
	for _, r := range old.Ask {
		if slices.Contains(doc.askRules(), r) {
			m.Ask = append(m.Ask, r)
		}
	}
	if old.Mode != nil && doc.defaultMode() == old.Mode.Set {
		m.Mode = old.Mode
	}
	p.Notes = doc.notes(o, *p, events)
	p.Events = doc.hook(events, o)
	m.Ask = append(m.Ask, doc.ask(o.AskRules)...)
	if o.DefaultMode != "" {
		m.Mode = doc.mode(modeName(o.DefaultMode), m.Mode)
	}
	m.Only = old.Only && doc.managedOnly()
	if o.OnlyManaged {
		added, err := doc.only()
		if err != nil {
			return err
		}
		m.Only = m.Only || added
	}
	p.After = doc.bytes()
	m.After = digest.Of(p.After)
	p.memory = &m
	return nil
}

// Uninstall plans to take out what is assent's. Of the options it needs Scope, Home, ConfigDir,
// Dir, Format and StateDir.
func Uninstall(o Options) (Plan, error) {
	if o.Format != nil && o.Format.Whole != nil {
		return o.uninstallWhole()
	}
	p, m, err := o.open()
	if err != nil {
		return Plan{}, err
	}
	after, ok, err := m.cleaned(o.agent(), p.Path, p.Before)
	if err != nil {
		return Plan{}, err
	}
	if ok {
		p.After = after
	}
	p.madeDir = m.MadeDir
	return p, nil
}

// check says what is wrong with the options.
func (o Options) check() error {
	if len(o.Versions) == 0 && o.Format == nil {
		return errors.New("install hooks: the version of the agent is not known")
	}
	if len(o.Command) == 0 || !filepath.IsAbs(o.Command[0]) {
		return fmt.Errorf("install hooks: the hook's program %q must be an absolute path", strings.Join(o.Command, " "))
	}
	if !Ours(o.Command) {
		return fmt.Errorf("install hooks: %q is not assent-hook, assent-hook-strict or assent hook, so uninstall would not find it", strings.Join(o.Command, " "))
	}
	if o.OnlyManaged && o.Scope != Managed {
		return errOnly
	}
	if o.DefaultMode != "" && !slices.Contains(Modes, o.DefaultMode) {
		return fmt.Errorf("install hooks: mode %q: want one of %s; in others assent is hardly asked", o.DefaultMode, strings.Join(Modes, ", "))
	}
	return nil
}
