package effects

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/policy/shell"
)

// bash reads a shell command.
func (e *found) bash(command string) {
	e.command = command
	e.sandbox()
	script := shell.Borrow(command, shell.Options{Dir: e.where.cwd, Home: e.where.home, Project: e.where.project, Zsh: true})
	defer script.Release()
	e.script = &script
	set, err := e.packs()
	var facts []policy.Facts
	if err == nil {
		facts = set.CommandFacts(e.call(), &script)
	} else { // the packs are part of the program: a defect
		facts = make([]policy.Facts, len(script.Units))
		e.add(effect{kind: "unknown", text: "The packs of rules cannot be read", risk: hook.Attention})
	}
	unread := e.unread(script.Doubts)
	for i := range script.Units {
		e.unitAt = i
		e.unit(&script.Units[i], &facts[i])
	}
	e.doubts(script.Doubts, unread)
	e.runsWritten()
	if severalCommands(script.Units) {
		e.together()
	}
}

// sandbox looks whether the command wants to run outside the agent's own sandbox.
func (e *found) sandbox() {
	if !bytes.Contains(e.req.ToolInput, []byte("dangerouslyDisableSandbox")) {
		return
	}
	var in struct{ DangerouslyDisableSandbox json.RawMessage }
	if err := json.Unmarshal([]byte(e.req.ToolInput), &in); err != nil || in.DangerouslyDisableSandbox != nil && string(in.DangerouslyDisableSandbox) != "false" {
		e.add(effect{kind: "escalates", text: "Runs outside the agent's sandbox", risk: hook.Danger})
	}
}

// doubts tells why the command may do other things than can be seen, unless unread has told more.
func (e *found) doubts(all []shell.Doubt, unread bool) {
	runs := false
	for _, d := range all {
		switch d.Code {
		case shell.DoubtStdin, shell.DoubtInline, shell.DoubtProgram:
			runs = true
		case shell.DoubtBuiltin:
			runs = runs || strings.HasPrefix(d.Why, "eval") || strings.HasPrefix(d.Why, "source") || strings.HasPrefix(d.Why, ".")
		}
	}
	if runs && e.fetched {
		e.add(effect{kind: "runs-downloaded", risk: hook.Danger})
	}
	if len(all) > 0 && !unread {
		e.doubt(all[0], false)
	}
}

// unread tells that a part of the command was not even read. It comes before what is found, of which only so much is kept.
func (e *found) unread(all []shell.Doubt) (is bool) {
	for _, d := range all {
		switch d.Code {
		case shell.DoubtLong, shell.DoubtNesting, shell.DoubtUnit:
			e.doubt(d, true)
			return true
		}
	}
	return false
}

func (e *found) doubt(d shell.Doubt, unread bool) {
	e.add(effect{kind: "unknown", text: "Can't be checked: " + lowerFirst(strings.TrimSuffix(shown(d.Why, maxObject), ".")), doubt: true, unread: unread, risk: hook.Attention})
}

func (e *found) unit(u *shell.Unit, f *policy.Facts) {
	switch u.Kind {
	case shell.Command:
		e.run(u, f)
	case shell.Write:
		e.redirect(u, f)
	case shell.ReadFile:
		e.path(line{kind: "reads"}, u.Path, u, f)
	case shell.Assign:
		if changesWhatRuns(u.Name) {
			e.mark(u.Start, u.End, hook.Attention)
			e.add(effect{kind: "unknown", phrase: "Sets", object: u.Name, risk: hook.Attention})
		}
	case shell.Opaque:
		e.add(effect{kind: "unknown", text: "Runs a script that is known only when it runs", risk: hook.Attention})
	}
	e.secrets(u, f)
}

// redirect is a file that the shell itself writes.
func (e *found) redirect(u *shell.Unit, f *policy.Facts) {
	if strings.Contains(u.Path.Text, "/dev/tcp/") || strings.Contains(u.Path.Text, "/dev/udp/") {
		host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(u.Path.Text, "/dev/tcp/"), "/dev/udp/"), "/")
		e.mark(u.Start, u.End, hook.Danger)
		e.add(effect{kind: "sends", phrase: "Opens a connection to", object: host, risk: hook.Danger})
		return
	}
	l := line{kind: "writes"}
	switch {
	case slices.Contains(u.Via, "find -delete"):
		l = line{kind: "deletes", phrase: e.findDeletes(u), tree: true, risk: hook.Danger, find: true}
	case u.Of < 0 && !slices.ContainsFunc(u.Via, func(v string) bool { return strings.HasPrefix(v, "find") }) || u.Of >= 0 && u.Of < len(e.script.Units) && writesNothing(&e.script.Units[u.Of]):
		if u.Inner != "" || !strings.HasPrefix(strings.TrimLeft(e.command[min(u.Start, len(e.command)):], "0123456789&"), ">>") {
			l = line{kind: "overwrites", phrase: "Empties", risk: hook.Attention}
		}
	}
	e.path(l, u.Path, u, f)
}

