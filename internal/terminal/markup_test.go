package terminal

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"assent/internal/text/show"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line   string
		width  int
		indent int
		want   []string
	}{
		{"", 10, 2, []string{""}},
		{"abcdef", 0, 2, []string{"abcdef"}},
		{"abcdef", 6, 2, []string{"abcdef"}},
		{"abcdefgh", 4, 1, []string{"abcd", " efg", " h"}},
		{"a" + Danger.On("bcdefg"), 4, 1, []string{"a" + Danger.On("bcd"), " " + Danger.On("efg")}},
		{"漢字漢", 4, 0, []string{"漢字", "漢"}},
		{"one two three", 9, 2, []string{"one two ", "  three"}},
		{"a bcdefgh", 5, 0, []string{"a bcd", "efgh"}}, // a space too far ahead
		{"漢", 1, 0, []string{"漢"}},                     // a row takes one character at least
		{"a\tb", 9, 0, []string{"a    b"}},
	} {
		got := Wrap(c.line, c.width, c.indent)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q in %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// The row after a long comment does not pass for its end: what goes on has a sign of its own.
func TestWrapTextMarksWhatGoesOn(t *testing.T) {
	var rows []string
	for _, line := range []string{"  # " + strings.Repeat("x", 18), "      rm -rf ~", "  # " + strings.Repeat("x", 18) + "rm -rf ~"} {
		for _, row := range wrapText(line, 22) {
			rows = append(rows, Plain(row))
		}
	}
	want := []string{"  # xxxxxxxxxxxxxxxxxx", "      rm -rf ~", "  # xxxxxxxxxxxxxxxxxx", "»   rm -rf ~"}
	if strings.Join(rows, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", rows, want)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		line string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"a" + Danger.On("bcd"), 3, "a" + Danger.On("b…")}, {"漢字漢", 5, "漢字…"}, {"abc", 0, ""},
	} {
		if got := Cut(c.line, c.most); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.line, c.most, got, c.want)
		}
	}
}

func TestElide(t *testing.T) {
	for _, c := range []struct {
		line string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcdefghi", 6, "abcd … hi"}, {"漢字漢字漢", 10, "漢字漢字漢"}, {"漢字漢字漢字", 10, "漢字漢 … 字"}, {"a\u0301bc", 3, "a\u0301bc"}, {"漢字", 0, " … "}, {"", 0, ""},
	} {
		if got := Elide(c.line, c.most); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.line, c.most, got, c.want)
		}
	}
}

func TestPalette(t *testing.T) {
	line := "a " + Danger.On("b") + " " + Dim.On("c") + Old.On("d")
	if got := (Palette{}).Paint(line); got != "a b cd" {
		t.Errorf("plain: %q", got)
	}
	if got := newPalette(false).Paint(line); got != "a \x1b[1mb\x1b[m \x1b[2mc\x1b[md" {
		t.Errorf("without colour: %q", got)
	}
	if got := newPalette(true).Paint(line); got != "a \x1b[1;31mb\x1b[m \x1b[2mc\x1b[m\x1b[31md\x1b[m" {
		t.Errorf("colour: %q", got)
	}
	// What is no terminal gets no colour.
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if NewPalette(file, os.Getenv).looks != nil || NewPalette(&bytes.Buffer{}, os.Getenv).looks != nil {
		t.Error("colour without a terminal")
	}
}

var ours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Whatever a stranger writes, a terminal gets no sequence but those of the palette, and no row is wider
// than the terminal.
func FuzzPaint(f *testing.F) {
	f.Add("x\x1b]0;title\x07\u009b2J\u202e\nend", uint8(20))
	f.Add("\ue000\ue005\ue003red\ue000", uint8(3))
	f.Add("漢字\u0301\u0301\tb\xff", uint8(1))
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		most := int(n)
		for line := range strings.Lines(show.Text(s)) {
			line = strings.TrimSuffix(line, "\n")
			for i, row := range Wrap(Danger.On(line), most, 4) {
				if w := width(row); most > 1 && w > most && w > 2+4 {
					t.Fatalf("row %d of %q has %d columns, more than %d", i, line, w, most)
				}
				text := ours.ReplaceAllString(newPalette(true).Paint(row), "")
				if strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) }) {
					t.Fatalf("%q of %q", text, line)
				}
			}
			if c := Cut(line, most); width(c) > max(most, 1) {
				t.Fatalf("%q is cut to %q, more than %d", line, c, most)
			}
		}
	})
}
