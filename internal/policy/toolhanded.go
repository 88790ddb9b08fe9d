package policy

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/codex/patch"
	"assent/internal/agent/tool"
	"assent/internal/agent/toolset"
	"assent/internal/text/strictjson"
)

// What a tool of an MCP server does with its input nobody knows, nor of some tools of agents. But where the input
// names a file, an address or a command, a rule that denies it, or what no rule allows, is meant whatever tool it is.

// Bounds of a look at an input.
const (
	maxHandedDepth = 16
	maxHandedTexts = 256
	maxHandedShell = 8  // commands
	maxHandedOther = 32 // texts that may be commands
	maxHandedWords = 64 // of such a text
)

// handed holds the texts in the input of a tool that is not known well against what other tools may not touch.
func (s *Set) handed(e *scope, o *outcome) {
	if len(e.tool.Known) > 0 {
		return
	}
	if e.tool.Kind != tool.Other || toolset.Of(e.call.Agent, e.call.Tool).Kind == tool.Patch {
		return // questions, plans, texts for other agents, and what is judged part by part
	}
	texts, whole := handedTexts(e.input)
	if !whole {
		o.refuse("input", "There is more in its input than is looked at.")
	}
	commands, others := 0, 0
	guarded := len(s.guards.byProgram)+len(s.guards.wild)+len(s.guardFiles) > 0
	for _, t := range texts {
		if t.isCommand() {
			if commands++; commands > maxHandedShell || !e.spend(1) {
				o.refuse("input", "There are more commands in its input than are looked at.")
				break
			}
			s.handedCommand(t, e, o)
		} else if guarded && strings.ContainsAny(t.text, " \t\n;|&<>$`('\"") {
			if others++; others > maxHandedOther || !e.spend(20+len(t.text)/8) {
				o.refuse("input", "There are more texts in its input that may be commands than are looked at.")
				break
			}
			s.handedCommand(t, e, o)
			s.handedWords(t.text, e, o)
		}
		address, ok := readAddress(t.text)
		full := ok && strings.Contains(t.text, "://") && address.scheme != "file"
		if !full { // {"host": "example.com"}, {"url": "example.com/x"}
			address, ok = bareAddress(t.text)
		}
		if ok {
			for _, r := range s.guardURLs {
				e.charge(r)
				if r.match.url.guards(address) != no {
					s.noteGuard(r, perhaps, e, o)
				}
			}
		}
		if full {
			continue
		}
		names, whole := patched(t.text)
		if !whole {
			o.refuse("input", "It is not certain which files a patch in its input changes.")
		}
		for _, name := range names {
			if at, ok := e.resolvePath(e.cwd, name); ok && obeyed(at) != "" {
				o.refuse("input", obeyedFault(at).why)
			}
		}
		for _, name := range append(names, t.text) {
			for _, p := range handedPaths(name, e.home) {
				s.handedPath(p, name, e, o)
			}
		}
	}
	e.charge(nil)
}

// bareAddress reads a text that may be the name of a host, perhaps with a path behind it.
func bareAddress(text string) (a address, ok bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "//")
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, " \t\n<>\"'`{}|\\") || strings.ContainsAny(text[:1], "./~-") {
		return address{}, false
	}
	return readAddress("https://" + text)
}

// patched are the files that a text changes if it is a patch, and whether it is certain that there are no others.
func patched(text string) (names []string, whole bool) {
	if !strings.Contains(text, "\n") {
		return nil, true
	}
	if strings.Contains(text, "*** ") && strings.Contains(text, " Patch") {
		p := patch.Read(text)
		for _, f := range p.Files {
			names = append(names, f.Path)
		}
		return names[:min(len(names), maxPatchFiles)], p.Whole && len(names) <= maxPatchFiles
	}
	if !strings.Contains(text, "+++ ") {
		return nil, true
	}
	for line := range strings.Lines(text) { // what diff and git write
		for _, head := range []string{"--- ", "+++ ", "rename to ", "rename from ", "copy to "} {
			name, is := strings.CutPrefix(line, head)
			if !is {
				continue
			}
			if len(names) == 4*maxPatchFiles {
				return names, false
			}
			name, _, _ = strings.Cut(strings.TrimRight(name, "\r\n"), "\t")
			names = append(names, name)
			if _, below, has := strings.Cut(name, "/"); has && below != "" { // a/x and b/x are x
				names = append(names, below)
			}
		}
	}
	return names, true
}

