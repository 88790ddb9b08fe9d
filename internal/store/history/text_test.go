package history

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/feed"
	"assent/internal/hook"
)

func TestSearchTerms(t *testing.T) {
	for in, want := range map[string][]string{
		"":                           nil,
		"  -- ... \x00":              nil,
		`""`:                         nil,
		"go test":                    {`"go"*`, `"test"*`},
		`"go test" ./internal`:       {`"go test"`, `"./internal"*`},
		`AND OR NOT NEAR(a b)`:       {`"AND"*`, `"OR"*`, `"NOT"*`, `"NEAR(a"*`, `"b)"`},
		`title:x * ^y "z`:            {`"title:x"*`, `"^y"`, `"z"`},
		"a":                          {`"a"`},
		"x\x00y":                     {`"x"`, `"y"`},
		"file.go.":                   {`"file.go."`},
		"\xffgrün\xff":               {`"grün"*`},
		strings.Repeat("word ", 100): slices.Repeat([]string{`"word"*`}, maxTerms),
	} {
		var got []string
		for _, term := range searchTerms(in) {
			if term.begins {
				got = append(got, term.prefix())
			} else {
				got = append(got, term.text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q gave %q, want %q", in, got, want)
		}
	}
}

// Whatever a person types, FTS5 takes it.
func FuzzSearchTerms(f *testing.F) {
	for _, s := range []string{`a"b`, `NEAR(x, 3)`, "\x00", "{text}: x", "-x", `"`, "ä\u0301", "\ue000", "٣"} {
		f.Add(s)
	}
	d, err := openDB(filepath.Join(f.TempDir(), "history.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { d.close() })
	f.Fuzz(func(t *testing.T, s string) {
		for _, term := range searchTerms(s) {
			for _, match := range []string{term.text, term.prefix()} {
				var n int
				if err := d.read.QueryRow("SELECT count(*) FROM search WHERE search MATCH ?", match).Scan(&n); err != nil {
					t.Errorf("%q: %v", match, err)
				}
			}
		}
	})
}

func TestSearchText(t *testing.T) {
	ev := feed.Event{Title: "● Bash(ls)", Body: "ls -l"}
	p, d := &hook.Payload{ToolName: "Bash"}, &hook.Detail{ToolArg: "ls -l /srv", Message: "a\x00b\xff", Prompt: strings.Repeat("ö", maxText)}
	got := searchText(&ev, p, d)
	if !strings.HasPrefix(got, "● Bash(ls)\nls -l\nls -l /srv\n") || len(got) > maxText || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
	ev.UI.Hidden = true
	if got := searchText(&ev, p, d); got != "" {
		t.Errorf("what is hidden is found by %q", got)
	}
}

// pack keeps every byte, and unpack refuses what pack did not make.
func TestPack(t *testing.T) {
	for _, n := range []int{0, 1, packFrom, 100_000} {
		in := []byte(strings.Repeat("x\x00y", n))[:n]
		out, err := unpack(pack(in))
		if err != nil || string(out) != string(in) {
			t.Errorf("%d bytes came back as %d, %v", n, len(out), err)
		}
	}
	for _, bad := range [][]byte{nil, {7}, {packedS2, 0xff, 0xff}} {
		if _, err := unpack(bad); err == nil {
			t.Errorf("%x was unpacked", bad)
		}
	}
}
