package install

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"assent/internal/agent/claude/events"
)

// hookRef names one hook of assent in a document.
type hookRef struct {
	event          string
	member         int // of hooks
	group, handler int
	matcher        string // of the group, "" where it is for everything that happens
}

// hooks returns the object of hooks, nil if there is none that can be read.
func (d *document) hooks() *hujson.Object {
	v := last(d.root(), "hooks")
	if v == nil {
		return nil
	}
	o, _ := v.Value.(*hujson.Object)
	return o
}

// ours returns where assent's hooks stand, in the order of the file.
func ours(hooks *hujson.Object) []hookRef {
	var found []hookRef
	for i, m := range hooks.Members {
		groups, _ := m.Value.Value.(*hujson.Array)
		if groups == nil {
			continue
		}
		for j, g := range groups.Elements {
			group, _ := g.Value.(*hujson.Object)
			handlers := handlersOf(group)
			if handlers == nil {
				continue
			}
			for k, h := range handlers.Elements {
				if Ours(wordsOf(h)) {
					found = append(found, hookRef{
						event: m.Name.Value.(hujson.Literal).String(), member: i, group: j, handler: k, matcher: matcherOf(group),
					})
				}
			}
		}
	}
	return found
}

func handlersOf(group *hujson.Object) *hujson.Array {
	if group == nil {
		return nil
	}
	v := last(group, "hooks")
	if v == nil {
		return nil
	}
	a, _ := v.Value.(*hujson.Array)
	return a
}

// at returns the list of handlers that p is in.
func at(hooks *hujson.Object, p hookRef) *hujson.Array {
	groups := hooks.Members[p.member].Value.Value.(*hujson.Array)
	return handlersOf(groups.Elements[p.group].Value.(*hujson.Object))
}

// matcherOf is the pattern of a group, "" where it leaves nothing out.
func matcherOf(group *hujson.Object) string {
	v := last(group, "matcher")
	if v == nil {
		return ""
	}
	l, ok := v.Value.(hujson.Literal)
	switch {
	case !ok || l.Kind() != '"':
		return "no pattern: " + v.String()
	case l.String() == "*":
		return ""
	}
	return l.String()
}

// wordsOf is the command line of a handler.
func wordsOf(v hujson.Value) []string {
	h, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	command := last(h, "command")
	if command == nil {
		return nil
	}
	l, ok := command.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return nil
	}
	args := last(h, "args")
	if args == nil {
		return shellWords(l.String())
	}
	words := []string{l.String()}
	if a, ok := args.Value.(*hujson.Array); ok {
		for _, e := range a.Elements {
			if l, ok := e.Value.(hujson.Literal); ok {
				words = append(words, l.String())
			}
		}
	}
	return words
}

// hook makes assent's hooks be what the options say, and returns the events they are for.
func (d *document) hook(names []string, o Options) []string {
	if d.hooks() == nil {
		d.addMember(d.root(), "", "hooks", "{}")
	}
	hooks := d.hooks()
	written := slices.Clone(names)
	// A hook that is where it should be is brought up to date there; the others go.
	present := map[string]bool{}
	var gone []hookRef
	for _, p := range ours(hooks) {
		optional := p.event != "" && o.Format == nil && unwanted(p.event, o.Versions)
		fits := slices.Contains(names, p.event) && p.matcher == o.matcher(p.event) || optional
		if !fits || present[p.event] {
			gone = append(gone, p)
			continue
		}
		present[p.event] = true
		if optional {
			written = append(written, p.event)
		}
		h := &at(hooks, p).Elements[p.handler]
		if want := o.line(p.event); !sameJSON(h.Clone(), want) {
			h.Value = value(want)
		}
	}
	takeOut(hooks, gone)
	for _, name := range names {
		if present[name] {
			continue
		}
		group := `{"hooks": [` + o.line(name) + `]}`
		if m := o.matcher(name); m != "" {
			quoted, _ := json.Marshal(m) // a text
			group = `{"matcher": ` + string(quoted) + `, "hooks": [` + o.line(name) + `]}`
		}
		if v := last(hooks, name); v != nil {
			d.addElement(v.Value.(*hujson.Array), d.indent(2), group)
		} else {
			d.addMember(hooks, d.indent(1), name, "["+group+"]")
		}
	}
	return written
}

