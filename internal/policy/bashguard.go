package policy

import "assent/internal/policy/shell"

// unitGuards asks every rule that denies or asks about one unit.
func (s *Set) unitGuards(u *shell.Unit, e *scope, o *outcome) {
	inEach(u, func() bool {
		s.guardsHere(u, e, o)
		return true
	})
}

func (s *Set) guardsHere(u *shell.Unit, e *scope, o *outcome) {
	if u.Kind == shell.Command {
		s.guards.guards(u, func(r *rule) bool {
			e.charge(r)
			t := r.match.command.guards(u, e)
			if t != no {
				c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
				t = t.and(c)
			}
			if e.feared && t == yes {
				t = perhaps
			}
			o.guard(r, t)
			return true
		})
	}
	for _, r := range s.guardFiles {
		e.charge(r)
		t := r.match.file.guardsUnit(u, e)
		if t != no {
			c, _ := r.match.circumstances(e, u.Dir, u.DirKnown, true)
			t = t.and(c)
		}
		o.guard(r, t)
	}
	e.charge(nil)
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
		found := m.guardsTree(u, e)
		for _, op := range []operation{opRead, opEdit} {
			if m.ops&op == 0 && (op != opEdit || (m.ops|m.also)&opWrite == 0) {
				continue
			}
			words := u.Argv[min(1, len(u.Argv)):]
			if whole := asWhole(u, op); whole != no && m.means(op) {
				for _, w := range taken(u) {
					found = found.or(whole.and(e.holds(w, u, m.paths)))
				}
			}
			if op == opRead && m.means(op) {
				for _, w := range searched(u) {
					found = found.or(perhaps.and(e.holds(w, u, m.paths)))
				}
			}
			certain := fileProgram(u.Base, op)
			if certain == no {
				continue
			}
			if op != opRead {
				words = append(placed(u), words...)
			}
			for _, w := range words {
				found = found.or(certain.and(m.guardsWord(w, op, u, e)))
			}
		}
		return found
	}
	return no
}

// means says whether a rule that denies or asks is about an operation on its files.
func (m *fileMatch) means(op operation) bool {
	if op == opRead {
		return m.ops&opRead != 0
	}
	return (m.ops|m.also)&(opEdit|opWrite) != 0
}

func (m *fileMatch) guardsWord(w shell.Word, op operation, u *shell.Unit, e *scope) truth {
	if !m.means(op) {
		return no
	}
	t := e.wordTouches(w, u, m.paths)
	if t == perhaps && op != opRead && m.ops&(opEdit|opWrite) == 0 {
		return no // rm dist/* is not about .env
	}
	if t == yes && m.not != nil {
		if at, ok := e.resolvePath(u.Dir, w.Text); ok && u.DirKnown && e.inside(at, m.not) {
			return no
		}
	}
	return t
}

// fileProgram says whether a program does op to the files it is given: yes, perhaps, or no for
// those that are known not to.
func fileProgram(base string, op operation) truth {
	if namesOnly(base) && (base != "mkdir" || op == opRead) {
		return no
	}
	switch base {
	case "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "zgrep", "rg", "awk", "gawk", "mawk", "sort", "uniq", "wc", "cut",
		"diff", "cmp", "comm", "join", "paste", "nl", "od", "xxd", "hexdump", "strings", "base64", "base32", "tac", "rev", "fold", "fmt", "jq", "yq", "bat", "batcat",
		"source", ".", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column", "expand", "zcat", "bzcat", "xzcat", "look", "ag", "ack",
		"unexpand", "tsort", "hd", "basenc", "nawk", "colordiff", "ripgrep", "rgrep", "ugrep", "zstdcat", "gzcat", "bzgrep", "xzgrep", "zless", "zmore", "pr", "hexyl":
		if op == opRead {
			return yes
		}
		return no
	case "cp", "mv", "scp", "rsync", "install", "ln", "dd", "sed", "perl", "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "code", "tar", "zip", "gzip", "gunzip", "bzip2", "xz", "patch",
		"gsed", "zstd", "unzstd", "unxz", "lzma", "unlzma", "bunzip2":
		return yes
	case "shuf", "iconv", "plutil", "textutil", "split", "csplit":
		if op == opRead {
			return yes
		}
		return perhaps
	case "rm", "tee", "touch", "chmod", "chown", "chgrp", "truncate", "shred", "unlink", "rmdir", "mkdir":
		if op == opRead {
			return no
		}
		return yes
	}
	return perhaps
}
