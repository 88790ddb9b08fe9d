package intake

import (
	"strings"

	"assent/internal/hook"
	"assent/internal/text/show"
)

const (
	aroundEdit  = 3   // lines on either side of an edit
	maxEditLine = 200 // characters of each
)

// editContext is where old stands in text; nil where it does not stand there exactly once.
func editContext(text, old string) *hook.Place {
	at := strings.Index(text, old)
	if at < 0 && strings.Contains(text, "\r\n") { // the agent sees line feeds only
		text = strings.ReplaceAll(text, "\r\n", "\n")
		at = strings.Index(text, old)
	}
	if old == "" || at < 0 || strings.Contains(text[at+1:], old) {
		return nil
	}
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	end := len(text)
	last := at + len(strings.TrimSuffix(old, "\n"))
	if i := strings.IndexByte(text[last:], '\n'); i >= 0 {
		end = last + i + 1
	}
	p := &hook.Place{Line: 1 + strings.Count(text[:begin], "\n")}
	for above := text[:begin]; above != "" && len(p.Above) < aroundEdit; {
		above = above[:len(above)-1] // its line feed
		i := strings.LastIndexByte(above, '\n') + 1
		p.Above = append([]string{editLine(above[i:])}, p.Above...)
		above = above[:i]
	}
	for below := text[end:]; below != "" && len(p.Below) < aroundEdit; {
		var line string
		line, below, _ = strings.Cut(below, "\n")
		p.Below = append(p.Below, editLine(line))
	}
	return p
}

// editLine is a line as it can be looked at, cut where it is long.
func editLine(s string) string {
	s = strings.TrimSuffix(s, "\r")
	n := 0
	for i := range s {
		if n++; n > maxEditLine {
			return show.Text(s[:i]) + "…"
		}
	}
	return show.Text(s)
}
