package shell

import (
	"slices"
	"strconv"
	"strings"
)

// Commands lists what a script does in a form that does not depend on how it is laid out: one
// line for each command, file and variable, substitutions in words written as $(). Guesses are
// left out, and [[ ]], whose words bash prints anew. It is for comparing a text with bash's own
// reading of it, which bash --pretty-print FILE prints without running anything.
func Commands(text string, o Options) []string {
	r := newReader(o, false)
	defer r.release()
	r.bones = true
	r.top(text)
	var out []string
	for _, u := range r.units {
		if u.DenyOnly || len(u.Argv) > 0 && u.Argv[0].Text == "[[" {
			continue
		}
		var b strings.Builder
		b.WriteString(u.Kind.String())
		for _, w := range u.Argv {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(w.Text))
		}
		if u.Kind == Write || u.Kind == ReadFile {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(u.Path.Text))
		}
		if u.Kind == Assign {
			b.WriteString(" " + u.Name + "=" + strconv.Quote(u.Value.Text))
		}
		b.WriteString(" < " + u.Stdin.String() + " > " + u.Stdout.String())
		out = append(out, b.String())
	}
	return out
}

// sameInZsh says that a text is so plain that zsh reads it like bash.
func sameInZsh(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$' && i+1 < len(text) && strings.IndexByte("=+:^~", text[i+1]) >= 0: // $=x
			return false
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte(" \t\n-_./,:+@%'\"|;&=$>*?\\", c) >= 0, c >= 0x80:
		default:
			return false
		}
	}
	return true
}

// sameUnits says whether two readings of one text found the same.
func sameUnits(a, b []Unit) bool {
	word := func(x, y Word) bool { return x == y }
	return slices.EqualFunc(a, b, func(x, y Unit) bool {
		return x.Kind == y.Kind && x.Start == y.Start && x.End == y.End && x.Path == y.Path && x.Name == y.Name && x.Value == y.Value &&
			x.Dir == y.Dir && slices.Equal(x.Dirs, y.Dirs) && x.Stdin == y.Stdin && x.Stdout == y.Stdout && x.Out == y.Out && x.Of == y.Of && x.DenyOnly == y.DenyOnly &&
			slices.EqualFunc(x.Argv, y.Argv, word) && slices.Equal(x.Via, y.Via)
	})
}
