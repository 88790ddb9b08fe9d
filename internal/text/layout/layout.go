// Package layout lays out text that was made safe to show (package show) in the columns of a
// terminal: lines of limited width, and marks below a part of a line.
package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/internal/text/show"
)

// Most is how wide output for people is.
const Most = 80

// cell is one character of a text as it is shown.
type cell struct {
	text       string
	start, end int // bytes of the text
	width      int // columns
}

// cells takes one line of foreign text apart. Marks stay with the character that they stand on.
func cells(line string) []cell {
	var all []cell
	for i := 0; i < len(line); {
		_, n := utf8.DecodeRuneInString(line[i:])
		end := i + n
		for end < len(line) {
			r, n := utf8.DecodeRuneInString(line[end:])
			if !unicode.Is(unicode.M, r) {
				break
			}
			end += n
		}
		text := show.Line(line[i:end])
		all = append(all, cell{text, i, end, Width(text)})
		i = end
	}
	return all
}

// Width is how many columns a text takes that package show made safe.
func Width(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
			r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}

func cellsWidth(cs []cell) int {
	n := 0
	for _, c := range cs {
		n += c.width
	}
	return n
}

// Underline shows a line of foreign text in at most so many columns, and a second line with marks
// below the bytes from start to end, one at least. What is too long is cut to the surroundings.
// 0 <= start <= end <= len(line), and the line holds no line feed.
func Underline(line string, start, end, most int) (text, marks string) {
	dots := []cell{{text: "…", width: 1}}
	var before, part, after []cell
	// No more than this is ever shown, and a line can be very long.
	if cut := start - 4*most; cut > 0 {
		for cut < start && !utf8.RuneStart(line[cut]) {
			cut++
		}
		line, start, end = line[cut:], start-cut, end-cut
		before = dots
	}
	if cut := start + 8*most; cut < len(line) {
		for cut > start && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
		end = min(end, len(line))
	}
	for _, c := range cells(line) {
		switch {
		case c.end <= start:
			before = append(before, c)
		case c.start >= end && (c.start > start || len(part) > 0):
			after = append(after, c)
		default:
			part = append(part, c)
		}
	}
	if len(part) == 0 { // behind the last character
		part = []cell{{" ", len(line), len(line), 1}}
	}
	if cellsWidth(before)+cellsWidth(part)+cellsWidth(after) > most {
		left := most - 2 // dots at both ends
		if cellsWidth(part) > left {
			head, tail := firstCells(part, left*2/3), lastCells(part, left-left*2/3-1)
			part = append(append(head, dots...), tail...)
		}
		left -= cellsWidth(part)
		take := min(cellsWidth(after), left/2)
		if b := lastCells(before, left-take); len(b) < len(before) {
			before = append(append([]cell(nil), dots...), b...)
		}
		if a := firstCells(after, most-1-cellsWidth(before)-cellsWidth(part)); len(a) < len(after) {
			after = append(a, dots...)
		}
	}
	return strings.TrimRight(join(before)+join(part)+join(after), " "), strings.Repeat(" ", cellsWidth(before)) + strings.Repeat("^", cellsWidth(part))
}

func join(cs []cell) string {
	var b strings.Builder
	for _, c := range cs {
		b.WriteString(c.text)
	}
	return b.String()
}

// firstCells returns as many of the first cells as fit into n columns.
func firstCells(cs []cell, n int) []cell {
	for i, c := range cs {
		if n -= c.width; n < 0 {
			return append([]cell(nil), cs[:i]...)
		}
	}
	return append([]cell(nil), cs...)
}

// lastCells is firstCells for the end.
func lastCells(cs []cell, n int) []cell {
	for i := len(cs) - 1; i >= 0; i-- {
		if n -= cs[i].width; n < 0 {
			return append([]cell(nil), cs[i+1:]...)
		}
	}
	return append([]cell(nil), cs...)
}

// Wrap breaks a text that is safe to show into lines of at most Most columns, the first after
// indent, the others after more. A word that is too long for a line has one of its own.
func Wrap(text, indent, more string) string {
	var b strings.Builder
	b.WriteString(indent)
	at, fresh := Width(indent), true
	for _, word := range strings.Fields(text) {
		w := Width(word)
		if !fresh && at+1+w > Most {
			b.WriteString("\n" + more)
			at, fresh = Width(more), true
		}
		if !fresh {
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, fresh = at+w, false
	}
	return b.String()
}