// unwanted reports whether a hook for this event is not written, but left where a person put one.
func unwanted(name string, versions []string) bool {
	return slices.ContainsFunc(events.All, func(e events.Event) bool {
		return e.Name == name && e.Unwanted != "" && known(e, versions)
	})
}

// oursOutside returns the events whose hooks of assent have to go, with the reason.
func (d *document) oursOutside(o Options, names []string) map[string]string {
	out := map[string]string{}
	hooks := d.hooks()
	if hooks == nil {
		return nil
	}
	for _, p := range ours(hooks) {
		i := slices.IndexFunc(events.All, func(e events.Event) bool { return e.Name == p.event })
		switch {
		case slices.Contains(names, p.event):
		case i < 0 || o.Format != nil:
			out[p.event] = o.agent() + " knows no such event"
		case events.All[i].Never != "":
			out[p.event] = events.All[i].Never
		case events.All[i].Unwanted == "":
			out[p.event] = "not every Claude Code that reads the file knows the event"
		}
	}
	return out
}

// flagsThatGo returns the flags of assent's hook for PermissionRequest that somebody gave it by
// hand, or an install with other options, and that will not be there any more. Where to ask and
// how long to wait are every install's own.
func (d *document) flagsThatGo(o Options) string {
	hooks := d.hooks()
	if hooks == nil || o.Format != nil {
		return ""
	}
	want := o.handler("PermissionRequest").Args
	var gone []string
	for _, p := range ours(hooks) {
		if p.event != "PermissionRequest" {
			continue
		}
		words := wordsOf(at(hooks, p).Elements[p.handler])[1:]
		for i, w := range words {
			name, value, given := strings.Cut(strings.TrimLeft(w, "-"), "=")
			if !strings.HasPrefix(w, "-") || slices.Contains([]string{"socket", "url", "timeout"}, name) || slices.Contains(want, "--"+name) {
				continue
			}
			if !given && i+1 < len(words) {
				value = words[i+1]
			}
			gone = append(gone, "--"+name+" "+value)
		}
	}
	return short(strings.Join(gone, ", "))
}

// takeOut removes the handlers at refs, in the order of the file, and the groups and
// events that are empty then.
func takeOut(hooks *hujson.Object, refs []hookRef) {
	for _, p := range slices.Backward(refs) {
		groups := hooks.Members[p.member].Value.Value.(*hujson.Array)
		handlers := at(hooks, p)
		cutElement(handlers, p.handler)
		if len(handlers.Elements) > 0 {
			continue
		}
		cutElement(groups, p.group)
		if len(groups.Elements) > 0 {
			continue
		}
		cutMember(hooks, p.member)
	}
}

// unhook takes out all that is assent's from every hooks member there is, and returns whether
// there was any.
func (d *document) unhook() bool {
	root, any := d.root(), false
	for i := range slices.Backward(root.Members) {
		if root.Members[i].Name.Value.(hujson.Literal).String() != "hooks" {
			continue
		}
		hooks, ok := root.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		found := ours(hooks)
		if len(found) == 0 {
			continue
		}
		any = true
		takeOut(hooks, found)
		if len(hooks.Members) == 0 && hooks.AfterExtra.IsStandard() {
			cutMember(root, i)
		}
	}
	return any
}

// sameJSON reports whether a value means what text means.
func sameJSON(v hujson.Value, text string) bool {
	v.Standardize()
	var x, y any
	return json.Unmarshal(v.Pack(), &x) == nil && json.Unmarshal([]byte(text), &y) == nil && reflect.DeepEqual(x, y)
}

// foreign returns the commands of other tools' hooks for an event.
func (d *document) foreign(event string) []string {
	hooks := d.hooks()
	if hooks == nil {
		return nil
	}
	v := last(hooks, event)
	if v == nil {
		return nil
	}
	groups, _ := v.Value.(*hujson.Array)
	if groups == nil {
		return nil
	}
	var names []string
	for _, g := range groups.Elements {
		group, _ := g.Value.(*hujson.Object)
		handlers := handlersOf(group)
		if handlers == nil {
			continue
		}
		for _, h := range handlers.Elements {
			words := wordsOf(h)
			switch {
			case Ours(words):
			case len(words) > 0:
				names = append(names, words[0])
			default:
				names = append(names, fmt.Sprintf("hook %d", len(names)+1))
			}
		}
	}
	return names
}
