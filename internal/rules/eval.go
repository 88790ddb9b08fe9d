package rules

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/shell"
)

// scope is one call while it is evaluated.
type scope struct {
	surroundings
	call    *Call
	input   []member
	command string
	units   []shell.Unit

	operands []shell.Word     // scratch
	places   map[string]place // paths that were resolved, with their directory
	work     int              // steps taken; beyond maxWork nothing is allowed
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

// place remembers what it resolved.
func (e *scope) place(dir, text string) (place, bool) {
	if strings.IndexByte(text, 0) >= 0 {
		return place{}, false
	}
	key := text
	if !strings.HasPrefix(text, "/") {
		key = dir + "\x00" + text
	}
	if at, ok := e.places[key]; ok {
		return at, at.spelled != ""
	}
	at, ok := e.surroundings.place(dir, text)
	if e.places == nil {
		e.places = map[string]place{}
	}
	e.places[key] = at
	return at, ok
}

// outcome collects what the rules say while a call is evaluated.
type outcome struct {
	deny, ask *rule
	asks      []*rule // all that ask, for their timeouts
	maybe     *rule   // a rule that denies or asks and may be meant
	allow     *rule   // the first that covered something
	uncovered string  // the first part that no rule allows
	refused   []Refusal
	shadow    []Shadow

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
	case t == perhaps:
		o.maybe = first(o.maybe, r)
	case r.action == Deny:
		o.deny = first(o.deny, r)
	default:
		o.ask = first(o.ask, r)
		o.asks = append(o.asks, r)
	}
}

func (o *outcome) addShadow(r *rule) {
	s := Shadow{r.id, r.file, r.action}
	for _, have := range o.shadow {
		if have == s {
			return
		}
	}
	o.shadow = append(o.shadow, s)
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
func (s *Set) Eval(c Call) Verdict { return s.eval(&c, false) }

// Explain is Eval with Units filled in.
func (s *Set) Explain(c Call) Verdict { return s.eval(&c, true) }

func (s *Set) eval(c *Call, explain bool) Verdict {
	if s.protect == nil { // the zero Set
		return Verdict{Action: Ask, Reason: "no rules are loaded"}
	}
	e := &scope{call: c}
	e.readlink = s.readlink
	if c.Elsewhere {
		e.readlink = func(string) (string, error) { return "", os.ErrPermission }
	}
	e.cwd, e.project, e.home = clean(c.Cwd), clean(c.Project), clean(c.Home)
	if e.project == "" {
		e.project = e.cwd
	}
	o := &outcome{}
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
	if c.Tool == "Bash" {
		units = s.bash(e, o, explain)
	} else {
		units = s.tool(e, o, explain)
	}
	v := s.verdict(c, o)
	v.Units = units
	if explain {
		v.Command = e.command
	}
	return v
}

// decoded is all text of a JSON value, with its escapes resolved.
func decoded(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(utf8.RuneError)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(utf8.RuneError)
	}
	return strings.ReplaceAll(string(b), `\ufffd`, string(utf8.RuneError))
}

// member is one member of a tool's input.
type member struct {
	key   string
	value json.RawMessage
}

// maxMembers is how many members an input may have.
const maxMembers = 100

// members reads a JSON object with exact keys. A key that stands there twice, or with a
// difference of case only, is a problem: readers differ in which one they take. The first one
// is kept then, so that rules that deny see something.
func members(raw json.RawMessage) ([]member, string) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, "is missing"
	case !json.Valid(raw):
		return nil, "is not JSON"
	case raw[0] != '{':
		return nil, "is no JSON object"
	}
	// From here on the text is known to be JSON: strings end, and brackets are in pairs.
	var all []member
	problem := ""
	for i := 1; ; {
		i += space(raw[i:])
		if raw[i] == '}' {
			return all, problem
		}
		if raw[i] == ',' {
			i++
			i += space(raw[i:])
		}
		n := valueLength(raw[i:])
		key := text(raw[i : i+n])
		i += n
		i += space(raw[i:]) + 1 // the colon
		i += space(raw[i:])
		n = valueLength(raw[i:])
		twice := slices.ContainsFunc(all, func(m member) bool { return strings.EqualFold(m.key, key) })
		if twice {
			problem = "has the member " + quote(key) + " twice"
		}
		if len(all) == maxMembers {
			return all, "has too many members"
		}
		if !twice || !slices.ContainsFunc(all, func(m member) bool { return m.key == key }) {
			all = append(all, member{key, raw[i : i+n]})
		}
		i += n
	}
}

