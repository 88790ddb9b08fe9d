package show

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func TestOffsets(t *testing.T) {
	s := "echo \u202e\"ä😀\" e\u0301\u0301\u0301\u0301\u0301x"
	at := []int{0, 5, 8, 9, 11, 15, len(s), len(s) + 7, -1}
	want := []int{0, 5, 13, 14, 15, 17, 33, 33, 0}
	if got := Offsets(s, at); !slices.Equal(got, want) {
		t.Errorf("Places = %v, want %v", got, want)
	}
}

// FuzzOffsets holds every place of a text against the text that is shown before it.
func FuzzOffsets(f *testing.F) {
	for _, s := range []string{"ls", "a\u202eb", "\u0301\u0301x", "é\x80\xed\xa0\x80 😀", " \u0301 a\u0301\u0301\u0301\u0301\u0301\u0301b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			return
		}
		var at, want []int
		for i := 0; i <= len(s); i++ {
			if i < len(s) && !utf8.RuneStart(s[i]) {
				continue
			}
			at, want = append(at, i), append(want, units(Text(s[:i])))
		}
		slices.Reverse(at)
		slices.Reverse(want)
		if got := Offsets(s, at); !slices.Equal(got, want) {
			t.Errorf("Offsets(%+q, %v) = %v, want %v", s, at, got, want)
		}
	})
}
