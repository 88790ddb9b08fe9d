package main

import (
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestReport: what passes is counted, what fails is shown with its output, what is skipped is named.
func TestReport(t *testing.T) {
	events := []event{
		{Action: "run", Package: "assent/a", Test: "TestGood"},
		{Action: "output", Package: "assent/a", Test: "TestGood", Output: "said in vain\n"},
		{Action: "pass", Package: "assent/a", Test: "TestGood", Elapsed: 2},
		{Action: "run", Package: "assent/a", Test: "TestBad"},
		{Action: "run", Package: "assent/a", Test: "TestBad/good"},
		{Action: "output", Package: "assent/a", Test: "TestBad/good", Output: "a row that is well\n"},
		{Action: "pass", Package: "assent/a", Test: "TestBad/good"},
		{Action: "run", Package: "assent/a", Test: "TestBad/row"},
		{Action: "output", Package: "assent/a", Test: "TestBad/row", Output: "    a_test.go:4: broken\n"},
		{Action: "fail", Package: "assent/a", Test: "TestBad/row"},
		{Action: "fail", Package: "assent/a", Test: "TestBad", Elapsed: 1},
		{Action: "run", Package: "assent/a", Test: "TestSkipped"},
		{Action: "output", Package: "assent/a", Test: "TestSkipped", Output: "    a_test.go:5: no luck here\n"},
		{Action: "output", Package: "assent/a", Test: "TestSkipped", Output: "--- SKIP: TestSkipped (0.00s)\n"},
		{Action: "skip", Package: "assent/a", Test: "TestSkipped"},
		{Action: "fail", Package: "assent/a", Elapsed: 3},
		{Action: "build-output", ImportPath: "assent/b [assent/b.test]", Output: "undefined: y\n"},
		{Action: "build-fail", ImportPath: "assent/b [assent/b.test]"},
		{Action: "fail", Package: "assent/b", FailedBuild: "assent/b [assent/b.test]"},
		{Action: "run", Package: "assent/c", Test: "TestPanic"},
		{Action: "output", Package: "assent/c", Test: "TestPanic", Output: "panic: test timed out\n"},
		{Action: "fail", Package: "assent/c"},
		{Action: "skip", Package: "assent/d"},
	}
	var b strings.Builder
	r := newReport(&b, 3)
	feed(t, r, events...)
	if r.end(1) {
		t.Error("all is well")
	}
	const want = `FAILED a.TestBad
    a_test.go:4: broken
[1/3] FAILED    3.0s  a: 1 failed, 1 passed, 1 skipped
undefined: y
[2/3] FAILED    0.0s  b: 0 passed
UNFINISHED c.TestPanic
panic: test timed out
[3/3] FAILED    0.0s  c: 0 passed
    2.0s  a.TestGood
skipped: a.TestSkipped: a_test.go:5: no luck here
failed: a.TestBad
failed: b
failed: c
1 skipped
1 passed, 3 failed
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

// TestReportOfAPackageTwice: one that runs again with other flags counts once more, and what fails then is shown.
func TestReportOfAPackageTwice(t *testing.T) {
	events := []event{
		{Action: "run", Package: "assent/a", Test: "TestMany"},
		{Action: "output", Package: "assent/a", Test: "TestMany", Output: "a part of it\n"},
		{Action: "pass", Package: "assent/a", Test: "TestMany", Elapsed: 1},
		{Action: "pass", Package: "assent/a", Elapsed: 1},
		{Action: "run", Package: "assent/a", Test: "TestMany"},
		{Action: "output", Package: "assent/a", Test: "TestMany", Output: "    a_test.go:4: broken\n"},
		{Action: "fail", Package: "assent/a", Test: "TestMany", Elapsed: 2},
		{Action: "fail", Package: "assent/a", Elapsed: 2},
	}
	var b strings.Builder
	r := newReport(&b, 2)
	feed(t, r, events...)
	if r.end(0) {
		t.Error("all is well")
	}
	const want = `[1/2] ok        1.0s  a: 1 passed
FAILED a.TestMany
    a_test.go:4: broken
[2/2] FAILED    2.0s  a: 1 failed, 0 passed
failed: a.TestMany
1 passed, 1 failed
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

// TestReportIsBounded: of a test that prints without end the last is kept.
func TestReportIsBounded(t *testing.T) {
	var b strings.Builder
	r := newReport(&b, 1)
	for range mostOutput / 20 {
		feed(t, r, event{Action: "output", Package: "assent/a", Test: "TestLoud", Output: strings.Repeat("x", 59) + "\n"})
	}
	loud := r.packages["assent/a"].output["TestLoud"]
	if n := len(loud.String()); n != mostOutput || cap(loud.text) > 4*mostOutput {
		t.Errorf("%d bytes are kept, in %d", n, cap(loud.text))
	}
	if got := clip(strings.Repeat("ä", mostLine)); len(got) > mostLine+30 || !strings.HasSuffix(got, "… (4000 bytes)\n") {
		t.Errorf("a long line ends %q", got[len(got)-40:])
	}
}

// feed hands events to a report.
func feed(t *testing.T, r *report, events ...event) {
	t.Helper()
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		r.line(line)
	}
}

// TestAgain: a few tests get a second try, and nothing else does.
func TestAgain(t *testing.T) {
	test := func(path, name, action, output string) []event {
		return []event{{Action: "run", Package: path, Test: name}, {Action: "output", Package: path, Test: name, Output: output}, {Action: action, Package: path, Test: name}}
	}
	late := func(path, name string) []event { return test(path, name, "fail", "not within 1m0s\n") }
	for _, c := range []struct {
		name   string
		events [][]event
		want   []failure
	}{
		{"one", [][]event{late("assent/e2e/page", "TestLate")}, []failure{{"assent/e2e/page", "TestLate"}}},
		{"three", [][]event{late("assent/e2e/page", "TestA"), late("assent/e2e/page", "TestB"), late("assent/e2e/cli", "TestC")},
			[]failure{{"assent/e2e/page", "TestA"}, {"assent/e2e/page", "TestB"}, {"assent/e2e/cli", "TestC"}}},
		{"four", [][]event{late("assent/e2e/page", "TestA"), late("assent/e2e/page", "TestB"), late("assent/e2e/page", "TestC"), late("assent/e2e/page", "TestD")}, nil},
		{"nothing failed", [][]event{test("assent/e2e/page", "TestGood", "pass", "")}, nil},
		{"of a package", [][]event{late("assent/broker", "TestLate"), late("assent/e2e/page", "TestLate")}, []failure{{"assent/broker", "TestLate"}, {"assent/e2e/page", "TestLate"}}},
		{"a race in a package", [][]event{test("assent/broker", "TestRace", "fail", "WARNING: DATA RACE\n")}, nil},
		{"a race", [][]event{test("assent/e2e/page", "TestRace", "fail", "WARNING: DATA RACE\n")}, nil},
		{"a race in a test that passed", [][]event{test("assent/e2e/page", "TestRace", "pass", "WARNING: DATA RACE\n"), late("assent/e2e/page", "TestLate")}, nil},
		{"a panic", [][]event{test("assent/e2e/page", "TestPanic", "fail", "panic: boom\n")}, nil},
		{"a panic in a subtest", [][]event{test("assent/e2e/page", "TestPanic/sub", "fail", "the broker said: panic: boom\n"), late("assent/e2e/page", "TestPanic")}, nil},
		{"a panic elsewhere", [][]event{test("assent/e2e/cli", "TestGood", "pass", "panic: boom\n"), late("assent/e2e/page", "TestLate")}, []failure{{"assent/e2e/page", "TestLate"}}},
		{"not built", [][]event{{{Action: "fail", Package: "assent/e2e/page"}}}, nil},
		{"not ended", [][]event{late("assent/e2e/page", "TestLate"), {{Action: "run", Package: "assent/e2e/page", Test: "TestHangs"}, {Action: "fail", Package: "assent/e2e/page"}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReport(io.Discard, 1)
			for _, events := range c.events {
				feed(t, r, events...)
			}
			if got := r.again(); !slices.Equal(got, c.want) {
				t.Errorf("%v get a second try, want %v", got, c.want)
			}
		})
	}
}

// TestTimes: what is no test of whole programs has to pass often.
func TestTimes(t *testing.T) {
	for path, want := range map[string]int{"assent/e2e/page": 1, "assent/broker": 10, "assent/internal/e2e/x": 10} {
		if got := (failure{path, "TestA"}).times(); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// TestSecondTry: what passes the second time is named and counted, what fails again is a failure.
func TestSecondTry(t *testing.T) {
	for _, c := range []struct {
		name string
		pass int // of two
		ok   bool
		want string
	}{
		{"both", 2, true, "passed only the second time: e2e/page.TestA\npassed only the second time: e2e/page.TestB\n3 passed, 0 failed\n"},
		{"one", 1, false, "failed: e2e/page.TestB\npassed only the second time: e2e/page.TestA\n2 passed, 1 failed\n"},
		{"none", 0, false, "failed: e2e/page.TestA\nfailed: e2e/page.TestB\n1 passed, 2 failed\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			r := newReport(&b, 1)
			feed(t, r, event{Action: "pass", Package: "assent/a", Test: "TestGood"})
			for _, name := range []string{"TestA", "TestB"} {
				feed(t, r, event{Action: "output", Package: "assent/e2e/page", Test: name, Output: "why\n"}, event{Action: "fail", Package: "assent/e2e/page", Test: name})
			}
			r.passedAgain(slices.Clone(r.again()[:c.pass]))
			if ok := r.end(0); ok != c.ok {
				t.Errorf("all is well: %v", ok)
			}
			if want := "FAILED e2e/page.TestA\nwhy\nFAILED e2e/page.TestB\nwhy\n" + c.want; b.String() != want {
				t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

func TestSideBySide(t *testing.T) {
	groups := split([]string{"./a", "--", "-race", "++", "./e2e/...", "--", "-p", "1", "-shuffle=on", "++", "./x", "--", "-p", "4"})
	sideBySide(groups, 3)
	if got := groups; !slices.Equal(got[0].flags, []string{"-race"}) || !slices.Equal(got[1].flags, []string{"-p", "3", "-shuffle=on"}) || !slices.Equal(got[2].flags, []string{"-p", "4"}) {
		t.Errorf("%v", got)
	}
}

func TestSplit(t *testing.T) {
	got := split([]string{"./a", "./b", "--", "-race", "++", "./c", "++", "./d", "--", "-run", "X"})
	want := []group{
		{packages: []string{"./a", "./b"}, flags: []string{"-race"}},
		{packages: []string{"./c"}},
		{packages: []string{"./d"}, flags: []string{"-run", "X"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
