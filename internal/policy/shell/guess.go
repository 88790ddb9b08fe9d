package shell

import "strings"

// What a program does with the command in its arguments.
type sight uint8

const (
	through  sight = iota // it has none
	followed              // it starts it, and a rule may allow it by its own name
	doubtful              // it starts it elsewhere, as someone else, or hands it to a shell
)

// seeThrough says whether a program starts another command that rules which deny must see.
func seeThrough(name string, argv []Word) sight {
	lists := programs()
	switch {
	case lists.handsOver.Has(name):
		return doubtful
	case lists.follows.Has(name):
		return followed
	case lists.followsAfter.Has(name):
		for _, w := range argv[1:] {
			if lists.words.Has(w.Text) {
				return followed
			}
		}
	}
	return through
}

// guess adds, for rules that deny or ask, every command that a program may start with its
// arguments, and reads the words that look like scripts.
func (r *reader) guess(argv []Word, start, end int, at execContext) {
	if len(argv) == 0 {
		return
	}
	at = at.through(argv[0].Text)
	at.denyOnly = true
	at.dir = r.keep(*at.dir)
	before := len(r.doubts)
	tried := 0
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if tried == maxGuesses {
			r.cut = true
			break
		}
		if strings.HasPrefix(w.Text, "-") {
			// The value of an option can be a script: ssh -o ProxyCommand=…, su -c…
			if _, value, ok := strings.Cut(w.Text, "="); ok && strings.ContainsAny(value, " ;|&") {
				r.within(Word{Text: value, Start: w.Start, End: w.End}, at)
			}
			continue
		}
		if w.Text == "" || strings.HasPrefix(w.Text, "{}") {
			continue
		}
		tried++
		if strings.ContainsAny(w.Text, " \t\n;|&") {
			r.within(Word{Text: w.Text, Start: w.Start, End: w.End}, at)
		}
		u := Unit{Kind: Command, Start: start, End: end, Argv: argv[i:], Stdin: at.stdin, Stdout: at.stdout, Out: at.out, Of: -1}
		u.Program, u.Base = programNames(w.Text)
		r.add(u, at)
		if name := packageName(argv[0].Text, w.Text); name != "" {
			p := u
			p.Argv = append([]Word{{Text: name, Prefix: name, Static: true, Start: w.Start, End: w.End}}, argv[i+1:]...)
			p.Program, p.Base = name, name
			r.add(p, at)
		}
		if IsShell(u.Base) {
			for _, script := range argv[i+1:] {
				if strings.ContainsAny(script.Text, " \t\n;|&") {
					r.within(Word{Text: script.Text, Start: script.Start, End: script.End}, at)
				}
			}
		}
	}
	// Doubts about a guess are not doubts about the script; who guesses says why itself.
	if len(r.doubts) > before && !r.full {
		r.doubts = r.doubts[:before]
	}
}

// packageName is the program of a package that its runner is told of with a version, or with where it comes from:
// npx npm@10, bunx npm:x, uvx twine==5 and pipx run 'twine[x]>=5'; "" where the word is no such one.
func packageName(runner, word string) string {
	switch runner[strings.LastIndexByte(runner, '/')+1:] {
	case "npx", "pnpx", "bunx", "uvx", "npm", "pnpm", "yarn", "bun", "pipx", "uv", "deno":
	default:
		return ""
	}
	name := word[strings.LastIndexByte(word, ':')+1:]
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		name = name[slash+1:]
	}
	if end := strings.IndexAny(name, "@=<>~![;#"); end > 0 {
		name = name[:end]
	}
	if name == word || name == "" || name[0] == '-' {
		return ""
	}
	return name
}

// guessText adds what looks like commands in a text that could not be read with certainty.
func (r *reader) guessText(text string, at execContext) {
	at = at.through("unread")
	at.denyOnly = true
	const most = 200
	found := 0
	unquoted := strings.NewReplacer("'", "", `"`, "", `\`, "")
	for len(text) > 0 && found < most {
		end := strings.IndexAny(text, ";|&\n(){}`\r\x00")
		piece := text
		if end >= 0 {
			piece, text = text[:end], text[end+1:]
		} else {
			text = ""
		}
		var argv []Word
		for field := range strings.FieldsSeq(piece) {
			field = unquoted.Replace(field)
			if len(argv) == 0 && (field == "" || keyword(field) || strings.HasPrefix(field, "#") || strings.HasPrefix(field, "$")) {
				continue
			}
			argv = append(argv, Word{Text: field, Prefix: field, Static: true, End: len(r.src)})
			if len(argv) == 64 {
				r.cut = true
				break
			}
		}
		if len(argv) == 0 {
			continue
		}
		found++
		u := Unit{Kind: Command, End: len(r.src), Argv: argv, Out: -1, Of: -1}
		u.Program, u.Base = programNames(argv[0].Text)
		r.add(u, at)
		if seeThrough(u.Base, argv) != through && len(argv) > 1 {
			r.guess(argv, 0, len(r.src), at)
		}
	}
	r.cut = r.cut || len(text) > 0
}

func keyword(s string) bool {
	switch s {
	case "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "case", "esac", "in", "!", "time", "{", "}", "[[", "]]", "function":
		return true
	}
	return strings.ContainsRune(s, '=') && !strings.HasPrefix(s, "=") && !strings.HasPrefix(s, "-") && !strings.Contains(s, "/")
}

// StartsOthers says whether a program is known to start the command in its arguments, at least after some words.
func StartsOthers(name string) bool {
	_, is := wrapper(name)
	lists := programs()
	return is || IsShell(name) || name == "env" || name == "xargs" || lists.handsOver.Has(name) || lists.follows.Has(name) || lists.followsAfter.Has(name)
}
