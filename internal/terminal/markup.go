// Package terminal shows requests to a person at a terminal: the words for a request, lines and tables
// in colour, and the full-screen program of assent watch (Board).
//
// Text of strangers gets here only by way of package show, so it holds no character that a terminal
// obeys. The only bytes of that sort are written by Palette, and by bubbletea.
//
// Lipgloss is not used: as soon as a program imports it, at each start of each command, it asks the
// terminal database and, within tmux, runs tmux.
package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Role is what a part of a line is; a Palette knows how that looks. In a line a part begins with its
// role and ends with roleEnd, which are characters for private use: package show leaves none in a text
// of strangers.
type Role rune

// The roles.
const (
	roleEnd Role = '\uE000' + iota
	Strong
	Dim
	Calm
	Attention
	Danger
	Old
	New
)

// On returns text as a part with the role. Parts do not nest.
func (r Role) On(text string) string {
	if text == "" {
		return ""
	}
	return string(rune(r)) + text + string(rune(roleEnd))
}

func isRole(r rune) bool { return r >= rune(roleEnd) && r <= rune(New) }

// Plain is a line without its roles.
func Plain(line string) string {
	return strings.Map(func(r rune) rune {
		if isRole(r) {
			return -1
		}
		return r
	}, line)
}

// columns is how many columns a character takes.
func columns(r rune) int {
	switch {
	case isRole(r):
		return 0
	case r == '\t':
		return tabWidth
	case r < 0x300:
		return 1
	}
	return ansi.StringWidthWc(string(r))
}

// tabWidth is how many spaces a tab becomes.
const tabWidth = 4

// width is how many columns a line takes.
func width(line string) int {
	n := 0
	for _, r := range line {
		n += columns(r)
	}
	return n
}

// cell is a character of a line with its role.
type cell struct {
	r, role rune
}

// Wrap breaks a line into rows of at most width columns, the second and later ones after indent spaces,
// behind a space where there is one in the second half of the row. Nothing is lost, and a part goes on
// in the next row. A row takes at least one character. With a width of 0 nothing is broken.
func Wrap(line string, width, indent int) []string {
	if indent > width/2 {
		indent = 0
	}
	return wrap(line, width, strings.Repeat(" ", indent))
}

// wrapText is Wrap for exact texts. Rows that go on with a line begin with », where no text of a
// stranger does: a line of its own that is indented could else pass for the end of a comment.
func wrapText(line string, width int) []string {
	const indent = 4
	if width <= 2*indent {
		return wrap(line, width, "")
	}
	return wrap(line, width, Dim.On("»")+strings.Repeat(" ", indent-1))
}

func wrap(line string, most int, before string) []string {
	if most <= 0 {
		return []string{line}
	}
	var cells []cell
	role := rune(roleEnd)
	for _, r := range line {
		switch {
		case isRole(r):
			role = r
		case r == '\t':
			for range tabWidth {
				cells = append(cells, cell{' ', role})
			}
		default:
			cells = append(cells, cell{r, role})
		}
	}
	var rows []string
	for next := ""; ; next = before {
		n := fitting(cells, most-width(next))
		rows = append(rows, next+joined(cells[:n]))
		if cells = cells[n:]; len(cells) == 0 {
			return rows
		}
	}
}

// fitting is how many of the cells make a row of at most so many columns.
func fitting(cells []cell, most int) int {
	at, space := 0, 0
	for i, c := range cells {
		if at += columns(c.r); at > most && i > 0 {
			if space > i/2 {
				return space
			}
			return i
		}
		if c.r == ' ' {
			space = i + 1
		}
	}
	return len(cells)
}

func joined(cells []cell) string {
	var b strings.Builder
	role := rune(roleEnd)
	for _, c := range cells {
		if c.role != role {
			if role != rune(roleEnd) {
				b.WriteRune(rune(roleEnd))
			}
			if c.role != rune(roleEnd) {
				b.WriteRune(c.role)
			}
			role = c.role
		}
		b.WriteRune(c.r)
	}
	if role != rune(roleEnd) {
		b.WriteRune(rune(roleEnd))
	}
	return b.String()
}

// Cut is the beginning of a line that is longer than width columns, with … at its end.
func Cut(line string, most int) string {
	if width(line) <= most {
		return line
	}
	var b strings.Builder
	at, role := 0, rune(roleEnd)
	for _, r := range line {
		if isRole(r) {
			role = r
		} else if at += columns(r); at > most-1 {
			break
		}
		b.WriteRune(r)
	}
	if most > 0 {
		b.WriteString("…")
	}
	if role != rune(roleEnd) {
		b.WriteRune(rune(roleEnd))
	}
	return b.String()
}

// Elide is show.Elide by columns, for a line without roles: its head and its tail, of at most so many columns
// and the … between them.
func Elide(safe string, most int) string {
	if width(safe) <= most {
		return safe
	}
	r := []rune(safe)
	head, at := 0, 0
	for ; at+columns(r[head]) <= most*2/3; head++ {
		at += columns(r[head])
	}
	tail, at := len(r), 0
	for ; tail > head && at+columns(r[tail-1]) <= most/3; tail-- {
		at += columns(r[tail-1])
	}
	return string(r[:head]) + " … " + string(r[tail:])
}

// pad fills a line up to n columns.
func pad(line string, n int) string {
	return line + strings.Repeat(" ", max(0, n-width(line)))
}
