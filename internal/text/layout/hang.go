package layout

import "strings"

// Hang breaks the lines of text that are wider than width. What follows of each begins where the
// line itself began, but not before column by. A terminal would go on at its left edge, where our
// own words stand: a text of the right length could show a decision there that nobody took. 0 is
// no width: nothing is broken.
func Hang(text string, by, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := max(by, len(line)-len(strings.TrimLeft(line, " ")))
		if indent > width/2 {
			indent = min(by, width/2)
		}
		at := 0
		for _, r := range line {
			w := Columns(r)
			if at+w > width && r != '\n' {
				b.WriteByte('\n')
				b.WriteString(strings.Repeat(" ", indent))
				at = indent
			}
			b.WriteRune(r)
			at += w
		}
	}
	return b.String()
}

// Columns is how many columns a character takes at most: a line that is broken early harms
// nobody.
func Columns(r rune) int {
	switch {
	case r == '\n':
		return 0
	case r == '\t':
		return 8
	case r < 0x1100:
		return 1
	}
	return 2
}
