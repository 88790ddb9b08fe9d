package strictjson

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var objects = flag.Int("objects", 50_000, "how many texts TestGenerated makes and compares")

// TestGenerated compares with encoding/json over texts that are made of what readers differ in: keys
// in many spellings, broken characters, deep and damaged texts.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		*objects /= 10
	}
	read, ambiguous := 0, 0
	for i := range *objects {
		r := rand.New(rand.NewPCG(0, uint64(i)))
		text := generate(r, nil, 4)
		if r.IntN(2) == 0 {
			text = damage(r, text)
		}
		compare(t, text)
		if _, err := Object(text); err == nil {
			read++
			if Ambiguous(text, 200) != nil {
				ambiguous++
			}
		}
	}
	if read == 0 || ambiguous == 0 || read == *objects {
		t.Error("the texts show nothing")
	}
	figure := fmt.Sprintf("%d texts, of these %d objects, of these %d ambiguous: each read as encoding/json reads it", *objects, read, ambiguous)
	t.Log(figure)
	if doc, err := os.ReadFile("../../../docs/json.md"); err != nil || *objects == 1_000_000 && !strings.Contains(string(doc), "> "+figure+"\n") {
		t.Errorf("docs/json.md has another figure (%v)", err)
	}
}

var pieces = []string{
	"tool_name", "tool_input", "session_id", "command", "id", "input", "a", "A", "b", "", "tool_Name", "TOOL_NAME",
	"k", "K", "\u212a", "s", "\u017f", "i", "I", "\u0130", "\u0131", "\u00df", "\u1e9e", "\u03c2", "\u03c3", "\u03a3", "\u00b5", "\u03bc", "\u01c6", "\u01c5",
	"tool_\u0131nput", "se\u017f\u017fion_id", `\u0061`, `\u004b`, `\u212a`, `tool_\u006eame`, `\n`, `\/`, `\"`, `\\`,
	`\ud800`, `\udc00`, `\ud83d\ude00`, "\U0001f600", "\xff", "\xed\xa0\x80", "\xf0\x9f\x98", "\ufffd", `\ufffd`, `\ufffd\ufffd`, "\u00e9", "e\u0301",
}

var scalars = []string{"0", "-0", "1e5", "1.50", "-1.5E+3", "123456789012345678901", "1e999", "true", "false", "null", `""`, "{}", "[]"}

var broken = []string{"-", "01", "1.", "tru", "NaN", `"x`, `"\x"`, "\"\x01\"", "'a'", "//", `"\u12"`}

// generate appends a JSON text, now and then with something broken in it.
func generate(r *rand.Rand, b []byte, depth int) []byte {
	list := func(begin, end byte, n int, element func()) {
		b = append(b, begin)
		for i := range r.IntN(n) {
			if i > 0 {
				b = append(b, ',')
			}
			element()
		}
		b = append(b, end)
	}
	text := func() {
		b = append(b, '"')
		for range 1 + r.IntN(8)/7 {
			b = append(b, pieces[r.IntN(len(pieces))]...)
		}
		b = append(b, '"')
	}
	blank := func() {
		for r.IntN(12) == 0 {
			b = append(b, " \t\r\n"[r.IntN(4)])
		}
	}
	blank()
	switch k := r.IntN(12); {
	case depth == 4 || depth > 0 && k < 5:
		list('{', '}', 5, func() {
			blank()
			text()
			blank()
			b = append(b, ':')
			b = generate(r, b, depth-1)
		})
	case depth > 0 && k == 5:
		list('[', ']', 4, func() { b = generate(r, b, depth-1) })
	case k < 8:
		text()
	case r.IntN(60) == 0:
		b = append(b, broken[r.IntN(len(broken))]...)
	default:
		b = append(b, scalars[r.IntN(len(scalars))]...)
	}
	blank()
	return b
}

// damage cuts, doubles and changes a text.
func damage(r *rand.Rand, b []byte) []byte {
	for len(b) > 0 && r.IntN(3) == 0 {
		i := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b = b[:i]
		case 1:
			b[i] = byte(r.IntN(256))
		case 2:
			b = append(b[:i:i], b[i+1:]...)
		case 3:
			b = append(b[:i:i], append([]byte{`{}[]",:\ `[r.IntN(9)]}, b[i:]...)...)
		case 4:
			b = append(b, []string{" ", "\n", "{}", "x", "]", "}", ",", "\x00", "\ufeff"}[r.IntN(9)]...)
		case 5:
			b = append(b[:i+r.IntN(len(b)-i):len(b)], b[i:]...)
		}
	}
	return b
}
