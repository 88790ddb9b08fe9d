package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Settings is what one settings file says about hooks and permissions.
type Settings struct {
	Path  string
	Scope Scope
	// Err is why Claude Code does not read the file, or reads it otherwise than a person would.
	Err error
	// ReadOnly is why the file cannot be changed, nil if it can.
	ReadOnly        error
	Hooks           []Hook
	DefaultMode     string
	Ask, Allow      []string
	DisableAllHooks bool
	// Others are the names of all other settings in it, sorted: some of them start programs, too.
	Others []string
	// ManagedOnly says, of managed settings, that hooks of all others do not run.
	ManagedOnly bool
	// Plugin is the id of assent's plugin, if the file switches it on: it brings the same hooks.
	Plugin string
}

// Hook is one hook of a settings file.
type Hook struct {
	Event, Matcher string
	Words          []string // the command line; empty for hooks of other kinds
	Timeout        float64  // seconds; 0 if not set
	Ours           bool
	text           string // to tell equal ones
}

// Same reports whether Claude Code takes both for one hook, and runs it once.
func (h Hook) Same(other Hook) bool { return h.Event == other.Event && h.text == other.text }

// Survey reads the settings files that count for a session started in cwd: the person's, then
// those of the project, then the administrator's. root is the git work tree around cwd, "" if there is none: newer clients
// take its local settings in its subdirectories too. Files that are not there are left out.
func Survey(o Options, cwd, root string) []Settings {
	var all []Settings
	add := func(scope Scope, dir string) {
		if (scope == Project || scope == Local) && dir == "" {
			return
		}
		o := o
		o.Scope, o.Dir = scope, dir
		path, err := o.Path()
		if err != nil || slices.ContainsFunc(all, func(s Settings) bool { return s.Path == path }) {
			return
		}
		if s, ok := Read(path); ok {
			s.Scope = scope
			all = append(all, s)
		}
	}
	add(User, "")
	add(Project, cwd)
	add(Local, cwd)
	add(Local, root)
	add(Managed, "")
	return all
}

// Read reads one settings file; ok is false if there is none.
func Read(path string) (s Settings, ok bool) {
	s.Path = path
	t, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := target(path); err != nil && isLink(path) {
			s.Err = err
			return s, true
		}
		return s, false
	}
	if err != nil {
		s.Err = fmt.Errorf("settings file: %w", err)
		return s, true
	}
	b, err := read(t, &attributes{})
	if err == nil && b == nil {
		return s, false
	}
	s.ReadOnly = writable(t, true)
	var d *document
	if err == nil {
		d, err = parse(path, b)
	}
	if err != nil {
		s.Err = err
		return s, true
	}
	s.Err = d.strict(nil)
	s.DefaultMode, s.Ask, s.Allow = d.defaultMode(), d.askRules(), d.rulesOf("allow")
	if v := last(d.root(), "disableAllHooks"); v != nil {
		s.DisableAllHooks = string(packed(*v)) == "true"
	}
	s.Hooks, s.Others = d.all(), d.others()
	s.ManagedOnly = d.managedOnly()
	s.Plugin = d.plugin()
	return s, true
}

// others are the names of the settings that Settings has no member for, sorted.
func (d *document) others() []string {
	var names []string
	for _, m := range d.root().Members {
		name := m.Name.Value.(hujson.Literal).String()
		if !slices.Contains([]string{"$schema", "hooks", "permissions", "disableAllHooks"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pluginName is assent's name among the plugins, without the marketplace it is from.
const pluginName = "assent@"

func (d *document) plugin() string {
	v := last(d.root(), "enabledPlugins")
	if v == nil {
		return ""
	}
	o, _ := v.Value.(*hujson.Object)
	if o == nil {
		return ""
	}
	id := ""
	for _, m := range o.Members { // as a last one of equal names counts
		name := m.Name.Value.(hujson.Literal).String()
		switch {
		case !strings.HasPrefix(name, pluginName):
		case string(packed(m.Value)) == "true":
			id = name
		case name == id:
			id = ""
		}
	}
	return id
}

// all returns every hook of the document.
func (d *document) all() []Hook {
	hooks := d.hooks()
	if hooks == nil {
		return nil
	}
	var all []Hook
	for _, m := range hooks.Members {
		groups, _ := m.Value.Value.(*hujson.Array)
		if groups == nil {
			continue
		}
		for _, g := range groups.Elements {
			group, _ := g.Value.(*hujson.Object)
			handlers := handlersOf(group)
			if handlers == nil {
				continue
			}
			h := Hook{Event: m.Name.Value.(hujson.Literal).String()}
			if v := last(group, "matcher"); v != nil {
				h.Matcher = literal(*v)
			}
			for _, e := range handlers.Elements {
				h := h
				h.Words = wordsOf(e)
				h.Ours = Ours(h.Words)
				if o, ok := e.Value.(*hujson.Object); ok {
					if v := last(o, "timeout"); v != nil {
						_ = json.Unmarshal(packed(*v), &h.Timeout) // no number: not set
					}
				}
				h.text = canonical(e)
				all = append(all, h)
			}
		}
	}
	return all
}

// literal is what a string, number or word says.
func literal(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok {
		return l.String()
	}
	return ""
}

// canonical is a value's text with sorted names and no white space.
func canonical(v hujson.Value) string {
	v = v.Clone()
	v.Standardize()
	var x any
	if json.Unmarshal(v.Pack(), &x) != nil {
		return ""
	}
	b, _ := json.Marshal(x) // it came from JSON
	return string(b)
}