func space(raw []byte) int {
	i := 0
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueLength is the length of the value at the start of a text that is known to be JSON.
func valueLength(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// text decodes a JSON string that is known to be one.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(utf8.RuneError)
	}
	return s
}

// member returns the value of a member, nil when there is none.
func (e *scope) member(key string) json.RawMessage {
	for i := range e.input {
		if e.input[i].key == key {
			return e.input[i].value
		}
	}
	return nil
}

// text returns a member that is a text.
func (e *scope) text(key string) (string, bool) {
	raw := e.member(key)
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return text(raw), true
}

// verdict turns what was found into an answer: deny beats ask beats allow.
func (s *Set) verdict(c *Call, o *outcome) Verdict {
	v := Verdict{Action: Ask, Shadow: o.shadow, Refused: o.refused, Timeout: s.defaults.timeout, OnTimeout: s.defaults.onTimeout}
	from := func(r *rule) {
		v.Rule, v.File, v.Layer = r.id, r.file, r.layer
	}
	if o.shadowAllow != nil && !o.shadowMissed && len(o.refused) == 0 && o.maybe == nil && o.deny == nil && o.ask == nil {
		v.Shadow = append(v.Shadow, Shadow{o.shadowAllow.id, o.shadowAllow.file, Allow})
	}
	switch {
	case o.deny != nil:
		from(o.deny)
		v.Action, v.Reason = Deny, "a rule denies it"
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
		s.askTimeout(&v, o.asks)
		return v
	case len(o.refused) > 0:
		v.Reason = o.refused[0].Why
	case o.maybe != nil:
		v.Reason = "the rule " + o.maybe.id + " may be meant: a part is known only when it runs"
	case o.uncovered != "":
		v.Reason = "no rule allows " + o.uncovered
	case o.allow != nil:
		from(o.allow)
		v.Action, v.Reason = Allow, "a rule allows it"
		return v
	default:
		v.Reason = "no rule is about it"
	}
	if s.defaults.action == Deny {
		v.Action = Deny
		v.Message = "No rule allows this, and the default is to deny."
	}
	return v
}

// askTimeout takes the earliest time and the strictest end of all rules that ask.
func (s *Set) askTimeout(v *Verdict, asks []*rule) {
	timeout := v.Timeout
	v.Timeout = 0
	for _, r := range asks {
		t := r.timeout
		if t == 0 || r.layer == Repository && timeout != 0 {
			t = min(max(t, 0), timeout)
			if t == 0 {
				t = timeout
			}
		}
		if t != 0 && (v.Timeout == 0 || t < v.Timeout) {
			v.Timeout = t
		}
		switch {
		case r.onTimeout == "deny":
			v.OnTimeout = "deny"
		case r.onTimeout == "abstain" && v.OnTimeout == "":
			v.OnTimeout = "abstain"
		}
	}
}

// bashMembers are the members of the Bash tool's input whose meaning is known. Any other one
// could change what runs.
func knownBashMember(key string) bool {
	switch key {
	case "command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox":
		return true
	}
	return false
}

