package main

import (
	"strings"
)

// mostAgain is how many failed tests are tried a second time. Where more fail, something is broken.
const mostAgain = 3

// again returns the failed tests that get a second try, or none: a machine that is busy with something
// else can make one of them late. A race or a panic is never passed over, nor what did not build or did
// not end.
func (r *report) again() []failure {
	if len(r.failed) > mostAgain {
		return nil
	}
	for _, f := range r.failed {
		if f.test == "" || r.packages[f.path].broken {
			return nil
		}
	}
	return r.failed
}

// times is how often in a row f has to pass in its second try. Those below e2e drive browsers, brokers
// and queues and take long. What a test of a package says should be so every time, so once is not enough.
func (f failure) times() int {
	if strings.HasPrefix(short(f.path), "e2e/") {
		return 1
	}
	return 10
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
