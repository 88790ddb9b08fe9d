package secrets

import (
	"path"
	"testing"
)

// FuzzFits: what is compared by a shorter way is what package path says.
func FuzzFits(f *testing.F) {
	for _, p := range []string{"*a*", "a*", "*.b", "a?c", "*-[0-9].json", "a", "*", "[^a]b*", "a*b*c", "**x**", "*a*b*", "é*ü"} {
		f.Add(p, "a.b")
		f.Add(p, "ab-1.json")
		f.Add(p, "éaü")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || !valid(pattern) || !valid(name) {
			return // the list has none, and names have no slash
		}
		if want, err := path.Match(pattern, name); err == nil && fits(pattern, name) != want {
			t.Errorf("%q, %q: %v", pattern, name, !want)
		}
	})
}

// valid: the list has no such characters in its patterns.
func valid(s string) bool {
	for _, r := range s {
		if r == '/' || r == '\\' || r == '\uFFFD' {
			return false
		}
	}
	return true
}
