package shell

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestEmoji: what nobody sees within an emoji is no doubt where it certainly is a part of it, and one everywhere
// else.
func TestEmoji(t *testing.T) {
	doubted := func(command string) bool {
		return slices.ContainsFunc(Read(command, Options{}).Doubts, func(d Doubt) bool { return d.Code == DoubtCharacter })
	}
	for _, good := range []string{
		"\u2764\ufe0f", "\u26a0\ufe0f", "\u2705", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", // heart, warning, tick, thumb, flag
		"\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f3fd\u200d\U0001f4bb", // who writes programs
		"\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",                       // a family
		"\U0001f9d1\U0001f3fb\u200d\U0001f91d\u200d\U0001f9d1\U0001f3ff",                   // hand in hand
		"\U0001f9d1\U0001f3fb\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f9d1\U0001f3fc", // a kiss
		"\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f3f4\u200d\u2620\ufe0f",                 // rainbow, pirates
		"\U0001f575\ufe0f\u200d\u2642\ufe0f", "\U0001f575\U0001f3fd\u200d\u2642\ufe0f", // a detective
		"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", // England
		"1\ufe0f\u20e3", "0\ufe0f\u20e39\ufe0f\u20e3", "step 2\ufe0f\u20e3\u2764\ufe0f", // keys
		"\u2764\ufe0f\u2764\ufe0f\U0001f469\u200d\U0001f4bbx\U0001f469\u200d\U0001f4bb", "\u2764\ufe0fls", // one after the other
	} {
		if doubted("git commit -m '" + good + "'") {
			t.Errorf("%+q is doubted", good)
		}
	}
	for _, bad := range []string{
		"\u200d", "a\u200db", "\u06cc\u200d", "\U0001f469\u200d", "\U0001f469\u200d ", "\u200d\U0001f4bb", "\U0001f469\u200d\u200d\U0001f4bb",
		"a\ufe0f", "\ufe0f", "\u2705\ufe0f", "\u2764\ufe0f\ufe0f", "\u2764\ufe0e", "1\ufe0f", // not where it changes anything
		"\U0001f4bb\u200d\U0001f4bb", "\U0001f469\u200dx", "\U0001f469\u200d\U0001f4bb\u200d", "\U0001f469\u200d\U0001f4bb\u200d\U0001f4bb", // no such picture
		"\U0001f3f3\u200d\U0001f308", "\u26f9\u200d\u2642", // not written in full
		"\U0001f469\u200b\U0001f4bb", "\U0001f469\u2060\u200d\U0001f4bb", "\U0001f469\u202e\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb\u202e",
		"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067", "\U0001f3f4\U000e0075\U000e0073\U000e007f", "\U0001f3f4\U000e0067\U000e007f", // no flags
		"\ufe0f\u20e3", "x\ufe0f\u20e3", "#\ufe0f\u20e3", "*\ufe0f\u20e3", "1\ufe0f\u20e3\ufe0f\u20e3", "\u0661\ufe0f\u20e3", "1\ufe0f\u200d\u20e3",
		"\u2764\ufe0f\u202e", "\u2764\ufe0f\u200b", "\u2764\ufe0f\U000e0067",
	} {
		if !doubted("git commit -m '" + bad + "'") {
			t.Errorf("%+q is not doubted", bad)
		}
	}
}

// TestEmojiTable: the table holds what is seen only.
func TestEmojiTable(t *testing.T) {
	for _, c := range joinedPictures + drawnAsText {
		if c != ' ' && (!visible(c) || !unicode.IsGraphic(c)) {
			t.Errorf("%U is not seen", c)
		}
	}
	if n := len(strings.Fields(joinedPictures)); n < 250 {
		t.Errorf("%d sequences", n)
	}
}

// FuzzEmoji: an emoji begins and ends with something that is seen, or with the mark that belongs to it, and is
// found wherever it stands.
func FuzzEmoji(f *testing.F) {
	f.Add("\U0001f469\u200d\U0001f4bb")
	f.Add("\u2764\ufe0f\u200d\U0001f525")
	f.Fuzz(func(t *testing.T, text string) {
		n := emojiLength(text)
		if n == 0 {
			return
		}
		if n > len(text) || emojiLength(text[:n]) != n {
			t.Errorf("%+q: %d", text, n)
		}
		if strings.HasSuffix(text[:n], string(joiner)) {
			t.Errorf("%+q ends in a joiner", text[:n])
		}
		seen := 0
		for _, c := range text[:n] {
			if visible(c) {
				seen++
			}
		}
		if hidden := len([]rune(text[:n])) - seen; seen == 0 || hidden > 2*seen && !slices.Contains(flags, text[:n]) {
			t.Errorf("%+q hides %d behind %d", text[:n], hidden, seen)
		}
	})
}
