package notify

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestScrub(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "Pushes to origin/main", "Pushes to origin/main"},
		{"a URL", "Sends to https://user:pw@api.example.com:8443/v1/x?token=abc#f", "Sends to api.example.com:8443"},
		{"a URL in brackets", "Downloads (http://h.example/a) and runs it", "Downloads (h.example and runs it"},
		{"two URLs", "Sends to https://a.example/x and ftp://b.example/y", "Sends to a.example and b.example"},
		{"no scheme", "Sends to api.example.com/x?key=1", "Sends to api.example.com/x…"},
		{"a login", "Clones git:hunter2@host.example", "Clones host.example"},
		{"GitHub's token", "Runs gh with ghp_0123456789abcdefABCDEF0123456789abcd", "Runs gh with …"},
		{"a value", "Sets API_KEY=hunter2 for make", "Sets API_KEY … for make"},
		{"a header", "Sends Authorization: Bearer hunter2", "Sends Authorization …"},
		{"no value", "Reads secrets in .env; changes the session's settings", "Reads secrets in .env; changes the session's settings"},
		{"random letters", "Writes 9f8a7b6c5d4e3f2a1b0c9d8e", "Writes …"},
		{"a long word", "Deletes internationalization/", "Deletes internationalization/"},
		{"hostile text", "Deletes a\u202eb\nc", "Deletes a⟦U+202E⟧b⟦U+000A⟧c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := scrub(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzScrub(f *testing.F) {
	for _, s := range []string{"Sends to https://u:p@h/x?y", "://", "a://@", "token=x", "ghp_abc", "\xff\x00", "HTTPS://X/?A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := scrub(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxSentence || strings.ContainsAny(got, "\n\r\x1b") {
			t.Errorf("%q", got)
		}
		if inURL.MatchString(got) {
			t.Errorf("%q still has a URL: %q", s, got)
		}
		if i := strings.IndexByte(got, '?'); i >= 0 && i+1 < len(got) && inQuery.MatchString(got) {
			t.Errorf("%q still has a query: %q", s, got)
		}
		if prefixes.MatchString(got) {
			t.Errorf("%q still has a token: %q", s, got)
		}
	})
}
