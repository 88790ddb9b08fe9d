package main

import (
	"encoding/json"
	"reflect"
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
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		r.line(line)
	}
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

// TestReportIsBounded: of a test that prints without end the last is kept.
func TestReportIsBounded(t *testing.T) {
	var b strings.Builder
	r := newReport(&b, 1)
	for range mostOutput {
		line, err := json.Marshal(event{Action: "output", Package: "assent/a", Test: "TestLoud", Output: "xx\n"})
		if err != nil {
			t.Fatal(err)
		}
		r.line(line)
	}
	if n := len(r.packages["assent/a"].output["TestLoud"]); n != mostOutput {
		t.Errorf("%d bytes are kept", n)
	}
	if got := clip(strings.Repeat("ä", mostLine)); len(got) > mostLine+30 || !strings.HasSuffix(got, "… (4000 bytes)\n") {
		t.Errorf("a long line ends %q", got[len(got)-40:])
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
