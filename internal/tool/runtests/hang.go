package main

import (
	"fmt"
	"slices"
	"strings"
)

// hang is what a package printed when its time was up: which tests had not ended, and where they
// stood. It is kept apart, as the stacks of all the goroutines of a test with servers are longer than
// what is kept of its output, and than anybody reads.
type hang struct {
	after  string   // the time it had
	tests  []string // that were running, with how long
	stacks []string // of the tests, shortened
	others []string // of goroutines that tests started
	block  []string // the lines of the goroutine that is being read
}

// mostStacks is how many goroutines of a hanging package are shown.
const mostStacks = 12

const timedOut = "panic: test timed out after "

// line takes a line of a package's output, once one began with timedOut.
func (h *hang) line(s string) {
	s = strings.TrimRight(s, "\n")
	if after, ok := strings.CutPrefix(s, timedOut); ok {
		*h = hang{after: after}
		return
	}
	test, listed := strings.CutPrefix(s, "\t\t")
	switch {
	case strings.HasPrefix(s, "goroutine "):
		h.end()
		h.block = []string{s}
	case len(h.block) > 0 && s != "":
		h.block = append(h.block, s)
	case listed && len(h.stacks)+len(h.others) == 0:
		h.tests = append(h.tests, test)
	default:
		h.end()
	}
}

// end keeps the goroutine that was read, if it is in a test and does not wait for another one.
func (h *hang) end() {
	block := h.block
	h.block = nil
	if len(block) < 2 || strings.HasPrefix(block[1], "testing.") {
		return
	}
	text := []string{"  " + block[0]}
	inTest := false
	for call, at := range frames(block[1:]) {
		if len(text) == 1 || strings.HasPrefix(strings.TrimPrefix(call, "created by "), "assent/") {
			text = append(text, "    "+call+" "+at)
		}
		inTest = inTest || strings.Contains(at, "_test.go:")
	}
	to := &h.others
	if strings.HasPrefix(block[max(1, len(block)-2)], "created by testing.(*T).Run ") {
		to = &h.stacks
	}
	if inTest && len(*to) < mostStacks {
		*to = append(*to, strings.Join(text, "\n"))
	}
}

// shown are the stacks to look at, those of the tests first.
func (h *hang) shown() []string {
	all := slices.Concat(h.stacks, h.others)
	return all[:min(mostStacks, len(all))]
}

// frames are the calls of a goroutine, each with where it is in the source.
func frames(lines []string) func(yield func(call, at string) bool) {
	return func(yield func(call, at string) bool) {
		for pair := range slices.Chunk(lines, 2) {
			if len(pair) < 2 {
				return
			}
			at, _, _ := strings.Cut(strings.TrimSpace(pair[1]), " +0x")
			if !yield(clip(pair[0]), at[strings.LastIndex(at, "/")+1:]) {
				return
			}
		}
	}
}

// why says in a line what hangs.
func (h *hang) why() string {
	return fmt.Sprintf("not ended after %s: %s", h.after, strings.Join(h.tests, ", "))
}
