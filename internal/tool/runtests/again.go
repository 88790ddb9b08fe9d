package main

import (
	"strings"
)

// mostAgain is how many failed tests are tried a second time. Where more fail, something is broken.
const mostAgain = 3

// again returns the failed tests that get a second try, or none. It is for the tests below e2e alone:
// they drive browsers, brokers and queues, and a machine that is busy with something else can make
// one of them late. What a test of a package says is so every time. A race or a panic is never passed
// over, nor what did not build or did not end.
func (r *report) again() []failure {
	if len(r.failed) > mostAgain {
		return nil
	}
	for _, f := range r.failed {
		if f.test == "" || !strings.HasPrefix(short(f.path), "e2e/") || r.packages[f.path].broken {
			return nil
		}
	}
	return r.failed
}

// passedAgain takes failures that passed alone from the list of what failed.
func (r *report) passedAgain(passed []failure) {
	var left []failure
next:
	for _, f := range r.failed {
		for _, p := range passed {
			if p == f {
				r.second = append(r.second, f.String())
				r.passed++
				continue next
			}
		}
		left = append(left, f)
	}
	r.failed = left
}
