package terminal

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// mostCompared bounds the texts that are compared line by line; larger ones stand one after the other.
const mostCompared = 256 << 10

// Difference is what becomes of a text, as lines: all lines of both, those that go marked with −,
// those that come with +.
func Difference(before, after string) []string {
	if len(before)+len(after) > mostCompared {
		return append(signed(Old, "− ", before), signed(New, "+ ", after)...)
	}
	last := ""
	switch b, a := strings.HasSuffix(before, "\n"), strings.HasSuffix(after, "\n"); {
	case b && !a:
		last = Old.On("− the line break at the end")
	case a && !b:
		last = New.On("+ a line break at the end")
	}
	before, after = strings.TrimSuffix(before, "\n")+"\n", strings.TrimSuffix(after, "\n")+"\n"
	edits := udiff.Lines(before, after)
	// With as many lines around the changes as there are it is one hunk, after three lines of heading.
	text, err := udiff.ToUnified("", "", before, edits, strings.Count(before, "\n")+1)
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var lines []string
	if err != nil || len(all) <= 3 {
		lines = signed(0, "  ", strings.TrimSuffix(before, "\n"))
		all = nil
	}
	for _, l := range all[min(3, len(all)):] {
		switch l[0] {
		case '-':
			lines = append(lines, Old.On("− "+l[1:]))
		case '+':
			lines = append(lines, New.On("+ "+l[1:]))
		default:
			lines = append(lines, "  "+l[1:])
		}
	}
	if last != "" {
		lines = append(lines, last)
	}
	return lines
}

func signed(role Role, sign, text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = sign + lines[i]
		if role != 0 {
			lines[i] = role.On(lines[i])
		}
	}
	return lines
}