// writesNothing says whether a command prints nothing, so that a file that it is sent to is empty then.
func writesNothing(u *shell.Unit) bool {
	switch u.Base {
	case ":", "true", "false":
		return true
	case "cat":
		return len(u.Argv) == 2 && u.Argv[1].Text == "/dev/null"
	case "echo", "printf":
		return len(u.Argv) == 1 || len(u.Argv) == 2 && (u.Argv[1].Text == "-n" || u.Argv[1].Text == "") || len(u.Argv) == 3 && u.Argv[1].Text == "-n" && u.Argv[2].Text == ""
	}
	return false
}

// changesWhatRuns says whether a variable may change which programs run, or what they load.
func changesWhatRuns(name string) bool {
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "npm_", "NPM_", "BASH_", "JAVA_", "CARGO", "GO", "PIP_"} {
		if strings.HasPrefix(name, p) {
			return name != "NODE_ENV"
		}
	}
	switch strings.ToUpper(name) {
	case "PATH", "ENV", "IFS", "SHELL", "EDITOR", "VISUAL", "PAGER", "BROWSER", "PROMPT_COMMAND", "PS4", "HOME", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSH_ASKPASS", "MAKEFLAGS", "CC", "CXX":
		return true
	}
	return false
}

// secrets are the files with keys, passwords or tokens that a part of the command names.
func (e *found) secrets(u *shell.Unit, f *policy.Facts) {
	for _, name := range f.Secrets {
		if len(e.effects) > 0 && (strings.Contains(name, "/dev/") || strings.HasPrefix(name, "/mnt") || name == "/") && slices.ContainsFunc(e.effects, func(g effect) bool { return g.risk == hook.Danger }) {
			continue // a disk, of which worse was told
		}
		word := name
		if key, file, is := strings.Cut(name, "="); is && file != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") == "" {
			name = file // dd if=FILE, wget --post-file=FILE
		}
		name = strings.TrimPrefix(name, "@") // curl -d @FILE
		if host := tokenHost(name); host != "" {
			e.add(effect{kind: "sends", phrase: sendsToken, object: host, token: true, risk: hook.Danger})
			e.markWord(u, word)
			continue
		}
		p := e.where.word(shell.Word{Text: name, Prefix: name, Static: true}, u.Dir, u.DirKnown)
		if slices.ContainsFunc(e.effects, func(g effect) bool { return g.secret && (g.object == name || g.object == p.shown) }) {
			continue
		}
		phrase := ""
		if strings.HasPrefix(name, "/dev/") {
			phrase = "Uses the device"
		}
		e.add(effect{kind: "reads-secrets", phrase: phrase, object: p.shown, secret: true, risk: hook.Danger})
		e.markWord(u, word)
	}
}

func (e *found) markWord(u *shell.Unit, word string) {
	for _, w := range append([]shell.Word{u.Path}, u.Argv...) {
		if w.Text == word {
			e.mark(w.Start, w.End, hook.Danger)
		}
	}
}

// run is one command.
func (e *found) run(u *shell.Unit, f *policy.Facts) {
	if len(u.Argv) == 0 {
		return
	}
	prog := u.Argv[0]
	if !prog.Static {
		if !u.DenyOnly {
			e.mark(prog.Start, prog.End, hook.Attention)
			e.add(effect{kind: "unknown", text: "Runs a program whose name is known only when it runs", risk: hook.Attention})
		}
		return
	}
	if u.Base == "cd" || u.Base == "pushd" || u.Base == "popd" {
		e.lost = e.lost || u.Base != "cd" || len(u.Argv) != 2 || !u.Argv[1].Static || u.Argv[1].Text == "-"
	}
	if u.DenyOnly && u.Base == "exec" {
		return // docker exec: the word, not the shell's
	}
	if u.DenyOnly && u.Base == "install" {
		return // apt-get install: the word, not the program
	}
	rows, skip, s := theTable().find(&e.memory, u.Base, u.Argv[1:])
	c := &command{found: e, u: u, f: f, rows: rows, skip: skip, scanned: s}
	switch {
	case f.Pack != "":
		c.known()
		return
	case u.Program == "" && strings.Contains(prog.Text, "/"):
		if u.DenyOnly && rows == nil {
			return // a guess: an argument more likely
		}
		c.ownProgram()
	case rows == nil && u.DenyOnly:
		return
	case rows == nil:
		c.marks(hook.Attention)
		e.add(effect{kind: "unknown", object: u.Base, risk: hook.Attention})
		return
	}
	c.tell()
	for _, alt := range u.Alt {
		if u.Base == "git" && len(alt) > 1 && alt[0].Text == prog.Text {
			other := *u
			other.Argv, other.Alt = alt, nil
			rows, skip, s := theTable().find(&e.memory, "git", alt[1:])
			(&command{found: e, u: &other, f: &policy.Facts{}, rows: rows, skip: skip, scanned: s, again: true}).tell()
		}
	}
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && !(s[1] >= 'A' && s[1] <= 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}
