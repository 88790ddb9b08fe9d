package effects_test

import (
	"slices"
	"testing"
	"time"

	"assent/internal/policy/effects"
	"assent/internal/policy/shell"
)

// line206 has 206 characters and eight commands, of the kind that agents write.
const line206 = `ls src && git status --short | head -n 20; grep -rn "TODO" internal cmd | sort | uniq -c && go test ./internal/... -run TestX -count=1 2>&1 | tail -n 40 && echo "all of the tests have now passed, thank you"`

// BenchmarkEffects reports the cost of the effects of a command, which begin with reading it, as a ratio to
// reading the same text in the same run, and what they take beyond that. Both alternate, and their medians count: a machine that others use is sometimes busy.
func BenchmarkEffects(b *testing.B) {
	if len(line206) != 206 {
		b.Fatalf("%d characters", len(line206))
	}
	of := effects.Func("/home/dev")
	req := bash(b, line206, "/srv/shop")
	of(req)
	b.ReportAllocs()
	var took [2][]time.Duration
	for b.Loop() {
		for i, f := range []func(){
			func() { of(req) },
			func() {
				script := shell.Borrow(line206, shell.Options{Dir: "/srv/shop", Home: "/home/dev", Project: "/srv/shop", Zsh: true})
				script.Release()
			},
		} {
			begun := time.Now()
			f() // one at a time: on a busy machine a longer turn is seldom left alone
			took[i] = append(took[i], time.Since(begun))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	ours, theirs := took[0][len(took[0])/2], took[1][len(took[1])/2]
	beyond := float64(ours - theirs)
	b.ReportMetric(beyond/float64(theirs), "x-beyond")
	b.ReportMetric(beyond/float64(20*time.Microsecond), "x-of-20µs")
}
