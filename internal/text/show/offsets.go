package show

import (
	"slices"
	"unicode/utf16"
)

// Offsets translates offsets in s, in bytes, into offsets in Text(s), in UTF-16 code units. An offset
// inside a character becomes its beginning or its end; one beyond s becomes the end.
func Offsets(s string, at []int) []int {
	out := slices.Clone(at)
	for i, p := range out {
		out[i] = min(max(p, 0), len(s))
	}
	if plainPrefix(s, true) == len(s) {
		return out
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return out[a] - out[b] })
	// Text(s[:done]) is width wide. A visible ASCII character stands at done, or it is 0, so that
	// what follows looks the same without what is before.
	done, width := 0, 0
	for _, i := range order {
		p := out[i]
		q := min(p, len(s)-1)
		for q > done && (s[q] <= ' ' || s[q] >= 0x7f) {
			q--
		}
		if q > done {
			width += units(Text(s[done:q]))
			done = q
		}
		out[i] = width + units(Text(s[done:p]))
	}
	return out
}

// units is the length of a text in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
