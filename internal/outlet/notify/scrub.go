package notify

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/internal/text/show"
)

// maxSentence bounds a sentence in a message, in characters.
const maxSentence = 160

var (
	// inURL is a URL with its scheme; of it the host is kept.
	inURL = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>|;]*`)
	// inLogin is what stands before the @ of user:password@host.
	inLogin = regexp.MustCompile(`[^\s"'/@]+:[^\s"'/@]*@`)
	// inValue is the value of a name that sounds like a secret's.
	inValue = regexp.MustCompile(`(?i)([a-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|auth|credential|signature|session)[a-z0-9_-]*)\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?[^\s"']+`)
	// inScheme is what follows the name of a way to log in.
	inScheme = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[^\s"']+`)
	// inQuery is what follows the path of an address without its scheme.
	inQuery = regexp.MustCompile(`[?][^\s"']+`)
	// inWord is what may be a token: a run of the letters that such are written in.
	inWord = regexp.MustCompile(`[A-Za-z0-9_+=-]{16,}`)
	// prefixes are how tokens of well-known services begin.
	prefixes = regexp.MustCompile(`\b(?:gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|ASIA|AIza|eyJ|npm_|pypi-|assent_|hf_|dop_v1_|shp[a-z]{2}_|SG\.)[A-Za-z0-9_.=-]*`)
)

// cut stands for what was left out.
const cut = "…"

// scrub makes a sentence fit to travel: safe to look at, short, a URL cut to its host, and without
// what is or may be a secret. It leaves out rather too much.
func scrub(text string) string {
	// What stands in the sentence was made safe to look at already, and is not made so twice.
	text = strings.ReplaceAll(show.Line(text), show.Text("⟦"), "⟦")
	text = inURL.ReplaceAllStringFunc(text, hostOnly)
	text = inLogin.ReplaceAllString(text, "")
	text = inQuery.ReplaceAllString(text, cut)
	text = prefixes.ReplaceAllString(text, cut)
	text = inValue.ReplaceAllString(text, "$1 "+cut)
	text = inScheme.ReplaceAllString(text, "$1 "+cut)
	text = inWord.ReplaceAllStringFunc(text, func(word string) string {
		if mayBeToken(word) {
			return cut
		}
		return word
	})
	if utf8.RuneCountInString(text) > maxSentence {
		text = string([]rune(text)[:maxSentence-1]) + cut
	}
	return text
}

// hostOnly is the host of a URL, as far as it can be told.
func hostOnly(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if rest == "" {
		return cut
	}
	return rest
}

// mayBeToken reports whether a word looks made by a machine: letters and digits in turn, or both cases
// in turn.
func mayBeToken(word string) bool {
	turns, last := 0, rune(0)
	for _, r := range word {
		kind := '-'
		switch {
		case unicode.IsDigit(r):
			kind = '0'
		case unicode.IsUpper(r):
			kind = 'A'
		case unicode.IsLower(r):
			kind = 'a'
		}
		if kind != last && kind != '-' {
			turns++
		}
		last = kind
	}
	return turns >= 6
}
