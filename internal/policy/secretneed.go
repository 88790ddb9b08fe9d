package policy

import (
	"slices"
	"strings"
)

// Every match of most patterns of the list of secrets has some characters in a row that few other names have.
// A name without them is compared with no pattern.

// gramSize is how many characters in a row are looked for.
const gramSize = 3

func gramOf(s string) uint32 { return uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2]) }

// grams is a set that may say yes of others, too.
type grams [1 << 9]uint64

func place(gram uint32) uint32 { return gram * 0x9e3779b1 >> 17 }

func (g *grams) add(gram uint32) { h := place(gram); g[h>>6] |= 1 << (h & 63) }

func (g *grams) has(gram uint32) bool { h := place(gram); return g[h>>6]&(1<<(h&63)) != 0 }

func (g *grams) addAll(other *grams) {
	for i := range g {
		g[i] |= other[i]
	}
}

// any says whether a part of s may be one of the set.
func (g *grams) any(s string) bool {
	for i := 0; i+gramSize <= len(s); i++ {
		if g.has(gramOf(s[i:])) {
			return true
		}
	}
	return false
}

// ends is a set of names by how they begin and end and how long they are. It may say yes of others, too.
type ends [1 << 7]uint64

func endsPlace(s string) uint32 {
	if s == "" {
		return 0
	}
	return (uint32(s[0])<<16 | uint32(s[len(s)-1])<<8 | uint32(len(s)&0xff)) * 0x9e3779b1 >> 19
}

func (e *ends) add(s string) { h := endsPlace(s); e[h>>6] |= 1 << (h & 63) }

func (e *ends) has(s string) bool { h := endsPlace(s); return e[h>>6]&(1<<(h&63)) != 0 }

// gramCount says how often a part stands in the list, or another one with the same place.
type gramCount [1 << 15]uint16

func gramCounts(text string) *gramCount {
	all := &gramCount{}
	for i := 0; i+gramSize <= len(text); i++ {
		all[place(gramOf(text[i:]))]++
	}
	return all
}

// rarest returns the part of a text that is found least often elsewhere: none with a dot, if there is a choice,
// as kinds of files have one.
func (c *gramCount) rarest(s string) uint32 {
	best, least := uint32(0), 1<<30
	for i := 0; i+gramSize <= len(s); i++ {
		gram := gramOf(s[i:])
		count := int(c[place(gram)])
		if strings.IndexByte(s[i:i+gramSize], '.') >= 0 {
			count += 1 << 16
		}
		if count < least {
			best, least = gram, count
		}
	}
	return best
}

// needed are patterns by characters that each needs.
type needed struct {
	grams grams
	by    map[uint32][]int
	rest  []int // those that need less
}

func (n *needed) add(need string, i int, often *gramCount) {
	if len(need) < gramSize {
		n.rest = append(n.rest, i)
		return
	}
	if n.by == nil {
		n.by = map[uint32][]int{}
	}
	gram := often.rarest(need)
	n.grams.add(gram)
	n.by[gram] = append(n.by[gram], i)
}

// any says whether one of the patterns that a text may match does.
func (n *needed) any(s string, match func(int) bool) bool {
	return slices.ContainsFunc(n.rest, match) || n.anyGram(s, match)
}

// anyGram is any for the patterns that need some characters.
func (n *needed) anyGram(s string, match func(int) bool) bool {
	for i := 0; i+gramSize <= len(s); i++ {
		if gram := gramOf(s[i:]); n.grams.has(gram) && slices.ContainsFunc(n.by[gram], match) {
			return true
		}
	}
	return false
}

// appendFor appends the patterns that a text which begins with s may match although it has none of the characters
// that they need behind the last two of s: those of which s holds the part that they need, or ends in how that begins.
func (n *needed) appendFor(all []int, s string, need func(int) string) []int {
	all = append(all, n.rest...)
	n.anyGram(s, func(i int) bool {
		part := need(i)
		may := strings.Contains(s, part)
		for k := gramSize; k < len(part) && !may; k++ {
			may = strings.HasSuffix(s, part[:k])
		}
		if may && !slices.Contains(all, i) {
			all = append(all, i)
		}
		return false
	})
	return all
}
