package policy

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/agent/toolset"
	"assent/internal/hook"
	"assent/internal/policy/shell"
	"assent/internal/text/strictjson"
)

// scope is one call while it is evaluated.
type scope struct {
	surroundings
	call    *Call
	tool    tool.Tool // of the call
	input   []strictjson.Member
	command string
	units   []shell.Unit
	// What some unit does; the units are set once.
	inputRead, computedRead once

	scopeMemory
	secrets   []secret    // of the unit or the call that is looked at
	feared    bool        // the unit is one that a command may start, and nobody knows
	realState []string    // assent's state and the home with links resolved; filled when needed
	dir       dirFacts    // of the last unit: most commands run in one
	searched  searchedDir // of the last unit that reads all below its directory

	program     *program // named programName: that of the last unit, about which several things are asked
	programName string
	ordinary    ordinaryWords // of the unit that is looked at
	ordinaryAt  ordinaryDir   // of the last unit

	strange strangeDir // of the last git
	work    int        // steps taken; beyond maxWork nothing is allowed
	foreign bool       // work is that of repositories' rules, and other the rest; else the other way round
	other   int
	partial bool // a bound kept something from being looked at that a command may be or start: nothing is allowed
}

// once is something about all units that is found out when it is first asked for: there may be thousands,
// each of which asks.
type once struct{ known, yes bool }

func (o *once) of(look func() bool) bool {
	if !o.known {
		*o = once{true, look()}
	}
	return o.yes
}

// maxWork bounds the time for a hostile command. A step is about as long as it takes to compare
// two short texts.
const maxWork = 100_000

// spend says whether there is time left for n more steps. Without time a guard is taken to be
// meant perhaps, and an allow not at all.
func (e *scope) spend(n int) bool {
	e.work += n
	return e.work <= maxWork
}

// charge has r pay for the steps that follow. Repositories' rules have an account of their own:
// by using up the time they could otherwise soften the denials of all others.
func (e *scope) charge(r *rule) {
	if foreign := r != nil && r.layer == Repository; foreign != e.foreign {
		e.work, e.other, e.foreign = e.other, e.work, foreign
	}
}

// spendOn is spend for a comparison of a text of n bytes with patterns.
func (e *scope) spendOn(gs []glob, n int) bool {
	steps := 0
	for i := range gs {
		steps += gs[i].cost(n)
	}
	return e.spend(steps)
}

// among says whether a text matches one of the patterns of a guard.
func (e *scope) among(gs []glob, s string) truth {
	switch {
	case !e.spendOn(gs, len(s)):
		return perhaps
	case matchAny(gs, s):
		return yes
	}
	return no
}

// meets is meet within the time that is left.
func (e *scope) meets(a, b []token) bool {
	if !e.spend(20) {
		return true
	}
	met, steps := meeting(a, b)
	e.spend(steps / 8)
	return met
}

// outcome collects what the rules say while a call is evaluated.
type outcome struct {
	deny, ask *rule
	asks      []*rule // all that ask, for their timeouts
	maybe     *rule   // a rule that denies or asks and may be meant
	cut       bool    // not all that may be a command was looked at
	alike     string  // why it may be: what a part does is what it names
	allow     *rule   // the first that covered something
	saved     []string
	from      origin // of all rules that it rests on
	uncovered string // the first part that no rule allows
	why       string // a better reason for that
	refused   []Refusal
	shadow    []hook.Shadow

	contain  *rule       // a command that nothing else allows may run contained, by this one
	programs []string    // of that command
	also     containAlso // what they may have besides the project
	inside   origin      // of all rules that this rests on

	shadowAllow  *rule // the first shadow rule that was needed
	shadowMissed bool  // a part that not even shadow rules cover
}

// guard notes a rule that denies or asks and how far it is meant.
func (o *outcome) guard(r *rule, t truth) {
	switch {
	case t == no:
	case r.shadow:
		if t == yes {
			o.addShadow(r)
		}
	case t == perhaps && r.sure:
	case t != yes:
		o.maybe = first(o.maybe, r)
	case r.action == hook.ActionDeny:
		o.deny = first(o.deny, r)
	default:
		o.ask = first(o.ask, r)
		o.asks = append(o.asks, r)
	}
}

func (o *outcome) addShadow(r *rule) {
	s := hook.Shadow{Action: r.action, Rule: r.id, File: r.file}
	for _, have := range o.shadow {
		if have == s {
			return
		}
	}
	o.shadow = append(o.shadow, s)
}

// origin is where rules come from.
type origin struct {
	file  string
	mixed bool // from several files
}

func (o *origin) add(r *rule) {
	switch {
	case r == nil:
	case o.file == "":
		o.file = r.from
	case o.file != r.from:
		o.mixed = true
	}
}

// name is the file that all come from; empty: there is no such file.
func (o *origin) name() string {
	if o.mixed {
		return ""
	}
	return o.file
}

// rest notes that the allow rests on a rule.
func (o *outcome) rest(r *rule) {
	o.from.add(r)
	if r != nil && r.layer == Assent && !slices.Contains(o.saved, r.id) {
		o.saved = append(o.saved, r.id)
	}
}

// first is the rule that stands first in the files.
func first(a, b *rule) *rule {
	if a == nil || b != nil && b.seq < a.seq {
		return b
	}
	return a
}

func (o *outcome) refuse(code, why string) {
	o.refused = append(o.refused, Refusal{Code: code, Why: why})
}

// Eval says what the rules think of a call. It takes at most some milliseconds, whatever the
// input, and never panics.
func (s *Set) Eval(c Call) hook.Verdict { return s.eval(&c, false).Verdict }

// Explain is Eval with the reasons. It costs more than the answer alone.
func (s *Set) Explain(c Call) Explanation { return s.eval(&c, true) }

