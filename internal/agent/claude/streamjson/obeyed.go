package streamjson

import (
	"strings"
	"unicode"
)

// Obeyed is what of a prompt Claude Code would not hand to the model as words, but obey by itself, without a
// request to anybody; "" where there is nothing of it.
//
//   - A text that begins with / can be a command: "/config permissionMode=dontAsk" changes the person's
//     settings. In a terminal so can one that begins with !.
//   - A file that is named with an @ at the beginning of a word, wherever it lies, is read and sent along.
//
// The real client was tried (e2e/claude): it knows a command by the first character only, and an @ as such
// after nothing, a space, or a mark that is not of ASCII. A later one may look further, so what cannot be seen is
// stepped over, and an @ counts as one unless it stands behind a visible character of ASCII, or a letter or digit.
func Obeyed(prompt string) string {
	first := strings.TrimLeftFunc(prompt, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
	if strings.HasPrefix(first, "/") || strings.HasPrefix(first, "!") {
		return word(first)
	}
	before := ' '
	for i, r := range prompt {
		if r == '@' && !(before > ' ' && before < 0x7f || unicode.IsLetter(before) || unicode.IsDigit(before)) {
			if w := word(prompt[i:]); w != "@" {
				return w
			}
		}
		before = r
	}
	return ""
}

// word is what a text begins with, up to a space of ASCII, shortened.
func word(text string) string {
	const most = 40
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		text = text[:i]
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// NotObeyed says what to do about a text that Obeyed found something in.
const NotObeyed = "Claude Code would obey it by itself, and ask nobody; put a word before a / or ! at the beginning, and quotes around a name with @"
