package shell

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"assent/internal/policy/shell/bashtest"
)

// alone reads a text with a reader that has never read another.
func alone(text string, o Options) Script {
	r := &reader{opts: o}
	r.parser, r.fresh = syntax.NewParser(syntax.Variant(syntax.LangBash)), syntax.NewParser()
	r.top(text)
	if len(r.units) == 0 && len(r.doubts) == 0 {
		r.doubt(DoubtSyntax, 0, len(text), "There is no command.")
	}
	return Script{Text: text, Units: r.units, Doubts: r.doubts}
}

func sameAlone(t *testing.T, before, text string) {
	t.Helper()
	first := Borrow(before, here)
	first.Release()
	got := Borrow(text, here)
	defer got.Release()
	want := alone(text, here)
	if len(got.Units) != len(want.Units) || len(want.Units) > 0 && !reflect.DeepEqual(got.Units, want.Units) || !reflect.DeepEqual(got.Doubts, want.Doubts) {
		t.Errorf("%q is read differently after %q:\n%+v\nalone\n%+v", text, before, got, want)
	}
}

// No text changes how the next one is read.
func TestReadAfterAnother(t *testing.T) {
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			before, n := "", 0
			bashtest.Mutants(bashtest.Seeds, seed, func(text string) bool {
				sameAlone(t, before, text)
				before = text
				n++
				return n < 3000
			})
		})
	}
	wg.Wait()
}

// What Read returned stays as it is while others read.
func TestReadIsKept(t *testing.T) {
	text := "sudo ls a b | xargs rm && git -C x status > out"
	kept := Read(text, here)
	for range 10 {
		s := Borrow(strings.Repeat("echo c d e; ", 20), here)
		s.Release()
	}
	if want := alone(text, here); !reflect.DeepEqual(kept.Units, want.Units) {
		t.Errorf("it became %+v, and was %+v", kept.Units, want.Units)
	}
}

func FuzzReadAfterAnother(f *testing.F) {
	for i, s := range bashtest.Seeds {
		f.Add(strings.ReplaceAll(bashtest.Seeds[len(bashtest.Seeds)-1-i], "⏎", "\n"), strings.ReplaceAll(s, "⏎", "\n"))
	}
	f.Fuzz(func(t *testing.T, before, text string) { sameAlone(t, before, text) })
}
