package history

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/internal/feed"
	"assent/internal/hook"
)

// maxText is how much of one event can be searched for, in bytes.
const maxText = 8 << 10

// searchText is what a person would look for an event by. p and d are those of the hook event
// it came from, nil if it came from none.
func searchText(ev *feed.Event, p *hook.Payload, d *hook.Detail) string {
	if ev.UI.Hidden {
		return ""
	}
	parts := []string{ev.Title, ev.Body}
	if p != nil && d != nil {
		parts = append(parts, p.ToolName, d.ToolArg, d.Prompt, d.Message, d.Path, d.OldPath, d.Error, d.LastMessage, d.Summary, d.Name, d.Subject, d.Description)
	}
	var b strings.Builder
	for _, part := range parts {
		part = strings.ToValidUTF8(part[:min(len(part), maxText)], "")
		if part == "" || strings.Contains(b.String(), part) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if b.Len()+len(part) > maxText {
			b.WriteString(strings.ToValidUTF8(part[:max(0, maxText-b.Len())], ""))
			break
		}
		b.WriteString(part)
	}
	// SQLite takes a text up to its first zero.
	return strings.ReplaceAll(b.String(), "\x00", " ")
}

// A query of a person has at most so many words; further ones are left out.
const maxTerms = 16

// searchQuery turns what a person typed into a query of FTS5 that finds texts with all the
// words. A word finds those that begin with it, too; words in double quotes are found as they
// stand. Nothing in it means anything else to FTS5. It is empty if there is no word.
func searchQuery(text string) string {
	var terms []string
	add := func(term string, exact bool) {
		letters := 0
		for _, r := range term {
			if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) {
				letters++
			}
		}
		if letters == 0 || len(terms) == maxTerms {
			return
		}
		term = `"` + term + `"`
		// Words that begin with one letter are too many.
		if last, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(term, `"`)); !exact && letters > 1 && (unicode.IsLetter(last) || unicode.IsNumber(last)) {
			term += "*"
		}
		terms = append(terms, term)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			add(strings.TrimSpace(part), true)
			continue
		}
		for _, word := range strings.Fields(part) {
			add(word, false)
		}
	}
	return strings.Join(terms, " AND ")
}
