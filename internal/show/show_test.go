package show

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, text, line string }{
		{"plain", "rm -rf ~", "rm -rf ~", "rm -rf ~"},
		{"empty", "", "", ""},
		{"line feed and tab", "a\n\tb", "a\n\tb", "a⟦U+000A⟧⟦U+0009⟧b"},
		{"carriage return", "safe\rrm", "safe⟦U+000D⟧rm", "safe⟦U+000D⟧rm"},
		{"escape sequence", "\x1b[2K", "⟦U+001B⟧[2K", "⟦U+001B⟧[2K"},
		{"DEL and C1", "\x7f\u009b", "⟦U+007F⟧⟦U+009B⟧", "⟦U+007F⟧⟦U+009B⟧"},
		{"bidi override", "a\u202eb\u2066c", "a⟦U+202E⟧b⟦U+2066⟧c", "a⟦U+202E⟧b⟦U+2066⟧c"},
		{"zero width", "l\u200bs\ufeff\u2060", "l⟦U+200B⟧s⟦U+FEFF⟧⟦U+2060⟧", "l⟦U+200B⟧s⟦U+FEFF⟧⟦U+2060⟧"},
		{"soft hyphen", "a\u00adb", "a⟦U+00AD⟧b", "a⟦U+00AD⟧b"},
		{"tag characters", "x\U000E0041\U000E007F", "x⟦U+E0041⟧⟦U+E007F⟧", "x⟦U+E0041⟧⟦U+E007F⟧"},
		{"variation selectors", "x\ufe0f\U000E0100", "x⟦U+FE0F⟧⟦U+E0100⟧", "x⟦U+FE0F⟧⟦U+E0100⟧"},
		{"separators", "a\u2028b\u2029", "a⟦U+2028⟧b⟦U+2029⟧", "a⟦U+2028⟧b⟦U+2029⟧"},
		{"spaces", "\u00a0\u3000\u2003\u200a\u202f", "⟦U+00A0⟧⟦U+3000⟧⟦U+2003⟧⟦U+200A⟧⟦U+202F⟧", "⟦U+00A0⟧⟦U+3000⟧⟦U+2003⟧⟦U+200A⟧⟦U+202F⟧"},
		{"fillers", "\u3164\u115f\u2800\u034f", "⟦U+3164⟧⟦U+115F⟧⟦U+2800⟧⟦U+034F⟧", "⟦U+3164⟧⟦U+115F⟧⟦U+2800⟧⟦U+034F⟧"},
		{"private, unassigned, noncharacter", "\ue000\u0378\uffff\U0010ffff", "⟦U+E000⟧⟦U+0378⟧⟦U+FFFF⟧⟦U+10FFFF⟧", "⟦U+E000⟧⟦U+0378⟧⟦U+FFFF⟧⟦U+10FFFF⟧"},
		{"invalid bytes", "a\xff\xc0\x80b\xe2\x82", "a⟦xFF⟧⟦xC0⟧⟦x80⟧b⟦xE2⟧⟦x82⟧", "a⟦xFF⟧⟦xC0⟧⟦x80⟧b⟦xE2⟧⟦x82⟧"},
		{"lone surrogate", "\xed\xa0\x80", "⟦U+D800⟧", "⟦U+D800⟧"},
		{"replacement character", "\ufffd", "⟦U+FFFD⟧", "⟦U+FFFD⟧"},
		{"our own brackets", "⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧", "⟦U+27E6⟧U+202E⟧"},
		{"scripts", "привет שלום مرحبا 日本語 한국어 हिन्दी ไทยนี้ Việt", "привет שלום مرحبا 日本語 한국어 हिन्दी ไทยนี้ Việt", "привет שלום مرحبا 日本語 한국어 हिन्दी ไทยนี้ Việt"},
		{"emoji", "🚀👍🏽", "🚀👍🏽", "🚀👍🏽"},
		{"joined emoji", "👩\u200d💻", "👩⟦U+200D⟧💻", "👩⟦U+200D⟧💻"},
		{"decomposed", "e\u0301", "e\u0301", "e\u0301"},
		{"mark flood", "e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + "⟦U+0301⟧⟦U+0301⟧", "e" + strings.Repeat("\u0301", 4) + "⟦U+0301⟧⟦U+0301⟧"},
		{"mark without a base", "\u0301a \u0301", "⟦U+0301⟧a ⟦U+0301⟧", "⟦U+0301⟧a ⟦U+0301⟧"},
		{"mark on a replacement", "\u200b\u0338", "⟦U+200B⟧⟦U+0338⟧", "⟦U+200B⟧⟦U+0338⟧"},
		{"enclosing mark", "a\u20dd", "a⟦U+20DD⟧", "a⟦U+20DD⟧"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.in); got != c.text {
				t.Errorf("Text(%+q) = %q, want %q", c.in, got, c.text)
			}
			if got := Line(c.in); got != c.line {
				t.Errorf("Line(%+q) = %q, want %q", c.in, got, c.line)
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
