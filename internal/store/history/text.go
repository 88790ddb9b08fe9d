package history

import (
	"strings"
	"unicode"

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

// term is a word or a phrase to search for, as FTS5 takes it.
type term struct {
	text string // in double quotes, with no character in it that is syntax
	// begins says that it is a word, and that words which begin with it match too.
	begins bool
}

func (t term) prefix() string { return t.text + "*" }

// searchTerms turns what a person typed into terms, all of which have to be in a text. Words in
// double quotes are one term.
func searchTerms(text string) []term {
	var terms []term
	add := func(text string, word bool) {
		letters, last := 0, rune(0)
		for _, last = range text {
			if isWord(last) {
				letters++
			}
		}
		if letters == 0 || len(terms) == maxTerms {
			return
		}
		// What begins with one letter is too much, and nothing begins with a full stop.
		terms = append(terms, term{`"` + text + `"`, word && letters > 1 && isWord(last)})
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			add(part, false)
			continue
		}
		for _, word := range strings.Fields(part) {
			add(word, true)
		}
	}
	return terms
}

// isWord reports whether FTS5 takes r as part of a word.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}
