package show

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestText reads testdata/text.json, which the tests of web/src/text/visible.ts read too: page and
// server show the same thing in the same way. hex is the input.
func TestText(t *testing.T) {
	file, err := os.ReadFile("testdata/text.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Hex, Text, Line string }
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		in, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			if got := Text(string(in)); got != c.Text {
				t.Errorf("Text(%+q) = %q, want %q", in, got, c.Text)
			}
			if got := Line(string(in)); got != c.Line {
				t.Errorf("Line(%+q) = %q, want %q", in, got, c.Line)
			}
		})
	}
}

// TestEveryRune holds what is left standing against what Unicode says about it.
func TestEveryRune(t *testing.T) {
	hidden := []*unicode.RangeTable{unicode.C, unicode.Z, unicode.Me, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Bidi_Control, unicode.Noncharacter_Code_Point}
	kept := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		s := "a" + string(r)
		if got := Line(s); got != s {
			if back := hide(t, got); back != s {
				t.Fatalf("Line(%+q) = %q, which reads back as %+q", s, got, back)
			}
			continue
		}
		kept++
		if r != ' ' && unicode.In(r, hidden...) || !unicode.IsGraphic(r) {
			t.Errorf("U+%04X stays as it is", r)
		}
	}
	if kept < 100_000 {
		t.Errorf("only %d characters stay: ordinary scripts are replaced", kept)
	}
}

// hide undoes Text and Line; that it can be written is what makes them injective.
func hide(t interface{ Fatalf(string, ...any) }, s string) string {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(s, "⟦")
		b.WriteString(plain)
		if !found {
			return b.String()
		}
		code, after, found := strings.Cut(rest, "⟧")
		if !found {
			t.Fatalf("an open bracket without its end: %q", s)
		}
		s = after
		base := strings.TrimPrefix(code, "U+")
		isByte := base == code
		n, err := strconv.ParseUint(strings.TrimPrefix(base, "x"), 16, 32)
		switch {
		case err != nil:
			t.Fatalf("no replacement of ours: %q", code)
		case isByte:
			b.WriteByte(byte(n))
		case 0xD800 <= n && n < 0xE000:
			b.Write([]byte{0xED, 0x80 | byte(n>>6&0x3F), 0x80 | byte(n&0x3F)})
		default:
			b.WriteRune(rune(n))
		}
	}
}

func checkInjective(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, s string) {
	text, line := Text(s), Line(s)
	if got := hide(t, text); got != s {
		t.Errorf("Text(%+q) = %q reads back as %+q", s, text, got)
	}
	if got := hide(t, line); got != s {
		t.Errorf("Line(%+q) = %q reads back as %+q", s, line, got)
	}
	if !utf8.ValidString(text) || len(text) > 12*len(s) {
		t.Errorf("Text(%+q): %d bytes from %d, valid %v", s, len(text), len(s), utf8.ValidString(text))
	}
	marks := 0
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '⟦' && !safe(r) {
			t.Errorf("Text(%+q) leaves %U", s, r)
		}
		if !unicode.Is(unicode.Mn, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			t.Errorf("Text(%+q) leaves %d marks in a row", s, marks)
		}
	}
	if strings.ContainsAny(line, "\n\t") {
		t.Errorf("Line(%+q) has a line feed or tab", s)
	}
}

func TestTextIsInjective(t *testing.T) {
	odd := rapid.SampledFrom([]string{"⟦", "⟧", "U+202E", "x41", "\u202e", "\u200d", "\u0301", "\xff", "\xed\xa0\x80",
		"\xed", "\xe2\x9f", "\xa6", "a", " ", "\n", "\u00a0", "\U000E0041", "\ufffd", "⟦U+0041⟧", "\u0903"})
	rapid.Check(t, func(t *rapid.T) {
		checkInjective(t, strings.Join(rapid.SliceOf(odd).Draw(t, "parts"), ""))
		checkInjective(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		checkInjective(t, rapid.String().Draw(t, "string"))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"ls", "\u202e⟦U+0041⟧\xff", "e\u0301\u0301\u0301\u0301\u0301", "\xed\xa0\xbd\xed\xb8\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkInjective(t, s) })
}
