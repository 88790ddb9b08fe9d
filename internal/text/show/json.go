package show

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns the JSON text b with everything in it that Text would replace written as \u
// escapes, so that it means the same and is safe on a terminal: JSON may hold the C1 controls,
// which terminals obey, and bidirectional ones as they are. Bytes that are no UTF-8 become
// \ufffd, as which every reader takes them. White space between the values stays.
func JSON(b []byte) []byte {
	i := 0
	for i < len(b) && b[i] < 0x7f {
		i++
	}
	if i == len(b) {
		return b
	}
	out := append(make([]byte, 0, len(b)+64), b[:i]...)
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r < 0x7f, safe(r):
			out = append(out, b[i:i+n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
