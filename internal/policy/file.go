package policy

import (
	"fmt"
	"strings"
	"time"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"

	"go.yaml.in/yaml/v3"
)

// rule is one compiled rule.
type rule struct {
	id     string
	file   string
	from   string // the file, or of a pack the one that uses it first
	layer  Layer  // of the file, or Builtin
	line   int
	action hook.Action
	shadow bool
	sure   bool // a guard that counts only where it is certain to be meant
	// contain: its programs may also run contained. Unless the rule lists what flags they may have, it
	// allows them no other way.
	contain bool
	also    containAlso
	// quietPack: the rule's pack opens no connection.
	quietPack bool
	seq       int // the order of the files, and of rules in them

	message, note string
	timeout       time.Duration
	onTimeout     hook.Fallback
	match         *match
	spec          string    // of a rule string: its text
	texts         ruleTexts // of another one's file, which has it at nth
	nth           int
	column        int
}

func (r *rule) guard() bool { return r.action != hook.ActionAllow }

// defaults are what holds where no rule says otherwise.
type defaults struct {
	action    hook.Action // "", ask or deny
	timeout   time.Duration
	onTimeout hook.Fallback
	// verification is for which allows people have to be verified.
	verification string
}

// rulesFile is one file, read and compiled.
type rulesFile struct {
	source   Source
	usedBy   string // of a pack: the file that uses it first
	defaults defaults
	use      []word
	rules    []*rule
	tests    []testCase
	notices  []Problem
}

// readFile compiles one file. What is wrong is in r.problems.
func readFile(r *reader, s Source) *rulesFile {
	f := &rulesFile{source: s}
	most := maxFile
	if s.Layer == Repository {
		most = maxForeign
	}
	doc := r.document(s.Data, most)
	if doc == nil {
		return f
	}
	c := &compiler{reader: r, out: f, ids: map[string]int{}}
	version := false
	r.object(doc, "a rules file", map[string]func(*yaml.Node){
		"version": func(n *yaml.Node) {
			version = true
			if w, ok := r.text(n, "the version"); ok && w.text != "1" {
				r.problem(n, "version is %q, expected 1", short(w.text))
			}
		},
		"defaults": c.defaults,
		"connects": func(n *yaml.Node) { c.connects(n) },
		"use":      func(n *yaml.Node) { f.use = r.list(n, "packs, such as builtin/readonly@1") },
		"allow":    func(n *yaml.Node) { c.strings(n, hook.ActionAllow) },
		"ask":      func(n *yaml.Node) { c.strings(n, hook.ActionAsk) },
		"deny":     func(n *yaml.Node) { c.strings(n, hook.ActionDeny) },
		"rules":    c.rules,
		"tests":    c.tests,
	})
	if !version && len(r.problems) == 0 {
		r.problem(doc, "the key version is missing, expected version: 1")
	}
	if s.Layer == Builtin && c.opens == nil && len(r.problems) == 0 {
		r.problem(doc, "a pack says whether its commands may open a connection, expected connects: true or connects: false")
	}
	for _, rule := range f.rules {
		rule.quietPack = c.opens != nil && !*c.opens
	}
	return f
}

// connects reads whether the commands of a pack may open a connection. Of one that says no, no rule allows a path
// that may name another machine. Only packs say it: of other files it would promise what nothing keeps.
func (c *compiler) connects(n *yaml.Node) {
	if c.out.source.Layer != Builtin {
		c.problem(n, "only packs that come with assent say connects; take the line out")
		return
	}
	opens := c.boolean(n, "connects")
	c.opens = &opens
}

// compiler turns the nodes of one file into rules.
type compiler struct {
	*reader
	out *rulesFile
	ids map[string]int // id to line
	// opens is what a pack says of connections, nil if nothing.
	opens *bool
	// size is that of all regular expressions, in instructions.
	size int
}

func (c *compiler) defaults(n *yaml.Node) {
	d := &c.out.defaults
	c.object(n, "defaults", map[string]func(*yaml.Node){
		"action": func(n *yaml.Node) {
			d.action = hook.Action(c.oneOf(n, "the default action", string(hook.ActionAsk), string(hook.ActionDeny)))
		},
		"timeout":    func(n *yaml.Node) { d.timeout = c.duration(n, "timeout") },
		"on_timeout": func(n *yaml.Node) { d.onTimeout = c.onTimeout(n) },
		"verification": func(n *yaml.Node) {
			d.verification = c.oneOf(n, "verification", hook.VerifyDanger, hook.VerifyAlways)
			if c.out.source.Layer == Repository {
				c.out.notices = append(c.out.notices, Problem{c.file, n.Line, n.Column, "a repository's file cannot say whom people's devices verify: this is ignored"})
			}
		},
	})
}

func (c *compiler) onTimeout(n *yaml.Node) hook.Fallback {
	return hook.Fallback(c.oneOf(n, "on_timeout", string(hook.Abstain), string(hook.Deny)))
}

// add appends a rule, unless the file's layer must not have it.
func (c *compiler) add(r *rule, at *yaml.Node) {
	r.file, r.layer, r.line, r.column = c.file, c.out.source.Layer, at.Line, at.Column
	if r.action == hook.ActionAllow && r.layer == Repository {
		c.out.notices = append(c.out.notices, Problem{c.file, at.Line, at.Column, "a repository's file may only deny and ask: this allow is ignored"})
		return
	}
	c.out.rules = append(c.out.rules, r)
}

