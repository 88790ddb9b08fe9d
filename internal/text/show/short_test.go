package show

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	long := strings.Repeat("a", 50) + "; rm -rf ~"
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  ls \n", "ls"},
		{"cd x\nmake", "cd x⏎make"},
		{"a\r\nb", "a⏎b"},
		{"a\u202eb", "a⟦U+202E⟧b"},
		{long, strings.Repeat("a", 19) + "…; rm -rf ~"},
		{strings.Repeat("\u202e", 40), "⟦U+202E⟧⟦U+202E⟧…⟦U+202E⟧"},
		{strings.Repeat("é", 31), strings.Repeat("é", 19) + "…" + strings.Repeat("é", 10)},
	} {
		if got := Short(c.in, 30); got != c.want {
			t.Errorf("Short(%.40q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got := Short(strings.Repeat("x", 1<<20)+"tail", 30); !strings.HasSuffix(got, "…xxxxxxtail") {
		t.Errorf("a megabyte: %q", got)
	}
}

func TestExcerpt(t *testing.T) {
	for s, want := range map[string]string{"short": "short", "Please fix the flaky checkout test": "Please fix the…", "a\nb": "a⏎b", strings.Repeat("\u202e", 40): "⟦U+202E⟧…", strings.Repeat("ab", 5000): "abababababababa…"} {
		if got := Start(s, 16); got != want {
			t.Errorf("Start %.40q: %q, want %q", s, got, want)
		}
	}
	if got := Excerpt("a\n\tb\x1b", 100); got != "a\n\tb⟦U+001B⟧" {
		t.Errorf("%q", got)
	}
	got := Excerpt(strings.Repeat("h", 100)+strings.Repeat("t", 100), 20)
	if want := strings.Repeat("h", 10) + "\n… 180 bytes are left out here …\n" + strings.Repeat("t", 10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzShort(f *testing.F) {
	f.Add("a\u202e\n⟦x", uint8(5))
	f.Add(strings.Repeat("\xff⟦", 200), uint8(9))
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		max := int(n)%200 + 4
		got := Short(s, max)
		if utf8.RuneCountInString(got) > max || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\t\x1b") {
			t.Fatalf("Short(%q, %d) = %q", s, max, got)
		}
		e := Excerpt(s, max)
		if !utf8.ValidString(e) || strings.Contains(e, "\x1b") || len(e) > 12*max+100 {
			t.Fatalf("Excerpt(%q, %d) = %q", s, max, e)
		}
	})
}
