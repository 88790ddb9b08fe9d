package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"assent/internal/policy/shell"
)

// The rows of side doors that are looked at for a first word are all that apply.
func TestSideDoorsByFirstWord(t *testing.T) {
	plain := func(w string) shell.Word { return shell.Word{Text: w, Prefix: w, Static: true} }
	all := []shell.Word{plain("-x"), plain("--x"), plain("+x"), plain(""), plain("x"), {Text: "$x"}, {Text: "a$x", Prefix: "a"}, {Text: "./$x", Prefix: "./"}}
	r := rand.New(rand.NewPCG(1, 2))
	for name, doors := range sideTable() {
		var subs []string
		for _, row := range doors.rows {
			for _, alternatives := range row.subs {
				subs = append(subs, alternatives...)
			}
		}
		for range 300 {
			var words []shell.Word
			for range r.IntN(4) {
				if len(subs) > 0 && r.IntN(3) > 0 {
					words = append(words, plain(subs[r.IntN(len(subs))]))
				} else {
					words = append(words, all[r.IntN(len(all))])
				}
			}
			want := uint64(0)
			for i, row := range doors.rows {
				if _, ok := row.applies(words); ok {
					want |= 1 << i
				}
			}
			if got, _ := doors.applying(words); got != want && len(doors.rows) <= 64 {
				t.Errorf("%s %v: rows %b, want %b", name, words, got, want)
			}
		}
	}
}

// The rows of alike commands that are left out for a first word are none that a command has.
func TestAlikeByFirstWord(t *testing.T) {
	for name, rows := range alikeTable() {
		firsts := []string{"x", "-x", "--x", ""}
		for _, row := range rows {
			firsts = append(firsts, row.words...)
			firsts = append(firsts, row.flags...)
		}
		for _, first := range firsts {
			for _, second := range []string{"", "x", firsts[len(firsts)-1]} {
				argv := []shell.Word{{Text: name, Prefix: name, Static: true}, {Text: first, Prefix: first, Static: true}, {Text: second, Prefix: second, Static: true}}
				want, got := 0, 0
				for i := range rows {
					if _, is := rows[i].rest(argv[1:]); is {
						want++
					}
				}
				for range programOf(name).alikeCommands(name, argv) {
					got++
				}
				if got != want {
					t.Errorf("%s %s %s: %d rows, want %d", name, first, second, got, want)
				}
			}
		}
	}
}

// A text pattern fits what it fits without the look for the part that each match has.
func FuzzTextGlobNeed(f *testing.F) {
	f.Add("--*=ext::*", "--upload-pack=ext::sh")
	f.Add("*", "")
	f.Add("a**b*", "aXbYb")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		g := textGlob(pattern)
		if len(pattern) > 100 || len(s) > 200 || g.exact {
			return
		}
		if got, want := g.match(s), matchTokens(g.tokens, s); got != want {
			t.Errorf("%q and %q: %v, want %v", pattern, s, got, want)
		}
	})
}

// A text stands across a slash where it stands in the whole, and not in one of the halves.
func FuzzAcross(f *testing.F) {
	f.Add(".aws/cred", "/p/.aws", "credentials")
	f.Add("/", "a", "b")
	f.Add("a/b/c", "x/a", "b/c")
	f.Fuzz(func(t *testing.T, text, dir, name string) {
		if strings.Contains(dir, text) || strings.Contains(name, text) || text == "" {
			return
		}
		whole := strings.Contains(dir+"/"+name, text)
		if got := across(text, dir, name); got != whole {
			t.Errorf("%q in %q and %q: %v", text, dir, name, got)
		}
	})
}