// bash evaluates a shell command.
func (s *Set) bash(e *scope, o *outcome, explain bool) []UnitVerdict {
	command, ok := e.text("command")
	if !ok {
		o.refuse("input", "The command is missing or is not a text.")
	}
	for _, m := range e.input {
		if !knownBashMember(m.key) {
			o.refuse("input", "The input has the member "+quote(m.key)+", whose meaning is not known.")
		} else if m.key == "dangerouslyDisableSandbox" && string(m.value) != "false" {
			o.refuse("sandbox", "The command asks to run outside the agent's sandbox.")
		}
	}
	e.command = command
	script := shell.Read(command, shell.Options{Dir: e.cwd, Home: e.home, Project: e.project, Zsh: e.call.Shell != "bash"})
	e.units = script.Units
	for _, d := range script.Doubts {
		o.refused = append(o.refused, Refusal{d.Code, d.Start, d.End, d.Why})
	}
	s.wholeCommand(e, o)

	covered := make([]*rule, len(script.Units))
	shadowed := covered
	if s.shadows {
		shadowed = make([]*rule, len(script.Units))
	}
	var units []UnitVerdict
	if explain {
		units = make([]UnitVerdict, len(script.Units))
	}
	for i := range script.Units {
		u := &script.Units[i]
		var own outcome
		s.unitGuards(u, e, &own)
		for _, r := range own.asks {
			o.guard(r, yes)
		}
		if own.deny != nil {
			o.guard(own.deny, yes)
		}
		if own.maybe != nil {
			o.guard(own.maybe, perhaps)
		}
		for _, sh := range own.shadow {
			o.shadow = append(o.shadow, sh)
		}
		if why := s.protect.touchedBy(u, e); why != "" {
			own.refused = append(own.refused, Refusal{"self", u.Start, u.End, why})
			o.refused = append(o.refused, own.refused...)
		}
		if u.Kind == shell.Command && !u.DenyOnly {
			var shadow *rule
			if covered[i], shadow = s.commandAllowed(u, e); s.shadows {
				shadowed[i] = shadow
			}
		}
		if explain {
			units[i] = s.explainUnit(u, e, &own, covered[i])
		}
	}
	if e.work > maxWork {
		o.refuse("too-much", "There is too much in it to compare.")
	}
	// Files after commands: a command's rule may permit its redirections.
	commands := 0
	for i := range script.Units {
		u := &script.Units[i]
		if u.DenyOnly {
			continue
		}
		switch u.Kind {
		case shell.Command:
			commands++
		case shell.Write, shell.ReadFile:
			var shadow *rule
			if covered[i], shadow = s.fileCovered(u, e, covered, shadowed); s.shadows {
				shadowed[i] = shadow
			}
		case shell.Assign:
			continue // harmless by itself, or there is a doubt
		}
		o.allow = first(o.allow, covered[i])
		if covered[i] == nil {
			if o.uncovered == "" {
				o.uncovered = quote(unitText(u))
			}
			if shadowed[i] == nil {
				o.shadowMissed = true
			}
			o.shadowAllow = first(o.shadowAllow, shadowed[i])
		}
		if explain && (u.Kind == shell.Write || u.Kind == shell.ReadFile) {
			var command *rule
			if u.Of >= 0 && u.Of < len(covered) {
				command = covered[u.Of]
			}
			s.explainFile(&units[i], u, covered[i], command)
		}
	}
	if r := s.scriptAllowed(e); r != nil && commands > 0 {
		o.allow, o.uncovered = first(o.allow, r), ""
	}
	return units
}

// wholeCommand asks the rules that are written with shell syntax in them, and those about the
// tool.
func (s *Set) wholeCommand(e *scope, o *outcome) {
	for _, r := range s.guardScripts {
		if r.match.command.script.match(e.command) {
			t, _ := r.match.circumstances(e, e.cwd, true, true)
			o.guard(r, t)
		}
	}
	s.toolGuards(e, o)
}

// scriptAllowed finds a rule string with shell syntax in it that is exactly the command.
func (s *Set) scriptAllowed(e *scope) *rule {
	for _, r := range s.allowScripts {
		if r.match.cwd == nil && !e.inPlace(e.cwd, true) {
			continue
		}
		if ok, _ := r.match.command.allows(nil, e); ok {
			if t, _ := r.match.circumstances(e, e.cwd, true, false); t == yes {
				return r
			}
		}
	}
	return nil
}

