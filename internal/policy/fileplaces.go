package policy

import (
	"path"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A command may change or take a file that it does not spell: cp x/a docs writes docs/a, and mv docs x
// takes everything in docs away. Rules that deny or ask about such a file mean these commands, too.

// placed are the names that a command gives files in a directory that it names.
func placed(u *shell.Unit) []shell.Word {
	var flag string // names the directory, as does its short form
	var keep bool   // the names stay as they are; else their last part counts
	switch u.Base {
	case "cp", "mv", "ln", "install", "scp", "rsync", "gcp", "gmv":
		flag = "--target-directory"
	case "tar", "gtar", "bsdtar":
		flag, keep = "--directory", true
	case "unzip":
		flag, keep = "-d", true
	default:
		return nil
	}
	short := map[string]string{"--target-directory": "-t", "--directory": "-C", "-d": "-d"}[flag]
	var dirs, names []shell.Word
	words := u.Argv[min(1, len(u.Argv)):]
	for i, w := range words {
		attached, is := strings.CutPrefix(w.Text, flag+"=")
		if !is {
			attached, is = strings.CutPrefix(w.Text, short)
		}
		switch {
		case !w.Static && !w.Glob:
		case i > 0 && (words[i-1].Text == flag || words[i-1].Text == short):
			dirs = append(dirs, w)
		case is && w.Static && attached != "":
			w.Text = attached
			dirs = append(dirs, w)
		case !strings.HasPrefix(w.Prefix, "-"):
			names = append(names, w)
		}
	}
	if n := len(names); !keep && len(dirs) == 0 && n > 1 {
		dirs, names = names[n-1:], names[:n-1]
	}
	var all []shell.Word
	for _, dir := range dirs {
		if !dir.Static {
			continue // it may be any, and is looked at by itself
		}
		for _, w := range names {
			name := w.Text
			if !keep {
				name = path.Base(name)
			}
			if w.Glob && strings.ContainsAny(name, "$`{}()\\'\"~") || len(all) == 64 {
				continue
			}
			at := strings.TrimSuffix(dir.Text, "/") + "/"
			w.Text, w.Prefix, w.MaybeFlag = at+name, at+name, false
			if !w.Static {
				w.Prefix = at
			}
			all = append(all, w)
		}
	}
	return all
}

// asWhole says whether a command does something to a directory that it names and to all in it: it goes,
// moves or is rewritten (opEdit), or it is copied to where it has another name (opRead).
func asWhole(u *shell.Unit, op operation) truth {
	words := u.Argv[min(1, len(u.Argv)):]
	flagged := func(letters string, long ...string) bool {
		return slices.ContainsFunc(words, func(w shell.Word) bool {
			t := w.Prefix
			return slices.Contains(long, t) || len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t[1:], letters)
		})
	}
	switch u.Base {
	case "mv", "gmv":
		return yes
	case "rm", "trash", "trash-put", "gio":
		if op != opRead {
			return yes
		}
	case "chmod", "chown", "chgrp":
		if op != opRead && flagged("R", "--recursive") {
			return yes
		}
	case "gzip", "gunzip", "shred":
		if op != opRead && flagged("r", "--recursive") {
			return yes
		}
	case "cp", "gcp", "scp":
		if op == opRead && flagged("rRa", "--recursive", "--archive") {
			return yes
		}
	case "diff", "gdiff", "colordiff":
		if op == opRead && flagged("r", "--recursive") {
			return perhaps
		}
	case "rsync", "tar", "gtar", "bsdtar", "zip", "7z", "ln":
		if op == opRead {
			return perhaps
		}
	case "git":
		i := slices.IndexFunc(words, func(w shell.Word) bool { return !strings.HasPrefix(w.Prefix, "-") })
		if op != opRead && i >= 0 && slices.Contains([]string{"rm", "mv", "checkout", "restore", "clean"}, words[i].Text) {
			return perhaps
		}
	case "prettier", "eslint", "ruff", "black", "isort", "gofmt", "goimports", "shfmt", "rubocop", "clang-format":
		if op != opRead {
			return perhaps
		}
	}
	return no
}