func (c *compiler) strings(n *yaml.Node, a hook.Action) {
	for _, w := range c.list(n, "rule strings, such as Bash(npm test:*)") {
		if len(w.text) > maxWords && c.out.source.Layer == Repository {
			c.problem(w.at, "the rule string has %d bytes, more than %d", len(w.text), maxWords)
			continue
		}
		if tool, _, _ := strings.Cut(w.text, "("); toolName.MatchString(tool) {
			c.noteTool(word{tool, w.at}, a != hook.ActionAllow)
		}
		m, err := readRuleString(w.text, c.out.source.Dir, a != hook.ActionAllow)
		if err != nil {
			c.problem(w.at, "rule string %q: %v", short(w.text), err)
			continue
		}
		if a == hook.ActionAllow && m.command != nil && m.command.script != nil && !m.command.script.exact {
			c.out.notices = append(c.out.notices, Problem{c.file, w.at.Line, w.at.Column, "this allow never matches: beside |, ;, $( ) and the like, * is not read; write a rule for each command"})
		}
		c.add(&rule{id: w.text, spec: w.text, action: a, match: m}, w.at)
	}
}

// noteTool says that no tool of a name is known: that of another agent, perhaps; or that a rule allows nothing.
func (c *compiler) noteTool(w word, guard bool) {
	if !guard && tools.Of(w.text).Runs {
		c.out.notices = append(c.out.notices, Problem{c.file, w.at.Line, w.at.Column, fmt.Sprintf("%s runs any command, so that no rule allows it by its name alone; this one allows nothing", w.text)})
	}
	if unknownTool(w.text) && toolMistake(w.text) == nil {
		c.out.notices = append(c.out.notices, Problem{c.file, w.at.Line, w.at.Column, fmt.Sprintf("no tool named %q is known here; the rule holds for one of exactly this name", short(w.text))})
	}
}

func (c *compiler) rules(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		c.problem(n, "expected a list of rules, but got %s", kindOf(n))
		return
	}
	texts := textsOf(c.out.source.Data)
	for i, item := range n.Content {
		c.rule(item, texts, i)
	}
}

// rule reads one rule, which is the nth of its file.
func (c *compiler) rule(n *yaml.Node, texts ruleTexts, nth int) {
	r := &rule{texts: texts, nth: nth}
	before := len(c.problems)
	var matchNode, messageNode, noteNode, timeoutNode, certainNode, containNode *yaml.Node
	ok := c.object(n, "a rule", map[string]func(*yaml.Node){
		"id": func(n *yaml.Node) {
			w, _ := c.text(n, "an id")
			r.id = w.text
			if line, twice := c.ids[r.id]; twice && r.id != "" {
				c.problem(n, "the id %q stands in line %d already; every rule needs its own", short(r.id), line)
			}
			c.ids[r.id] = n.Line
		},
		"action": func(n *yaml.Node) {
			r.action = hook.Action(c.oneOf(n, "the action", string(hook.ActionAllow), string(hook.ActionAsk), string(hook.ActionDeny)))
		},
		"shadow":  func(n *yaml.Node) { r.shadow = c.boolean(n, "shadow") },
		"certain": func(n *yaml.Node) { r.sure, certainNode = c.boolean(n, "certain"), n },
		"contain": func(n *yaml.Node) { r.contain, containNode = c.contain(n, &r.also), n },
		"message": func(n *yaml.Node) {
			w, _ := c.text(n, "a message for the agent")
			r.message, messageNode = w.text, n
		},
		"note": func(n *yaml.Node) {
			w, _ := c.text(n, "a note for the approver")
			r.note, noteNode = w.text, n
		},
		"timeout":    func(n *yaml.Node) { r.timeout, timeoutNode = c.duration(n, "timeout"), n },
		"on_timeout": func(n *yaml.Node) { r.onTimeout, timeoutNode = c.onTimeout(n), n },
		"match":      func(n *yaml.Node) { matchNode = n },
	})
	if !ok {
		return
	}
	switch {
	case r.id == "" && len(c.problems) == before:
		c.problem(n, "the key id is missing: every rule needs a name of its own")
	case r.action == "" && len(c.problems) == before:
		c.problem(n, "the key action is missing, expected allow, ask or deny")
	case matchNode == nil:
		c.problem(n, "the key match is missing: it says what the rule is about")
	}
	for _, s := range []string{r.id, r.message, r.note} {
		if len(s) > maxWords {
			c.problem(n, "an id, a message or a note has %d bytes, more than %d", len(s), maxWords)
		}
	}
	if messageNode != nil && r.action != hook.ActionDeny && r.action != "" {
		c.problem(messageNode, "message is what the agent reads of a deny; this rule says %s", r.action)
	}
	if noteNode != nil && r.action != hook.ActionAsk && r.action != "" {
		c.problem(noteNode, "note is what the approver reads of an ask; this rule says %s", r.action)
	}
	if timeoutNode != nil && r.action != hook.ActionAsk && r.action != "" {
		c.problem(timeoutNode, "timeout and on_timeout are for an ask; this rule says %s", r.action)
	}
	if certainNode != nil && r.action == hook.ActionAllow {
		c.problem(certainNode, "certain is for rules that deny or ask; one that allows always is")
	}
	if containNode != nil && r.action != hook.ActionAllow && r.action != "" {
		c.problem(containNode, "contain is for rules that allow; this rule says %s", r.action)
	}
	if matchNode == nil || r.action == "" {
		return
	}
	r.match = c.match(matchNode, r.action != hook.ActionAllow)
	if r.match.file != nil {
		r.match.file.sure = r.sure
	}
	if containNode != nil && len(c.problems) == before && r.match.command == nil {
		c.problem(containNode, "contain is for rules about a command")
	}
	if len(c.problems) == before {
		c.add(r, n)
	}
}
