package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string

	Time    time.Time
	Elapsed float64 // seconds
}

const (
	// mostOutput is how much of the end of what a test prints is kept until it is known whether it
	// fails, in bytes.
	mostOutput = 128 << 10
	// mostLine is how much of a line is shown, in bytes: what a test feeds a parser with may be long.
	mostLine = 2000
)

// report is what is known of a run. It is for one goroutine.
type report struct {
	w        io.Writer
	total    int
	packages map[string]*pkg
	ended    int // packages
	passed   int // tests
	failed   []failure
	second   []string // tests that passed only the second time
	skipped  []string
	tests    []timed
	builds   map[string]*output // by import path: what the compiler says
	hangs    map[string]string  // by package: which tests did not end
}

type pkg struct {
	passed, failed, skipped int
	cached, ended           bool
	broken                  bool // it printed what nobody may pass over, whatever comes of its tests
	running                 []string
	waiting                 []string           // parallel tests whose turn has not come
	hang                    *hang              // its time was up
	output                  map[string]*output // of the package itself ("") and of its tests and their subtests that have not passed
}

// failure is a test that failed, or a package that did not build or ended in the middle of tests.
type failure struct {
	path string
	test string // "" for the package
}

func (f failure) String() string {
	if f.test == "" {
		return short(f.path)
	}
	return short(f.path) + "." + f.test
}

// output is the end of what something printed.
type output struct{ text []byte }

func (o *output) add(s string) {
	if o.text = append(o.text, s...); len(o.text) > 2*mostOutput { // seldom: each time costs a copy
		o.text = append(o.text[:0], o.text[len(o.text)-mostOutput:]...)
	}
}

func (o *output) String() string {
	if o == nil {
		return ""
	}
	return string(o.text[max(0, len(o.text)-mostOutput):])
}

// of returns the output under a name, empty at first.
func of(m map[string]*output, name string) *output {
	if m[name] == nil {
		m[name] = &output{}
	}
	return m[name]
}

type timed struct {
	name    string
	elapsed float64
}

func newReport(w io.Writer, total int) *report {
	return &report{w: w, total: total, packages: map[string]*pkg{}, builds: map[string]*output{}, hangs: map[string]string{}}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}

// line takes a line, and says whether it printed anything.
func (r *report) line(line []byte) bool {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprint(r.w, string(line)) // go itself says something
		return true
	}
	switch e.Action {
	case "build-output":
		of(r.builds, e.ImportPath).add(e.Output)
		return false
	case "build-fail":
		return false // the package that needs it fails, too
	}
	p := r.packages[e.Package]
	if p == nil || p.ended { // a package may be run once more, with other flags
		p = &pkg{output: map[string]*output{}}
		r.packages[e.Package] = p
	}
	sub := strings.Contains(e.Test, "/")
	switch e.Action {
	case "run":
		if !sub {
			p.running = append(p.running, e.Test)
		}
	case "pause":
		if !sub {
			p.running = without(p.running, e.Test)
			p.waiting = append(p.waiting, e.Test)
		}
	case "cont":
		if !sub {
			p.waiting = without(p.waiting, e.Test)
			p.running = append(p.running, e.Test)
		}
	case "output":
		if e.Test == "" && strings.Contains(e.Output, "\t(cached)") {
			p.cached = true
		}
		if strings.Contains(e.Output, "DATA RACE") || strings.Contains(e.Output, "panic:") {
			p.broken = true
		}
		if p.hang == nil && strings.HasPrefix(e.Output, timedOut) {
			p.hang = &hang{}
		}
		if p.hang != nil {
			p.hang.line(e.Output)
		}
		of(p.output, e.Test).add(clip(e.Output))
	case "pass", "fail", "skip":
		switch {
		case e.Test == "":
			return r.packageEnded(e, p)
		case sub && e.Action == "fail": // its output is shown with that of the test that it is part of
		case sub:
			if e.Action == "skip" {
				r.skipped = append(r.skipped, name(e)+reason(p.output[e.Test].String(), e.Test))
			}
			delete(p.output, e.Test)
		default:
			return r.testEnded(e, p)
		}
	}
	return false
}

func (r *report) testEnded(e event, p *pkg) bool {
	p.running, p.waiting = without(p.running, e.Test), without(p.waiting, e.Test)
	r.tests = append(r.tests, timed{name(e), e.Elapsed})
	output := p.take(e.Test)
	switch e.Action {
	case "pass":
		p.passed++
		r.passed++
	case "skip":
		p.skipped++
		r.skipped = append(r.skipped, name(e)+reason(output, e.Test))
	case "fail":
		p.failed++
		r.failed = append(r.failed, failure{e.Package, e.Test})
		fmt.Fprintf(r.w, "FAILED %s\n%s", name(e), output)
		return true
	}
	return false
}