// taken are the words of a command that it takes from: not the directory that it puts things in.
func taken(u *shell.Unit) []shell.Word {
	words := u.Argv[min(1, len(u.Argv)):]
	switch u.Base {
	case "mv", "gmv", "cp", "gcp", "scp", "rsync", "ln", "git":
	default:
		return words
	}
	if u.Base == "git" && !slices.ContainsFunc(words, func(w shell.Word) bool { return w.Text == "mv" }) {
		return words
	}
	var from []shell.Word
	into := false
	for i, w := range words {
		switch {
		case strings.HasPrefix(w.Text, "-t") || strings.HasPrefix(w.Text, "--target"):
			into = true
		case i > 0 && (words[i-1].Text == "-t" || words[i-1].Text == "--target-directory"):
		case !strings.HasPrefix(w.Prefix, "-"):
			from = append(from, w)
		}
	}
	if !into && len(from) > 1 {
		from = from[:len(from)-1]
	}
	return from
}

// searched are the directories below which a command reads every file, the one it runs in where it may name none.
func searched(u *shell.Unit) []shell.Word {
	if len(u.Argv) == 0 {
		return nil
	}
	words := u.Argv[1:]
	if u.Base == "git" {
		i := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "grep" })
		if i < 0 {
			return nil
		}
		words = words[i+1:]
	} else if !searchesBelow(u) {
		return nil
	}
	if slices.ContainsFunc(words, func(w shell.Word) bool { return w.Static && w.Text == "--files" }) {
		return nil // the names alone
	}
	role, pattern := grepRoles(u.Base, words), -1
	if role != nil {
		pattern = len(words)
		for i, w := range words {
			if role(i, w) == wordPlain {
				pattern = i
			}
		}
	}
	var all []shell.Word
	for _, w := range words[min(pattern+1, len(words)):] {
		if !strings.HasPrefix(w.Prefix, "-") {
			all = append(all, w)
		}
	}
	if len(all) == 0 || role == nil {
		all = append(all, shell.Word{Text: ".", Prefix: ".", Static: true})
	}
	return all
}

// holds says whether a word names a directory in which, or in a directory of which, files of the patterns
// lie: those that have a place. Of **/.env nobody knows where one is.
func (e *scope) holds(w shell.Word, u *shell.Unit, patterns []pathPattern) truth {
	if !u.DirKnown && !strings.HasPrefix(w.Text, "/") {
		return no
	}
	found := no
	at, ok := resolvedPath{}, false
	if w.Static {
		if at, ok = e.resolvePath(u.Dir, w.Text); !ok {
			return no
		}
	} else if !w.Glob || strings.ContainsAny(w.Text, "$`{}()\\'\"~") {
		return no // it may be anything, and is looked at by itself
	}
	for i := range patterns {
		p := &patterns[i]
		base := e.base(p)
		if base == "" || p.all || !e.spend(10) {
			continue
		}
		place := path.Join(base, fixedPart(p.below.src))
		switch {
		case place == "/":
		case !w.Static:
			if e.meets(append(pathTokens(w, u.Dir), token{kind: literal, char: '/'}, token{kind: anything}), literals(place+"/")) {
				found = found.or(perhaps)
			}
		case e.above(at, p, place):
			return yes
		}
	}
	return found
}

// above says whether a directory is that of a pattern's place, or above it.
func (e *scope) above(at resolvedPath, p *pathPattern, place string) bool {
	return lies(at.spelled, place) || slices.ContainsFunc(at.real, func(r string) bool {
		return r != "" && (lies(r, place) || lies(r, path.Join(e.realBase(p), fixedPart(p.below.src))))
	})
}

// searchHolds is holds for a directory in which a tool searches the contents of all files.
func (e *scope) searchHolds(at resolvedPath, patterns []pathPattern) bool {
	return slices.ContainsFunc(patterns, func(p pathPattern) bool {
		base := e.base(&p)
		if base == "" || p.all {
			return false
		}
		place := path.Join(base, fixedPart(p.below.src))
		return place != "/" && e.above(at, &p, place)
	})
}

// fixedPart is what stands in front of the first wildcard of a pattern: a directory, or the whole.
func fixedPart(pattern string) string {
	i := strings.IndexAny(pattern, "*?[{\\")
	if i < 0 {
		return pattern
	}
	return pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
}