// unitGuards asks every rule that denies or asks about one unit.
func (s *Set) unitGuards(u *shell.Unit, e *scope, o *outcome) {
	if u.Kind == shell.Command {
		s.guards.guards(u, func(r *rule) bool {
			t := r.match.command.guards(u, e)
			if t != no {
				c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
				t = t.and(c)
			}
			o.guard(r, t)
			return true
		})
	}
	for _, r := range s.guardFiles {
		t := r.match.file.guardsUnit(u, e)
		if t != no {
			c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
			t = t.and(c)
		}
		o.guard(r, t)
	}
}

// guardsUnit says whether a rule about files is meant by a part of a command.
func (m *fileMatch) guardsUnit(u *shell.Unit, e *scope) truth {
	switch u.Kind {
	case shell.Write, shell.ReadFile:
		op := opWrite
		if u.Kind == shell.ReadFile {
			op = opRead
		}
		return m.guardsWord(u.Path, op, u, e)
	case shell.Command:
		found := no
		for _, op := range []operation{opRead, opEdit} {
			if m.ops&op == 0 && (op != opEdit || m.ops&opWrite == 0) {
				continue
			}
			certain := fileProgram(u.Base, op)
			if certain == no {
				continue
			}
			for _, w := range u.Argv[min(1, len(u.Argv)):] {
				found = found.or(certain.and(m.guardsWord(w, op, u, e)))
			}
		}
		return found
	}
	return no
}

func (m *fileMatch) guardsWord(w shell.Word, op operation, u *shell.Unit, e *scope) truth {
	changes := m.ops&(opEdit|opWrite) != 0 && op != opRead
	if !changes && m.ops&op == 0 {
		return no
	}
	t := e.wordTouches(w, u, m.paths)
	if t == yes && m.not != nil {
		if at, ok := e.place(u.Dir, w.Text); ok && u.DirKnown && e.inside(at, m.not) {
			return no
		}
	}
	return t
}

// fileProgram says whether a program does op to the files it is given: yes, perhaps, or no for
// those that are known not to.
func fileProgram(base string, op operation) truth {
	if namesOnly(base) {
		return no
	}
	switch base {
	case "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "zgrep", "rg", "awk", "gawk", "mawk", "sort", "uniq", "wc", "cut",
		"diff", "cmp", "comm", "join", "paste", "nl", "od", "xxd", "hexdump", "strings", "base64", "base32", "tac", "rev", "fold", "fmt", "jq", "yq", "bat", "batcat",
		"source", ".", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column", "expand", "zcat", "bzcat", "xzcat", "look", "ag", "ack":
		if op == opRead {
			return yes
		}
		return no
	case "cp", "mv", "scp", "rsync", "install", "ln", "dd", "sed", "perl", "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "code", "tar", "zip", "gzip", "gunzip", "bzip2", "xz", "patch":
		return yes
	case "rm", "tee", "touch", "chmod", "chown", "chgrp", "truncate", "shred", "unlink", "rmdir":
		if op == opRead {
			return no
		}
		return yes
	}
	return perhaps
}

// commandAllowed finds a rule that covers the command, and a shadow rule that would.
func (s *Set) commandAllowed(u *shell.Unit, e *scope) (covering, shadow *rule) {
	covers := func(r *rule) bool {
		ok, _ := s.covers(r, u, e)
		return ok
	}
	s.allows.allows(u, func(r *rule) bool {
		if covers(r) {
			covering = r
		}
		return covering == nil
	})
	if covering == nil && s.shadows {
		s.shadowAllows.allows(u, func(r *rule) bool {
			if covers(r) {
				shadow = r
			}
			return shadow == nil
		})
	}
	return covering, shadow
}