func (r *report) packageEnded(e event, p *pkg) bool {
	p.ended = true
	none := p.passed+p.failed+p.skipped == 0
	if e.Action == "skip" && none {
		return false // no test files
	}
	r.ended++
	verdict := "ok    "
	if e.Action == "fail" {
		verdict = "FAILED"
		if p.failed == 0 || len(p.running)+len(p.waiting) > 0 { // it did not build, or ended in the middle of tests
			r.failed = append(r.failed, failure{path: e.Package})
			fmt.Fprint(r.w, r.builds[e.FailedBuild].String(), p.output[""].String())
			for _, test := range p.running {
				fmt.Fprintf(r.w, "UNFINISHED %s.%s\n%s", short(e.Package), test, p.take(test))
			}
			waited := 0
			for _, test := range p.waiting {
				output := p.take(test)
				if strings.Count("\n"+output, "\n=== ") == strings.Count(output, "\n") { // that it waits is all that was printed
					waited++
					continue
				}
				fmt.Fprintf(r.w, "UNFINISHED %s.%s\n%s", short(e.Package), test, output)
			}
			if waited > 0 {
				fmt.Fprintf(r.w, "UNFINISHED %s: %d more tests, which waited for their turn\n", short(e.Package), waited)
			}
		}
		if p.hang != nil {
			p.hang.end()
			r.hangs[e.Package] = p.hang.why()
			fmt.Fprintf(r.w, "HANGS %s: %s\n", short(e.Package), p.hang.why())
			for _, stack := range p.hang.shown() {
				fmt.Fprintln(r.w, stack)
			}
		}
	}
	took := fmt.Sprintf("%6.1fs", e.Elapsed)
	if p.cached {
		took = " cached"
	}
	fmt.Fprintf(r.w, "[%*d/%d] %s %s  %s: %s\n", len(fmt.Sprint(r.total)), r.ended, r.total, verdict, took, short(e.Package), p.sum())
	p.output = nil
	return true
}

// take is what a test and those of its subtests that have not passed have printed, and forgets it.
func (p *pkg) take(test string) string {
	var names []string
	for name := range p.output {
		if name == test || strings.HasPrefix(name, test+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		all.WriteString(p.output[name].String())
		delete(p.output, name)
	}
	return all.String()
}

func (p *pkg) sum() string {
	s := fmt.Sprintf("%d passed", p.passed)
	if p.failed > 0 {
		s = fmt.Sprintf("%d failed, ", p.failed) + s
	}
	if p.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", p.skipped)
	}
	return s
}

// running prints what is under way.
func (r *report) running() {
	var now []string
	for path, p := range r.packages {
		if !p.ended && len(p.running) > 0 {
			const most = 4
			names := strings.Join(p.running[:min(most, len(p.running))], " ")
			if n := len(p.running) - most; n > 0 {
				names += fmt.Sprintf(" and %d more", n)
			}
			if n := len(p.waiting); n > 0 {
				names += fmt.Sprintf(" (%d wait for their turn)", n)
			}
			now = append(now, fmt.Sprintf("%s (%d passed): %s", short(path), p.passed, names))
		}
	}
	if len(now) == 0 {
		now = []string{"the tests are built"}
	}
	slices.Sort(now)
	fmt.Fprintf(r.w, "  ... %d passed; %s\n", r.passed, strings.Join(now, "; "))
}

// end prints the sums and says whether all is well. Where nothing ran nothing is.
func (r *report) end(slowest int) bool {
	slices.SortStableFunc(r.tests, func(a, b timed) int { return int(1000 * (b.elapsed - a.elapsed)) })
	for _, t := range r.tests[:min(slowest, len(r.tests))] {
		fmt.Fprintf(r.w, "%7.1fs  %s\n", t.elapsed, t.name)
	}
	for _, s := range r.skipped {
		fmt.Fprintln(r.w, "skipped:", s)
	}
	for _, f := range r.failed {
		if why := r.hangs[f.path]; why != "" && f.test == "" {
			fmt.Fprintf(r.w, "failed: %s: %s\n", f, why)
			continue
		}
		fmt.Fprintln(r.w, "failed:", f)
	}
	for _, name := range r.second {
		fmt.Fprintln(r.w, "passed only the second time:", name)
	}
	if n := len(r.skipped); n > 0 {
		fmt.Fprintf(r.w, "%d skipped\n", n)
	}
	fmt.Fprintf(r.w, "%d passed, %d failed\n", r.passed, len(r.failed))
	return len(r.failed) == 0 && r.passed > 0
}

// reason is what a skipped test said last.
func reason(output, test string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i, l := range slices.Backward(lines) {
		if strings.Contains(l, "--- SKIP: "+test+" ") && i+1 < len(lines) {
			return ": " + strings.TrimSpace(lines[i+1])
		}
	}
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "===") {
			return ": " + l
		}
	}
	return ""
}

// clip cuts a line that is too long.
func clip(line string) string {
	if len(line) <= mostLine {
		return line
	}
	return fmt.Sprintf("%s… (%d bytes)\n", strings.ToValidUTF8(line[:mostLine], ""), len(line))
}

func name(e event) string { return short(e.Package) + "." + e.Test }

func short(path string) string { return strings.TrimPrefix(path, "assent/") }
