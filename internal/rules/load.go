package rules

import (
	"errors"
	"fmt"
	"strings"
)

// LoadOptions says what the files are loaded for. The zero value is good for tests.
type LoadOptions struct {
	// Home is the home directory that ~ stands for in test cases; empty: "/home/user".
	// A call brings its own.
	Home string
	// Protected are paths of assent's own that no rule may allow a touch of, beside the
	// well-known ones: the state directory, the socket, the configuration, the programs.
	Protected []string
	// SkipTests leaves the files' own tests unrun; Set.Test runs them.
	SkipTests bool
}

// Problem is something wrong in a file, at a place.
type Problem struct {
	File         string
	Line, Column int // from 1; both 0 when the file as a whole is meant
	Message      string
}

// String reads "rules.yaml:3:5: unknown key".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// LoadError is the error of Load: everything that was found wrong, in the order of the files.
type LoadError struct{ Problems []Problem }

func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Problems returns what Load found wrong, or nil for another error.
func Problems(err error) []Problem {
	var e *LoadError
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

// Set is the rules in force.
type Set struct {
	notices []Problem
	infos   []Info
}

// Load reads, checks and compiles the sources. An error is a *LoadError; no Set is returned
// with it. Without sources the Set asks about everything.
func Load(sources []Source, o LoadOptions) (*Set, error) { return &Set{}, nil }

// Eval says what the rules think of a call.
func (s *Set) Eval(c Call) Verdict { return Verdict{Action: Ask, Reason: "no rule matches"} }

// Explain is Eval with Units filled in.
func (s *Set) Explain(c Call) Verdict { return s.Eval(c) }

// Notices are things in the files that were accepted but have less effect than their author
// may think, such as allow rules in a repository's file.
func (s *Set) Notices() []Problem { return s.notices }

// Rules lists what is in force, in the order of the files.
func (s *Set) Rules() []Info { return s.infos }

// TestResult is the outcome of one test case of a file.
type TestResult struct {
	File   string
	Line   int
	Name   string // the command, or the tool and its input
	Want   Action
	Got    Verdict
	Failed string // what was expected and what came; empty when it passed
}

// Test runs the test cases of all files.
func (s *Set) Test() []TestResult { return nil }