// handedPath holds a text that may be the path of a file here against the rules.
func (s *Set) handedPath(text, written string, e *scope, o *outcome) {
	for _, dir := range slices.Compact([]string{e.cwd, e.project}) {
		if dir == "" {
			dir = unknownDir
		}
		at, ok := e.resolvePath(dir, text)
		if !ok {
			continue
		}
		absolute := strings.HasPrefix(text, "/")
		switch {
		case !e.spend(20):
			return // nothing is allowed, then
		case s.protect.touches(at, e, true):
			o.refuse("self", quote(written)+" is "+notAllowed)
		case (absolute || strings.Contains(text, "..")) && s.protect.above(at, e):
			o.refuse("self", quote(written)+" holds assent's state")
		case (absolute || strings.ContainsAny(text, "./~")) && e.isSecret(at, absolute) && (absolute || !e.gone(at)):
			e.secrets = append(e.secrets, secret{text: written, at: at})
		}
		for _, r := range s.guardFiles {
			e.charge(r)
			if !e.spend(10+4*len(r.match.file.paths)) || r.match.file.guards(opRead, at, e) || r.match.file.guards(opWrite, at, e) {
				s.noteGuard(r, perhaps, e, o)
			}
		}
	}
}

// gone says for certain that there is no file of the name.
func (e *surroundings) gone(at resolvedPath) bool {
	if e.readlink == nil || len(at.real) == 0 || at.real[0] == "" {
		return false
	}
	e.last = "" // have it looked at again
	return e.resolve(at.spelled) != "" && e.lastGone > 0
}

