package layout

import (
	"strings"
	"testing"
)

func TestHang(t *testing.T) {
	for _, c := range []struct {
		text  string
		by    int
		width int
		want  string
	}{
		{"abcdefghij\n", 2, 0, "abcdefghij\n"},
		{"abcdefghij\n", 2, 10, "abcdefghij\n"},
		{"abcdefghijk\n", 2, 10, "abcdefghij\n  k\n"},
		{"abcdefghijklmnopqrstu\nx", 2, 10, "abcdefghij\n  klmnopqr\n  stu\nx"},
		{"  abcdefghijk\n", 1, 10, "  abcdefgh\n  ijk\n"},
		{"漢字漢字漢字\n", 1, 5, "漢字\n 漢字\n 漢字\n"},
		{"a\tb\n", 1, 8, "a\n \t\n b\n"},
		{strings.Repeat(" ", 9) + "abc", 1, 10, strings.Repeat(" ", 9) + "a\n bc"},
		{"", 2, 10, ""},
	} {
		if got := Hang(c.text, c.by, c.width); got != c.want {
			t.Errorf("%q by %d in %d columns: %q, want %q", c.text, c.by, c.width, got, c.want)
		}
	}
}
