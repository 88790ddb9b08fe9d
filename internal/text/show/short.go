package show

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Short is Line for text of any length: of what is longer than max characters a head and a tail
// are left, with … in between. A line feed is written ⏎, white space around the text is left
// out.
//
// Two long texts may look the same: whoever decides by it must see the whole, too.
func Short(s string, max int) string {
	head, tail, cut := ends(strings.TrimSpace(clip(s, 16*max)), 4*max)
	head = oneLine(head)
	if !cut {
		if len(head) <= max || utf8.RuneCountInString(head) <= max {
			return head
		}
		tail = head
	} else {
		tail = oneLine(tail)
	}
	n := max - 1 // the ellipsis
	return firstRunes(head, n*2/3) + "…" + lastRunes(tail, n-n*2/3)
}

// Start is Short for what a person reads from its beginning, such as a title: of a longer text the
// end is missing.
func Start(s string, max int) string {
	head, _, cut := ends(strings.TrimSpace(clip(s, 16*max)), 4*max)
	if head = oneLine(head); !cut && utf8.RuneCountInString(head) <= max {
		return head
	}
	return strings.TrimRight(firstRunes(head, max-1), " ⏎") + "…"
}

// Excerpt is Text for text of any length: of what is longer than max bytes a head and a tail are
// left, and how much is missing stands in between.
func Excerpt(s string, max int) string {
	head, tail, cut := ends(s, max/2)
	if !cut {
		return Text(s)
	}
	return Text(head) + fmt.Sprintf("\n… %d bytes are left out here …\n", len(s)-len(head)-len(tail)) + Text(tail)
}

// clip bounds the work on a text of which only the ends are shown: its middle goes.
func clip(s string, max int) string {
	if head, tail, cut := ends(s, max/2); cut {
		return head + "…" + tail
	}
	return s
}

// ends returns the first and the last part of s, about n bytes each and cut between
// characters, and whether anything lies in between.
func ends(s string, n int) (head, tail string, cut bool) {
	if len(s) <= 2*n {
		return s, "", false
	}
	i, j := n, len(s)-n
	for i > 0 && i > n-utf8.UTFMax && !utf8.RuneStart(s[i]) {
		i--
	}
	for j < len(s) && j < len(s)-n+utf8.UTFMax && !utf8.RuneStart(s[j]) {
		j++
	}
	return s[:i], s[j:], true
}

func oneLine(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return Line(s)
	}
	parts := strings.Split(s, "\n")
	for i, p := range parts {
		parts[i] = Line(strings.TrimSuffix(p, "\r"))
	}
	return strings.Join(parts, "⏎")
}

// firstRunes returns the first n characters, without the beginning of a replacement that would
// be cut in two.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			s = s[:i]
			break
		}
		n--
	}
	if open := strings.LastIndex(s, "⟦"); open >= 0 && !strings.Contains(s[open:], "⟧") {
		s = s[:open]
	}
	return s
}

// lastRunes is firstRunes for the end.
func lastRunes(s string, n int) string {
	i := len(s)
	for ; i > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	s = s[i:]
	if end := strings.Index(s, "⟧"); end >= 0 {
		if open := strings.Index(s, "⟦"); open < 0 || open > end {
			s = s[end+len("⟧"):]
		}
	}
	return s
}
