package install

import (
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// DefaultAsk is the list offered to people who stay in auto mode: what cannot be taken back,
// leaves the machine, or becomes root. docs/hooks.md says what these rules catch and what not.
var DefaultAsk = []string{
	"Bash(rm:*)", "Bash(sudo:*)",
	"Bash(git push:*)", "Bash(git reset:*)", "Bash(git clean:*)", "Bash(gh:*)",
	"Bash(curl:*)", "Bash(wget:*)", "Bash(ssh:*)", "Bash(scp:*)", "Bash(rsync:*)",
	"Bash(npm publish:*)", "Bash(docker:*)", "Bash(kubectl:*)", "Bash(terraform:*)",
}

// changedMode is what install did to permissions.defaultMode.
type changedMode struct {
	Set string          `json:"set"`
	Was json.RawMessage `json:"was,omitempty"` // absent: there was none
}

// stillThere is m without the rules and the mode that somebody has taken out or changed since:
// if they come back, they are not install's.
func (d *document) stillThere(m memory) memory {
	there := d.askRules()
	m.Ask = slices.DeleteFunc(slices.Clone(m.Ask), func(r string) bool { return !slices.Contains(there, r) })
	if m.Mode != nil && m.Mode.Set != d.defaultMode() {
		m.Mode = nil
	}
	return m
}

// permissions returns the permissions object, nil if there is none that can be read.
func (d *document) permissions() *hujson.Object {
	v := last(d.root(), "permissions")
	if v == nil {
		return nil
	}
	o, _ := v.Value.(*hujson.Object)
	return o
}

func (d *document) makePermissions() *hujson.Object {
	if d.permissions() == nil {
		d.addMember(d.root(), "", "permissions", "{}")
	}
	return d.permissions()
}

// ask adds rules to permissions.ask and returns those that were not there.
func (d *document) ask(rules []string) []string {
	if len(rules) == 0 {
		return nil
	}
	p := d.makePermissions()
	var added []string
	for _, r := range rules {
		if slices.Contains(d.askRules(), r) {
			continue
		}
		v := last(p, "ask")
		if v == nil {
			v = d.addMember(p, d.indent(1), "ask", "[]")
		}
		d.addElement(v.Value.(*hujson.Array), d.indent(2), quote(r))
		added = append(added, r)
	}
	return added
}

// askRules returns the rules that are there.
func (d *document) askRules() []string { return d.rulesOf("ask") }

// rulesOf returns the rules in a list of permissions: allow, ask or deny.
func (d *document) rulesOf(list string) []string {
	p := d.permissions()
	if p == nil {
		return nil
	}
	v := last(p, list)
	if v == nil {
		return nil
	}
	a, _ := v.Value.(*hujson.Array)
	if a == nil {
		return nil
	}
	var rules []string
	for _, e := range a.Elements {
		if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' {
			rules = append(rules, l.String())
		}
	}
	return rules
}

// unask takes these rules out of permissions.ask again.
func (d *document) unask(rules []string) {
	p := d.permissions()
	if p == nil {
		return
	}
	v := last(p, "ask")
	if v == nil {
		return
	}
	a, _ := v.Value.(*hujson.Array)
	if a == nil {
		return
	}
	cut := false
	for i := range slices.Backward(a.Elements) {
		if l, ok := a.Elements[i].Value.(hujson.Literal); ok && l.Kind() == '"' && slices.Contains(rules, l.String()) {
			cutElement(a, i)
			cut = true
		}
	}
	if cut && len(a.Elements) == 0 && a.AfterExtra.IsStandard() {
		d.dropPermission("ask")
	}
}

// dropPermission takes a member out of permissions, and permissions when it is empty then.
func (d *document) dropPermission(name string) {
	p := d.permissions()
	cutMember(p, lastIndex(p, name))
	if len(p.Members) > 0 || !p.AfterExtra.IsStandard() {
		return
	}
	root := d.root()
	cutMember(root, lastIndex(root, "permissions"))
}

// defaultMode is permissions.defaultMode, "" if it is not set.
func (d *document) defaultMode() string {
	p := d.permissions()
	if p == nil {
		return ""
	}
	v := last(p, "defaultMode")
	if v == nil {
		return ""
	}
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return ""
	}
	return l.String()
}

// mode sets permissions.defaultMode and returns what is to be remembered: was is what an earlier
// install did.
func (d *document) mode(mode string, was *changedMode) *changedMode {
	if d.defaultMode() == mode {
		return was
	}
	p := d.makePermissions()
	changed := &changedMode{Set: mode}
	v := last(p, "defaultMode")
	if v == nil {
		d.addMember(p, d.indent(1), "defaultMode", quote(mode))
		return changed
	}
	if was != nil && d.defaultMode() == was.Set {
		changed.Was = was.Was
	} else {
		changed.Was = packed(*v)
	}
	v.Value = hujson.String(mode)
	return changed
}

// packed is the text of a value, without what stands around it.
func packed(v hujson.Value) []byte { return hujson.Value{Value: v.Value}.Pack() }

// unmode puts permissions.defaultMode back, unless somebody has changed it since.
func (d *document) unmode(m *changedMode) {
	if m == nil || d.defaultMode() != m.Set {
		return
	}
	if m.Was == nil {
		d.dropPermission("defaultMode")
		return
	}
	if was, err := hujson.Parse(m.Was); err == nil {
		last(d.permissions(), "defaultMode").Value = was.Value
	}
}