func (s *Set) eval(c *Call, explain bool) Explanation {
	if t := toolset.Of(c.Agent, c.Tool); t.Kind == tool.Patch && s.protect != nil {
		return s.patch(c, t, explain)
	}
	return s.evalOne(c, explain)
}

func (s *Set) evalOne(c *Call, explain bool) Explanation {
	if s.protect == nil { // the zero Set
		return Explanation{Verdict: hook.Verdict{Action: hook.ActionAsk, Reason: "no rules are loaded"}}
	}
	e := newScope()
	defer e.release()
	e.call, e.tool = c, tools.Of(c.Tool)
	e.readlink, e.linkless = e.remembered(s.readlink), s.linkless
	if c.Elsewhere {
		e.linkless = nil
		e.readlink = func(string) (string, error) { return "", os.ErrPermission }
	}
	e.cwd, e.project, e.home = clean(c.Cwd), clean(c.Project), clean(c.Home)
	if e.project == "" {
		e.project = e.cwd
	}
	o := &outcome{}
	if t := toolset.Of(c.Agent, c.Tool); t.Unsure { // what is denied of it stays denied
		e.tool = t
		o.refuse("unsure", "The agent does not say with certainty what would run.")
	}
	if c.Uninspectable {
		o.refuse("uninspectable", "The request can be read in two ways.")
	}
	var problem string
	if !utf8.Valid(c.Input) || bytes.Contains(c.Input, []byte(`\ud`)) || bytes.Contains(c.Input, []byte(`\uD`)) {
		// Readers differ in what they make of broken characters; \ud800 alone is one.
		if !utf8.Valid(c.Input) || strings.ContainsRune(decoded(c.Input), utf8.RuneError) {
			o.refuse("input", "The tool's input holds a broken character.")
		}
	}
	if e.input, problem = members(c.Input); problem != "" {
		o.refuse("input", "The tool's input "+problem+".")
	}
	var units []UnitVerdict
	if e.tool.Kind == tool.Command {
		units = s.bash(e, o, explain)
	} else {
		units = s.tool(e, o, explain)
	}
	if e.work > maxWork || e.other > maxWork || e.partial {
		o.refuse("too-much", "There is too much in it to compare.")
		o.contain = nil
	}
	v := s.verdict(o)
	v.Units = units
	if explain {
		v.Command = e.command
	}
	return v
}

// verdict turns what was found into an answer: deny beats ask beats allow.
func (s *Set) verdict(o *outcome) Explanation {
	v := Explanation{Verdict: hook.Verdict{Action: hook.ActionAsk, Shadow: o.shadow, Timeout: s.defaults.timeout, OnTimeout: s.defaults.onTimeout}, Refused: o.refused}
	from := func(r *rule) {
		v.Rule, v.File, v.Layer, v.From = r.id, r.file, r.layer, r.from
	}
	if o.shadowAllow != nil && !o.shadowMissed && len(o.refused) == 0 && o.maybe == nil && o.deny == nil && o.ask == nil {
		v.Shadow = append(v.Shadow, hook.Shadow{Action: hook.ActionAllow, Rule: o.shadowAllow.id, File: o.shadowAllow.file})
	}
	switch {
	case o.deny != nil:
		from(o.deny)
		v.Action, v.Reason = hook.ActionDeny, "a rule denies it"
		if v.Message = o.deny.message; v.Message == "" {
			v.Message = "Denied by the rule " + o.deny.id + "."
		}
		return v
	case o.ask != nil:
		from(o.ask)
		v.Reason, v.Note = "a rule wants a person to decide", o.ask.note
		for _, r := range o.asks {
			if v.Note == "" {
				v.Note = r.note
			}
		}
		s.askTimeout(&v.Verdict, o.asks)
		return v
	case o.contain != nil && (o.allow == nil || o.uncovered != "" || len(o.refused) > 0):
		shadow := v.Shadow
		v.Verdict, v.Layer = containedVerdict(o), o.contain.layer
		v.Shadow = shadow
		return v
	case len(o.refused) > 0:
		v.Reason = o.refused[0].Why
	case o.maybe != nil && o.alike != "":
		v.Reason = "the rule " + o.maybe.id + " may be meant: " + o.alike
	case o.maybe != nil:
		v.Reason = "the rule " + o.maybe.id + " may be meant: what a part is or starts is known only when it runs"
	case o.uncovered != "" && o.why != "":
		v.Reason = o.why
	case o.uncovered != "":
		v.Reason = "no rule allows " + o.uncovered
	case o.allow != nil:
		from(o.allow)
		v.Action, v.Reason = hook.ActionAllow, "a rule allows it"
		v.Saved, v.From = o.saved, o.from.name()
		return v
	default:
		v.Reason = "no rule is about it"
	}
	if s.defaults.action == hook.ActionDeny {
		v.Action = hook.ActionDeny
		v.Message = "No rule allows this, and the default is to deny."
	}
	return v
}

// askTimeout takes the earliest time and the strictest end of all rules that ask.
func (s *Set) askTimeout(v *hook.Verdict, asks []*rule) {
	standard := v.Timeout
	v.Timeout = 0
	for _, r := range asks {
		t := r.timeout
		if t == 0 || r.layer == Repository && standard != 0 && t > standard { // it may only tighten
			t = standard
		}
		if t != 0 && (v.Timeout == 0 || t < v.Timeout) {
			v.Timeout = t
		}
		switch {
		case r.onTimeout == hook.Deny:
			v.OnTimeout = hook.Deny
		case r.onTimeout == hook.Abstain && v.OnTimeout == "":
			v.OnTimeout = hook.Abstain
		}
	}
}
