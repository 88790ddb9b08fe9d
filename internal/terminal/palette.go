package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Palette is how roles look. The zero value leaves them out. The colours are those of the terminal's
// own sixteen, which fit its background whatever that is.
type Palette struct {
	looks map[rune]string
}

// NewPalette is the palette for output: none where that is no terminal that knows colours, or the user
// set NO_COLOR.
func NewPalette(output io.Writer, getenv func(string) string) Palette {
	if !IsTerminal(output) || getenv("TERM") == "dumb" || getenv("NO_COLOR") != "" {
		return Palette{}
	}
	return newPalette(true)
}

// IsTerminal reports whether v is a file that is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newPalette is the palette of a terminal; without colour it has bold and faint only.
func newPalette(colour bool) Palette {
	style := ansi.NewStyle
	looks := map[Role]ansi.Style{
		Strong: style().Bold(), Dim: style().Faint(), Danger: style().Bold(), Attention: style().Bold(),
	}
	if colour {
		looks[Calm] = style().ForegroundColor(ansi.Green)
		looks[Attention] = style().ForegroundColor(ansi.Yellow)
		looks[Danger] = style().Bold().ForegroundColor(ansi.Red)
		looks[Old] = style().ForegroundColor(ansi.Red)
		looks[New] = style().ForegroundColor(ansi.Green)
	}
	p := Palette{map[rune]string{}}
	for role, s := range looks {
		p.looks[rune(role)] = s.String()
	}
	return p
}

// Paint turns the roles of a text into what a terminal understands.
func (p Palette) Paint(text string) string {
	if !strings.ContainsFunc(text, isRole) {
		return text
	}
	if p.looks == nil {
		return Plain(text)
	}
	var b strings.Builder
	on := false
	for _, r := range text {
		switch {
		case !isRole(r):
			b.WriteRune(r)
		case r == rune(roleEnd):
			if on {
				b.WriteString(ansi.ResetStyle)
			}
			on = false
		default:
			b.WriteString(p.looks[r])
			on = on || p.looks[r] != ""
		}
	}
	return b.String()
}