// covers says whether an allow rule covers a command; the fault says why not.
func (s *Set) covers(r *rule, u *shell.Unit, e *scope) (bool, fault) {
	if !e.spend(1 + len(u.Argv)/4) {
		return false, fault{"command", "there is too much to compare"}
	}
	if ok, f := r.match.command.allows(u, e); !ok {
		return false, f
	}
	if r.match.cwd == nil && !e.inPlace(u.Dir, u.DirKnown) {
		return false, fault{"cwd", "it runs outside the project, and the rule says nothing about cwd"}
	}
	t, f := r.match.circumstances(e, u.Dir, u.DirKnown, false)
	return t == yes, f
}

// inPlace says whether a directory is one that an allow without cwd holds in: the project, or
// where nobody knows a project, the agent's own.
func (e *scope) inPlace(dir string, known bool) bool {
	return known && (lies(e.project, dir) || e.project == "" && dir == e.cwd)
}

func lies(dir, at string) bool {
	if dir == "" {
		return false
	}
	_, ok := under(dir, at)
	return ok
}

// fileCovered finds the rule that covers a file that a redirection writes or reads: a rule about
// files, or the rule of the command that it belongs to where that permits it.
func (s *Set) fileCovered(u *shell.Unit, e *scope, covered, shadowed []*rule) (covering, shadow *rule) {
	if !u.Path.Static || !u.DirKnown && !path.IsAbs(u.Path.Text) {
		return nil, nil
	}
	at, ok := e.place(u.Dir, u.Path.Text)
	if !ok {
		return nil, nil
	}
	op := opWrite
	if u.Kind == shell.ReadFile {
		op = opRead
	}
	for _, r := range s.allowFiles {
		if !r.match.file.allows(op, at, e) {
			continue
		}
		if t, _ := r.match.circumstances(e, u.Dir, u.DirKnown, false); t != yes {
			continue
		}
		if !r.shadow {
			return r, nil
		}
		shadow = first(shadow, r)
	}
	if u.Of < 0 || u.Of >= len(covered) {
		return nil, shadow
	}
	permits := func(r *rule) bool {
		if r == nil {
			return false
		}
		set := r.match.command.stdout
		if u.Kind == shell.ReadFile {
			set = r.match.command.stdin
		}
		return set&streamFile != 0 || set&streamProject != 0 && e.inside(at, projectFiles)
	}
	if permits(covered[u.Of]) {
		return covered[u.Of], nil
	}
	if shadow == nil && permits(shadowed[u.Of]) {
		shadow = shadowed[u.Of]
	}
	return nil, shadow
}

var projectFiles = []pathPattern{{src: "${project}/**", anchor: atProject, all: true}}

// streamIn says whether a stream of the unit is one of the set.
func (e *scope) streamIn(set streams, s shell.Stream, u *shell.Unit, kind shell.Kind) bool {
	switch s {
	case shell.Inherit, shell.OtherFD:
		return set&streamNone != 0
	case shell.Pipe:
		return set&streamPipe != 0
	case shell.DevNull:
		return set&streamDevNull != 0
	case shell.Heredoc:
		return set&streamHeredoc != 0
	}
	if set&streamFile != 0 {
		return true
	}
	if set&streamProject == 0 {
		return false
	}
	// Every file of this kind that the command is connected to lies in the project.
	found := false
	for i := range e.units {
		f := &e.units[i]
		if f.Kind != kind || f.Of < 0 || &e.units[f.Of] != u {
			continue
		}
		at, ok := e.place(f.Dir, f.Path.Text)
		if !ok || !f.Path.Static || !f.DirKnown && !path.IsAbs(f.Path.Text) || !e.inside(at, projectFiles) {
			return false
		}
		found = true
	}
	return found
}

// unitText is how a person knows a unit.
func unitText(u *shell.Unit) string {
	switch u.Kind {
	case shell.Command:
		var b strings.Builder
		for i, w := range u.Argv {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
			if b.Len() > 300 {
				break
			}
		}
		return b.String()
	case shell.Write:
		return "> " + u.Path.Text
	case shell.ReadFile:
		return "< " + u.Path.Text
	case shell.Assign:
		return u.Name + "=" + u.Value.Text
	default:
		return "…"
	}
}
