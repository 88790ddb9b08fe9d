package effects

import (
	"strings"
)

// onlySubstitutes says whether sed is given nothing but substitutions, s/a/b/g, which write no other
// file and run nothing. What empties every line is more than an edit.
func (c *command) onlySubstitutes() bool {
	n := 0
	for _, u := range c.scanned.flags {
		switch u.name {
		case "-e", "--expression":
			if n++; !u.word.Static || !substitutes(u.value) {
				return false
			}
		case "-f", "--file", "-n", "--quiet", "--silent": // with -n, what is not printed is lost
			return false
		}
	}
	if n > 0 {
		return true
	}
	if len(c.operands) < 2 {
		return false
	}
	w := c.u.Argv[1:][c.operands[0]]
	return w.Static && substitutes(w.Text)
}

// substitutes says whether a script of sed is one or more substitutions for certain.
func substitutes(script string) bool {
	if script == "" || len(script) > 4096 || strings.ContainsAny(script, "\n\x00") {
		return false
	}
	classes := strings.Contains(script, "[") // within [/] some seds end the pattern, others do not
	for done := 0; ; done++ {
		script = strings.TrimLeft(script, " \t;")
		if script == "" {
			return done > 0
		}
		script = strings.TrimLeft(script, "0123456789,$")
		if len(script) < 4 || script[0] != 's' || classes && done > 0 {
			return false
		}
		delim := script[1]
		if delim == '\\' || delim == '[' || delim >= 0x80 || delim == ' ' || delim == ';' || delim >= '0' && delim <= '9' || delim >= 'A' && delim <= 'Z' || delim >= 'a' && delim <= 'z' {
			return false
		}
		if classes && strings.Count(script, string(delim)) != 3 {
			return false
		}
		var part [2]string
		rest := script[2:]
		for i := range part {
			end := 0
			for end < len(rest) && rest[end] != delim {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(rest) {
				return false
			}
			part[i], rest = rest[:end], rest[end+1:]
		}
		if part[1] == "" && (strings.Contains(part[0], ".*") || strings.Contains(part[0], ".+") || part[0] == ".") {
			return false
		}
		script = strings.TrimLeft(rest, "gIip0123456789")
		if script != "" && strings.IndexByte("; \t", script[0]) < 0 {
			return false
		}
	}
}

// unpacks names the archive in what tar and unzip are said to do. Of tar it tells packing apart.
func (c *command) unpacks(l line) line {
	const replaces = ", which may overwrite files"
	words := c.u.Argv[1:]
	name := ""
	switch c.u.Base {
	case "tar", "gtar", "bsdtar":
		if len(words) == 0 {
			return l
		}
		mode := strings.TrimLeft(words[0].Text, "-")
		if strings.HasPrefix(words[0].Text, "--") {
			return l
		}
		if strings.ContainsAny(mode, "cru") && !strings.Contains(mode, "x") {
			l.phrase = "Packs an archive in"
			return l
		}
		if !strings.Contains(mode, "x") {
			return l
		}
		if to, ok := c.valueOf([]string{"-f", "--file"}); ok {
			name = to.Text
		} else if len(c.operands) > 1 && words[0].Text[0] != '-' {
			name = words[c.operands[1]].Text
		}
	case "unzip", "7z", "7za", "unrar", "unar":
		if len(c.operands) > 0 {
			at := 0
			if c.u.Base != "unzip" && len(c.operands) > 1 {
				at = 1
			}
			name = words[c.operands[at]].Text
		}
	}
	if name == "" {
		name = "an archive"
	} else {
		name = quiet(name, 40)
	}
	l.phrase, l.tail = "Unpacks "+name+" into", replaces
	return l
}
