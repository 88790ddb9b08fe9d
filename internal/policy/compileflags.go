package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

func (c *compiler) flags(n *yaml.Node, programs []string, guard bool) *flagRules {
	f := &flagRules{}
	if n.Kind == yaml.ScalarNode {
		c.oneOf(n, "flags", "any")
		f.any = true
		return f
	}
	set := func(dst **flagSet) func(*yaml.Node) {
		return func(n *yaml.Node) {
			var entries []string
			words := c.list(n, "flags")
			for _, w := range words {
				if _, err := newFlagSet([]string{w.text}, nil); err != nil {
					c.problem(w.at, "%v", err)
					return
				}
				entries = append(entries, w.text)
			}
			*dst, _ = newFlagSet(entries, programs)
			(*dst).strict = c.out.source.Layer == Builtin
		}
	}
	var hasNode, valuesNode *yaml.Node
	ok := c.object(n, "flags (or the word any)", map[string]func(*yaml.Node){
		"only": set(&f.only), "before": set(&f.before),
		"has":    func(n *yaml.Node) { hasNode = n; set(&f.has)(n) },
		"values": func(n *yaml.Node) { valuesNode = n },
		"names":  func(n *yaml.Node) { c.oneOf(n, "names", "any"); f.names = true },
	})
	if f.names && (guard || f.only == nil) {
		c.problem(n, "names is for rules that allow, beside only")
	}
	if valuesNode != nil {
		c.flagValues(valuesNode, f, guard)
	}
	if ok && len(n.Content) == 0 {
		c.problem(n, "flags is empty, expected only, before, values, names, has, or the word any")
	}
	if hasNode != nil && !guard {
		c.problem(hasNode, "has is for rules that deny or ask; a rule that allows lists all its flags with only")
	}
	if f.before != nil && f.only == nil && !guard {
		c.problem(n, "before needs only beside it")
	}
	return f
}

// verbs reads operations: {"s3api": [list-buckets], "": [help]}.
func (c *compiler) verbs(n *yaml.Node) *verbs {
	v := &verbs{names: map[string]bool{}}
	if n.Kind != yaml.MappingNode {
		c.problem(n, "expected groups with their operations, such as {compute instances: [list, describe]}, but got %s", kindOf(n))
		return v
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		group := word{at: n.Content[i]}
		if n.Content[i].Value != "" {
			group, _ = c.text(n.Content[i], "the words in front of an operation")
		}
		for _, w := range c.texts(n.Content[i+1], "an operation") {
			name := strings.TrimSpace(group.text + " " + w.text)
			words := strings.Fields(name)
			switch {
			case strings.Join(words, " ") != name || strings.ContainsAny(name, "*") || strings.HasPrefix(name, "-"):
				c.problem(w.at, "%q is no operation, expected plain words", short(name))
			case v.names[name]:
				c.problem(w.at, "the operation %q stands here twice", short(name))
			}
			v.names[name] = true
			v.most = max(v.most, len(words))
		}
	}
	return v
}

// flagValues reads the shapes of the values of flags that stand in only or before.
func (c *compiler) flagValues(n *yaml.Node, f *flagRules, guard bool) {
	if n.Kind != yaml.MappingNode {
		c.problem(n, "expected flags with the shapes of their values, such as {--limit=: \"re:[0-9]+\"}, but got %s", kindOf(n))
		return
	}
	if f.only == nil || guard {
		c.problem(n, "values is for rules that allow, beside only")
		return
	}
	shapes := map[string][]glob{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		for _, k := range c.texts(n.Content[i], "a flag, or * for all others") {
			name := strings.TrimSuffix(strings.TrimSuffix(k.text, "="), "[=]")
			if _, twice := shapes[name]; twice {
				c.problem(k.at, "key %q stands here twice", short(k.text))
			}
			if name != "*" && !f.only.takesValue(name) && (f.before == nil || !f.before.takesValue(name)) {
				c.problem(k.at, "%q is no flag of only or before that takes a value", short(k.text))
			}
			shapes[name] = c.globs(n.Content[i+1], "the shape of a value")
		}
	}
	f.only.values = shapes
	if f.before != nil {
		f.before.values = shapes
	}
}

// takesValue says whether a flag of the list may have a value.
func (set *flagSet) takesValue(name string) bool {
	if len(name) == 2 && name[0] == '-' && name[1] < 128 {
		return set.short[name[1]] > noValue
	}
	return set.long[name] > noValue
}
