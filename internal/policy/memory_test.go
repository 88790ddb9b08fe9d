package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assent/internal/policy/shell/bashtest"
)

// everyWord yields the words of all tables, as names of files, each once.
func everyWord(t *testing.T, yield func(string)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range strings.Fields(string(data)) {
			if !seen[w] {
				seen[w] = true
				yield(w)
			}
		}
	}
}

// What is remembered of places says of each path what is said without a memory.
func TestPlacesRemembered(t *testing.T) {
	for turn, e := range []surroundings{
		{cwd: "/home/user/project", project: "/home/user/project", home: "/home/user"},
		{cwd: "/w", project: "/", home: "/"}, {cwd: "/home/user", project: "/home/user", home: "/home/user"}, {cwd: "/srv/x", project: "/srv", home: "/root", realHome: "/var/root"},
	} {
		kept, n, word := e, 0, turn
		everyWord(t, func(w string) {
			// Each word with every directory is half a minute under the race detector: they take turns.
			if word++; word%4 != 0 {
				return
			}
			for _, dir := range []string{e.cwd, "/", "/home/other/.config", "/root", "/u/x/y/", "/var/run/user/1000", "/private/etc", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r", "/users"} {
				at, ok := e.resolvePath(dir, w)
				if !ok {
					continue
				}
				n++
				fresh := e
				if got, want := kept.secretPath(at.spelled), fresh.secretPath(at.spelled); got != want {
					t.Fatalf("%s: %v, alone %v", at.spelled, got, want)
				}
				parts := strings.Split(fold(at.spelled)[1:], "/")
				want, inHome := e.homePath(fold(at.spelled), parts)
				folded := fold(at.spelled)
				slash := strings.LastIndexByte(folded, '/')
				got, is := "", false
				if i := fresh.place(folded[:slash]).homeAt; i > 0 && i < len(folded) {
					got, is = folded[i:], true
				}
				if got != want || is != inHome {
					t.Fatalf("%s below a home: %q %v, want %q %v", at.spelled, got, is, want, inHome)
				}
			}
		})
		if n < 10_000 {
			t.Fatalf("%d paths", n)
		}
	}
}

// The shorter ways through patterns lead to where the long one does.
func FuzzPlainGlob(f *testing.F) {
	for _, s := range [][2]string{{"*a*b", "xaab"}, {"a*/b*", "ax/bx"}, {"*a*b/c", "ab/ab/c"}, {"?*[a-c]x", "zzbx"}, {"***", ""}, {"*.p?m", "x.pem"}, {"a/*", "a/b/c"}, {"*/*", "/"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 60 || len(text) > 200 {
			return
		}
		for _, g := range []glob{textGlob(pattern), func() glob { g, _ := pathGlob(pattern); return g }()} {
			if g.exact || g.tokens == nil || !g.plain {
				continue
			}
			if got, want := matchPlain(g.tokens, text), matchTokens(g.tokens, text); got != want {
				t.Errorf("%q matches %q: %v, want %v", pattern, text, got, want)
			}
		}
	})
}

// A long script that does the same again gets the answer of one in which nothing is remembered, which is
// what Explain gives.
func TestRepeatsRemembered(t *testing.T) {
	s := load(t, "version: 1\nuse: ["+strings.Join(Packs(), ", ")+"]\ndeny: ['Bash(rm *)', 'Bash(git push *)', 'Read(.env)']\nask: ['Bash(curl *)', 'Edit(docs/**)']\n")
	for _, seed := range bashtest.Seeds {
		line := strings.ReplaceAll(seed, "⏎", "\n")
		for _, all := range []string{strings.Repeat(line+"\n", 20), strings.Repeat(line+"\nls src; cat a.txt\ncat .env | head\n", 12), "cd sub\n" + strings.Repeat(line+"; rm x\n", 20)} {
			c := bash(all)
			got, want := s.Eval(c), s.Explain(c).Verdict
			if !reflect.DeepEqual(got, want) {
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(want)
				t.Errorf("%q:\n%s\n%s", all, a, b)
			}
		}
	}
}
