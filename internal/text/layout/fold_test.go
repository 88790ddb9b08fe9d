package layout

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	n := func(n int, s string) string { return strings.Repeat(s, n) }
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a\n\n\nb\n", "a\n\n\nb\n"},
		{"a" + n(71, "\n") + "b", "a\n⟦70 empty lines⟧\nb"},
		{"a\n" + n(70, " \n") + "b", "a\n⟦70 blank lines⟧\nb"},
		{"a\n" + n(35, "\n\t\n") + "b", "a\n⟦70 blank lines⟧\nb"},
		{"a\n" + n(70, ":\n") + "b", "a\n:\n⟦69 more lines like this one⟧\nb"},
		{"a\na\na\nb", "a\na\na\nb"},
		{"a" + n(300, " ") + "b", "a⟦300 spaces⟧b"},
		{"a" + n(300, "\t ") + "b", "a⟦600 spaces and tabs⟧b"},
		{"a" + n(23, " ") + "b", "a" + n(23, " ") + "b"},
		{n(71, "\n") + "b", "⟦71 empty lines⟧\nb"},
	} {
		if got := Fold(c.text); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.text, got, c.want)
		}
	}
}
