package strictjson

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold maps keys that some reader may take for each other to one text, which is the key itself
// where it has lower-case ASCII letters, digits and marks only.
//
// It is the union of what readers do: encoding/json and strings.EqualFold go by Unicode's simple
// case folding (K and the Kelvin sign, s and the long s), others by lower or upper case (the dotted
// and the dotless i too). All that is no Unicode text counts as one U+FFFD, however much of it
// stands together: readers differ in how many they make of it.
func Fold(key string) string {
	for i := 0; i < len(key); i++ {
		if c := key[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return foldAll(key)
		}
	}
	return key
}

func foldAll(key string) string {
	var b strings.Builder
	b.Grow(len(key))
	broken := false
	for _, r := range key {
		if r == utf8.RuneError && broken {
			continue
		}
		broken = r == utf8.RuneError
		b.WriteRune(foldRune(r))
	}
	return b.String()
}

// foldRune is the same for all runes that are each other's upper, lower, title or folded case.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	r = unicode.ToLower(unicode.ToUpper(r))
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// Variant returns the first of known that some reader may take another key for.
func Variant(members []Member, known ...string) (name string, found bool) {
	for _, m := range members {
		if f := Fold(m.Key); f != m.Key || !slices.Contains(known, f) {
			for _, k := range known {
				if m.Key != k && f == Fold(k) {
					return k, true
				}
			}
		}
	}
	return "", false
}

// Repeated returns the first key that some reader may take for one before it.
func Repeated(members []Member) (key string, found bool) {
	var seen keys
	for _, m := range members {
		if !seen.add(Fold(m.Key)) {
			return m.Key, true
		}
	}
	return "", false
}

// keys are the folded keys of one object.
type keys struct {
	few  []string
	many map[string]struct{}
}

// fewKeys are compared faster than they are hashed.
const fewKeys = 12

// clear forgets the keys, and keeps the memory for a few.
func (k *keys) clear() { k.few, k.many = k.few[:0], nil }

// add reports whether the key is new.
func (k *keys) add(key string) bool {
	if k.many == nil {
		for _, s := range k.few {
			if s == key {
				return false
			}
		}
		if len(k.few) < fewKeys {
			k.few = append(k.few, key)
			return true
		}
		k.many = make(map[string]struct{}, 4*fewKeys)
		for _, s := range k.few {
			k.many[s] = struct{}{}
		}
	}
	if _, ok := k.many[key]; ok {
		return false
	}
	k.many[key] = struct{}{}
	return true
}
