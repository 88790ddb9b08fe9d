package shell

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assent/internal/policy/shell/bashtest"
)

// FuzzRead looks for texts that break a promise: no panic, places within the text, bounds kept,
// and nothing without a doubt that holds what must always be doubted.
func FuzzRead(f *testing.F) {
	for _, s := range bashtest.Seeds {
		f.Add(strings.ReplaceAll(s, "⏎", "\n"), true)
	}
	for _, s := range bashtest.Fragments {
		f.Add("ls "+s, false)
	}
	f.Fuzz(func(t *testing.T, text string, zsh bool) {
		o := here
		o.Zsh = zsh
		s := Read(text, o)
		if len(s.Units) > maxUnits || len(s.Doubts) > maxDoubts+1 {
			t.Errorf("%d units, %d doubts", len(s.Units), len(s.Doubts))
		}
		if len(s.Units) == 0 && len(s.Doubts) == 0 {
			t.Errorf("nothing found in %q", text)
		}
		if len(s.Doubts) == 0 && (!utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\x7f\u202e\u200b") || strings.HasSuffix(text, `\`) && !strings.HasSuffix(text, `\\`)) {
			t.Errorf("no doubt about %q", text)
		}
		for _, u := range s.Units {
			if u.Start < 0 || u.End > len(text) || u.Start > u.End || u.Of >= len(s.Units) || u.Out >= len(s.Units) {
				t.Errorf("unit %+v of %q", u, text)
			}
			if u.Kind == Command && len(u.Argv) == 0 {
				t.Errorf("a command without a program in %q", text)
			}
			if u.Kind == Opaque && len(s.Doubts) == 0 {
				t.Errorf("an opaque unit without doubt in %q", text)
			}
			if u.Out >= 0 && s.Units[u.Out].Kind != Write || u.Of >= 0 && s.Units[u.Of].Kind == Write {
				t.Errorf("unit %+v of %q points at the wrong one", u, text)
			}
		}
	})
}
