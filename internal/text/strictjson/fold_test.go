package strictjson

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestFoldIsTheUnion: of all runes, those that any way of ignoring case takes for each other.
func TestFoldIsTheUnion(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		f := Fold(string(r))
		for _, other := range []rune{unicode.SimpleFold(r), unicode.ToLower(r), unicode.ToUpper(r), unicode.ToTitle(r), unicode.ToLower(unicode.ToUpper(r)), unicode.ToUpper(unicode.ToLower(r))} {
			if Fold(string(other)) != f {
				t.Errorf("%U folds to %+q, %U to %+q", r, f, other, Fold(string(other)))
			}
		}
		if Fold(f) != f {
			t.Errorf("%U folds to %+q, and that to %+q", r, f, Fold(f))
		}
		if r < utf8.RuneSelf && unicode.ToLower(r) == r && f != string(r) {
			t.Errorf("%q is not itself", r)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range [][2]string{{"tool_name", "TOOL_NAME"}, {"k", "\u212a"}, {"s", "\u017f"}, {"i", "\u0131"}, {"\u0130d", "id"}, {"\xff", "\ufffd"}, {"\ufffd\ufffd", "\ufffd"}, {"\u03c2", "\u03a3"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := strings.ToValidUTF8(a, "\ufffd"), strings.ToValidUTF8(b, "\ufffd")
		same := strings.EqualFold(x, y)
		for _, form := range []func(string) string{
			strings.ToLower, strings.ToUpper,
			func(s string) string { return strings.ToLower(strings.ToUpper(s)) },
		} {
			same = same || form(x) == form(y)
		}
		if same && Fold(a) != Fold(b) {
			t.Errorf("%+q and %+q fold to %+q and %+q", a, b, Fold(a), Fold(b))
		}
		if Fold(Fold(a)) != Fold(a) {
			t.Errorf("%+q folds to %+q, and that to %+q", a, Fold(a), Fold(Fold(a)))
		}
	})
}
