// Package roff writes man pages, in the language of man(7).
package roff

import (
	"fmt"
	"strings"
	"unicode"
)

// Page is a man page in the making. Make it with New.
type Page struct{ strings.Builder }

// New begins the page of a command. day is its date, as 2006-01-02 or empty; source says what the
// command belongs to, with its version.
func New(name, short, day, source, manual string) *Page {
	p := &Page{}
	p.Macro(fmt.Sprintf(`TH "%s" "1" "%s" "%s" "%s"`, Escape(strings.ToUpper(name)), day, Escape(source), Escape(manual)))
	// Half of what stands here is to be typed: no word is broken at the end of a line.
	p.Macro("nh")
	p.Macro("ad l")
	p.Section("NAME")
	p.Line(Escape(name) + ` \- ` + Escape(short))
	return p
}

// Macro writes a request, such as PP.
func (p *Page) Macro(m string) { p.WriteString("." + m + "\n") }

// Section begins a section.
func (p *Page) Section(s string) { p.Macro("SH " + s) }

// Line writes a line of text that is escaped already.
func (p *Page) Line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // else it would be a macro
	}
	p.WriteString(text + "\n")
}

// Verbatim keeps the lines as they are.
func (p *Page) Verbatim(text string) {
	p.Macro("nf")
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		p.Line(Escape(l))
	}
	p.Macro("fi")
}

// Text flows, except for what is indented.
func (p *Page) Text(text string) {
	var indented []string
	flush := func() {
		if len(indented) > 0 {
			p.Macro("PP")
			p.Verbatim(strings.Join(indented, "\n"))
			p.Macro("PP")
			indented = nil
		}
	}
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t"):
			indented = append(indented, l)
		case l == "":
			flush()
			p.Macro("PP")
		default:
			flush()
			p.Line(Escape(l))
		}
	}
	flush()
}

// Item has a term, escaped already, and what there is to say about it.
func (p *Page) Item(term, text string) {
	p.Macro("TP")
	p.Line(`\fB` + term + `\fR`)
	p.Line(Escape(text))
}

// Escape makes one line of roff say text, with hyphens that can be copied into a shell, and
// in ASCII, which every reader of such pages understands.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\n':
			b.WriteByte(' ')
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
