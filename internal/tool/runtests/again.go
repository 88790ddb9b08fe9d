package main

import (
	"strings"
)

// mostAgain is how many failed tests are tried a second time. Where more fail, something is broken.
const mostAgain = 3

// unitTries is how often in a row a failed test of a package must pass before its failure is passed over.
const unitTries = 10

// again returns the failed tests that get a second try, or none. Tests below e2e drive browsers, brokers
// and queues, and a machine that is busy with something else can make one of them late. A test of a
// package has to pass unitTries times then, and is named as unsteady. A race or a panic is never passed
// over, nor what did not build or did not end.
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

// tries is how often in a row f must pass.
func (f failure) tries() int {
	if strings.HasPrefix(short(f.path), "e2e/") {
		return 1
	}
	return unitTries
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
