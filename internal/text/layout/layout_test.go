package layout

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/text/show"
)

func TestUnderline(t *testing.T) {
	for _, tt := range []struct {
		line       string
		start, end int
		most       int
		text, mark string
	}{
		{"git push -f", 4, 8, 80, "git push -f", "    ^^^^"},
		{"x", 1, 1, 80, "x", " ^"},
		{"", 0, 0, 80, "", "^"},
		{"漢字 x", 7, 8, 80, "漢字 x", "     ^"},
		{"é\u0301e x", 5, 6, 80, "é\u0301e x", "  ^"},
		{"\u202e x", 4, 5, 80, "⟦U+202E⟧ x", "         ^"},
		{"0123456789abcdefghij", 10, 12, 12, "…6789abcdef…", "     ^^"},
		{"0123456789abcdefghij", 0, 20, 12, "012345…hij", "^^^^^^^^^^"},
		{strings.Repeat("x", 1000) + "git" + strings.Repeat("y", 1000), 1000, 1003, 20, "…xxxxxxxxgityyyyyyy…", "         ^^^"},
	} {
		text, mark := Underline(tt.line, tt.start, tt.end, tt.most)
		if text != tt.text || mark != tt.mark {
			t.Errorf("%q %d-%d in %d:\n%q\n%q, want\n%q\n%q", tt.line, tt.start, tt.end, tt.most, text, mark, tt.text, tt.mark)
		}
	}
}

func FuzzUnderline(f *testing.F) {
	f.Add("git push -f origin main", 4, 8)
	f.Add(strings.Repeat("漢\u0301\x1b[2J\u202e", 50), 100, 300)
	f.Fuzz(func(t *testing.T, line string, start, end int) {
		if strings.Contains(line, "\n") || start < 0 || start > len(line) || end < start || end > len(line) {
			t.Skip()
		}
		text, marks := Underline(line, start, end, Most)
		if !utf8.ValidString(text) || strings.ReplaceAll(show.Text(text), show.Text("⟦"), "⟦") != text || strings.ContainsAny(text, "\n\t") {
			t.Errorf("not safe to show: %q", text)
		}
		if Width(text) > Most || strings.Contains(text, "……") && !strings.Contains(line, "…") || Width(marks) > Most || !strings.HasSuffix(marks, "^") {
			t.Errorf("%d and %d columns:\n%q\n%q", Width(text), Width(marks), text, marks)
		}
	})
}