// handedWords holds the words of a line that may be a command, in a shell or in no language that is known, against
// the rules that deny or ask about files.
func (s *Set) handedWords(text string, e *scope, o *outcome) {
	if strings.Contains(text, "\n") || len(s.guardFiles) == 0 {
		return
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t'\"`=;|&<>(){}$,:", c) })
	if len(words) > maxHandedWords {
		o.refuse("input", "There are more words in a text of its input than are looked at.")
		return
	}
	for _, word := range words {
		for _, dir := range slices.Compact([]string{e.cwd, e.project}) {
			at, ok := e.resolvePath(dir, word)
			if !ok {
				continue
			}
			for _, r := range s.guardFiles {
				e.charge(r)
				if !e.spend(10+4*len(r.match.file.paths)) || r.match.file.guards(opRead, at, e) || r.match.file.guards(opWrite, at, e) {
					s.noteGuard(r, perhaps, e, o)
				}
			}
		}
	}
}

// handedCommand has the rules that deny or ask about commands judge a command that another tool is given. Of a text
// that only may be one they count as perhaps meant, and that it may name what is assent's counts for nothing.
func (s *Set) handedCommand(t handedText, e *scope, o *outcome) {
	text := t.text
	call := *e.call
	call.Tool = tools.Bash
	call.Input, _ = json.Marshal(map[string]string{tools.Of(tools.Bash).Command: text}) // of texts there is no error
	inner, found := newScope(), &outcome{}
	defer inner.release()
	inner.call, inner.tool, inner.readlink = &call, tools.Of(tools.Bash), e.readlink
	inner.cwd, inner.project, inner.home = e.cwd, e.project, e.home
	inner.input, _ = members(call.Input)
	s.bash(inner, found, false)
	e.spend(inner.work)
	found.cut = found.cut || inner.partial
	meant := perhaps
	if e.tool.Runs && t.isCommand() {
		meant = yes
	}
	for _, r := range found.asks {
		o.guard(r, meant)
	}
	if found.deny != nil {
		o.guard(found.deny, meant)
	}
	if found.maybe != nil {
		o.guard(found.maybe, perhaps)
	}
	for _, r := range found.refused {
		if r.Code == "self" && t.isCommand() {
			o.refuse("self", r.Why)
		}
	}
	if found.cut {
		s.namedIn(text, e, o)
	}
}

// namedIn has the rules that deny or ask about a program count as perhaps meant by a text of which not all was looked
// at, where the program's name stands in it.
func (s *Set) namedIn(text string, e *scope, o *outcome) {
	text = strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(text)
	perhapsAll := func(rules []*rule) {
		for _, r := range rules {
			o.guard(r, perhaps)
		}
	}
	perhapsAll(s.guards.wild)
	for name, at := range s.guards.byProgram {
		if !e.spend(1 + len(text)/16) {
			return // nothing is allowed, then
		}
		if namesWord(text, name) {
			perhapsAll(at.rest)
			perhapsAll(at.anyArg)
		}
	}
}

// namesWord says whether a name stands in a text as a word of its own, or behind a slash.
func namesWord(text, name string) bool {
	part := func(c byte) bool { return letter(c) || digit(c) || c == '-' || c == '.' || c >= 0x80 }
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i, from = from+i, from+i+1
		if end := i + len(name); (i == 0 || !part(text[i-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
	}
}

// aboutServer says whether a call that is not one of a server's own tools is about that server.
func (e *scope) aboutServer(server []glob) truth {
	if e.tool.Server == "" {
		return no
	}
	name, ok := e.text(e.tool.Server)
	switch {
	case !ok: // all servers
		return perhaps
	case matchAny(server, name):
		return yes
	}
	return no
}

// handedText is a text in an input, with the member that it stands in.
type handedText struct{ key, text string }

// isCommand says that the member is one that other tools have a command in.
func (t handedText) isCommand() bool {
	return slices.Contains([]string{"command", "cmd", "script", "shell_command", "commandline", "program", "executable", "argv"}, strings.ToLower(t.key))
}

// handedTexts are all texts in an input; whole is false where there are too many.
func handedTexts(ms []strictjson.Member) (all []handedText, whole bool) {
	whole = true
	program := ""
	name := func(key string) { // {"files": {"src/x.go": "…"}}
		if !strings.ContainsAny(key, "/.~") {
			return
		}
		if whole = whole && len(all) < maxHandedTexts; whole {
			all = append(all, handedText{"", key})
		}
	}
	var look func(key string, raw []byte, depth int)
	look = func(key string, raw []byte, depth int) {
		switch {
		case len(raw) == 0 || strings.IndexByte("\"[{", raw[0]) < 0:
		case len(all) >= maxHandedTexts || depth > maxHandedDepth:
			whole = false
		case raw[0] == '"':
			text := strictjson.Text(raw)
			all = append(all, handedText{key, text})
			if inner := []byte(strings.TrimSpace(text)); len(inner) > 1 && strings.IndexByte("[{", inner[0]) >= 0 && json.Valid(inner) {
				look(key, inner, depth+1)
			}
		case raw[0] == '[':
			list, err := strictjson.Array(raw)
			whole = whole && err == nil
			if words := handedArgv(program, list); words != "" {
				all = append(all, handedText{"", words})
			}
			for _, one := range list {
				look(key, one, depth+1)
			}
		default:
			inner, err := strictjson.Object(raw)
			whole = whole && err == nil
			outer := program
			program = programMember(inner)
			for _, m := range inner {
				name(m.Key)
				look(m.Key, m.Value, depth+1)
			}
			program = outer
		}
	}
	program = programMember(ms)
	for _, m := range ms {
		name(m.Key)
		look(m.Key, m.Value, 0)
	}
	return all, whole
}

// programMember is the text beside which a list may hold the arguments: {"command": "rm", "args": ["-r", "x"]}.
func programMember(ms []strictjson.Member) string {
	for _, m := range ms {
		if len(m.Value) > 1 && m.Value[0] == '"' && (handedText{key: m.Key}).isCommand() {
			return strictjson.Text(m.Value)
		}
	}
	return ""
}

// handedArgv is a list of texts as the command that it may be, by itself or behind a program; "" for another list.
func handedArgv(program string, list [][]byte) string {
	if len(list) == 0 {
		return ""
	}
	words := make([]string, 0, len(list))
	for _, raw := range list {
		if len(raw) == 0 || raw[0] != '"' {
			return ""
		}
		words = append(words, "'"+strings.ReplaceAll(strictjson.Text(raw), "'", `'\''`)+"'")
	}
	line := strings.Join(words, " ")
	if program != "" {
		line += "\n" + program + " " + line
	}
	return line + " " // a blank: it is looked at as what may be a command
}

// handedPaths are the ways to read a text as a path; none for a sentence.
func handedPaths(text, home string) []string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\x00") // where a program in C takes it to end
	if text == "" || len(text) > maxPath || strings.Contains(text, "\n") {
		return nil
	}
	if rest, is := strings.CutPrefix(strings.ToLower(text[:min(5, len(text))]), "file:"); is && rest == "" {
		text = strings.TrimPrefix(text[5:], "//")
		text = strings.TrimPrefix(text, "localhost")
	} else if strings.Contains(text, "://") {
		return nil
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, " \t") && !strings.ContainsAny(text[:1], "/~.") {
		return nil
	}
	all := []string{text}
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		all = append(all, plain)
	}
	for _, p := range all {
		for _, start := range []string{"~/", "$HOME/", "${HOME}/"} {
			if rest, is := strings.CutPrefix(p, start); is && home != "" {
				all = append(all, home+"/"+rest)
			}
		}
		if p == "~" && home != "" {
			all = append(all, home)
		}
	}
	return all
}
