package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestHang: of a package whose time was up, the tests that had not ended are named, with where they
// stood, in a few lines at the end; those that waited for their turn are counted.
func TestHang(t *testing.T) {
	// As `go test -json -timeout 3s -trimpath` printed it, with less of it and a NATS server more.
	const output = `panic: test timed out after 3s
	running tests:
		TestSub (3s)
		TestSub/x (3s)

goroutine 18 [running]:
testing.(*M).startAlarm.func1()
	testing/testing.go:2802 +0x354
created by time.goFunc
	time/sleep.go:215 +0x2d

goroutine 1 [chan receive]:
testing.(*T).Run(0x1ead5ceaa008, {0x586477?, 0x0?}, 0x593f00)
	testing/testing.go:2109 +0x4e5
main.main()
	_testmain.go:52 +0x9b

goroutine 6 [chan receive]:
testing.(*T).Parallel(0x1ead5ceaa248)
	testing/testing.go:1803 +0x230
assent/a.TestWaits(0x1ead5ceaa248?)
	assent/a/a_test.go:5 +0x13
testing.tRunner(0x1ead5ceaa248, 0x593ee8)
	testing/testing.go:2036 +0xea
created by testing.(*T).Run in goroutine 1
	testing/testing.go:2101 +0x4c5

goroutine 7 [select, 1 minutes]:
github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine.func1()
	github.com/nats-io/nats-server/v2@v2.12.0/server/server.go:1 +0x1
created by github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine in goroutine 8
	github.com/nats-io/nats-server/v2@v2.12.0/server/server.go:2 +0x2

goroutine 8 [chan receive]:
testing.(*T).Run(0x1ead5ceaa6c8, {0x585c72?, 0x4ea653?}, 0x593fa8)
	testing/testing.go:2109 +0x4e5
assent/a.TestSub(0x1ead5ceaa6c8?)
	assent/a/a_test.go:7 +0x26
testing.tRunner(0x1ead5ceaa6c8, 0x593f00)
	testing/testing.go:2036 +0xea
created by testing.(*T).Run in goroutine 1
	testing/testing.go:2101 +0x4c5

goroutine 10 [select]:
github.com/nats-io/nats.go.(*Conn).RequestWithContext(0x1)
	github.com/nats-io/nats.go@v1.47.0/context.go:1 +0x5a
assent/internal/store/stream.(*Stream).Ask(0x1)
	assent/internal/store/stream/ask.go:43 +0x5a
assent/a.TestSub.func1.1()
	assent/a/a_test.go:8 +0xf
created by assent/a.TestSub.func1 in goroutine 9
	assent/a/a_test.go:8 +0xf

goroutine 9 [sync.Mutex.Lock]:
sync.(*Mutex).Lock(...)
	sync/mutex.go:46
assent/a.wait()
	assent/a/a_test.go:10 +0x5a
assent/a.TestSub.func1(0x1ead5ceaa908?)
	assent/a/a_test.go:7 +0xf
testing.tRunner(0x1ead5ceaa908, 0x593fa8)
	testing/testing.go:2036 +0xea
created by testing.(*T).Run in goroutine 8
	testing/testing.go:2101 +0x4c5
`
	events := []event{
		{Action: "run", Package: "assent/a", Test: "TestWaits"},
		{Action: "output", Package: "assent/a", Test: "TestWaits", Output: "=== RUN   TestWaits\n"},
		{Action: "output", Package: "assent/a", Test: "TestWaits", Output: "=== PAUSE TestWaits\n"},
		{Action: "pause", Package: "assent/a", Test: "TestWaits"},
		{Action: "run", Package: "assent/a", Test: "TestPanics"},
		{Action: "output", Package: "assent/a", Test: "TestPanics", Output: "=== PAUSE TestPanics\n"},
		{Action: "pause", Package: "assent/a", Test: "TestPanics"},
		{Action: "output", Package: "assent/a", Test: "TestPanics", Output: "said before\n"},
		{Action: "run", Package: "assent/a", Test: "TestTurn"},
		{Action: "pause", Package: "assent/a", Test: "TestTurn"},
		{Action: "cont", Package: "assent/a", Test: "TestTurn"},
		{Action: "pass", Package: "assent/a", Test: "TestTurn", Elapsed: 1},
		{Action: "run", Package: "assent/a", Test: "TestSub"},
	}
	for line := range strings.Lines(output) {
		events = append(events, event{Action: "output", Package: "assent/a", Test: "TestSub/x", Output: line})
	}
	var b strings.Builder
	r := newReport(&b, 1)
	feed(t, r, events...)
	r.running()
	if want := "  ... 1 passed; a (1 passed): TestSub (2 wait for their turn)\n"; b.String() != want {
		t.Errorf("under way is\n%s\nwant\n%s", b.String(), want)
	}
	feed(t, r, event{Action: "fail", Package: "assent/a", Elapsed: 3})
	r.end(0)
	_, got, _ := strings.Cut(b.String(), output)
	const want = `UNFINISHED a.TestPanics
=== PAUSE TestPanics
said before
UNFINISHED a: 1 more tests, which waited for their turn
HANGS a: not ended after 3s: TestSub (3s), TestSub/x (3s)
  goroutine 9 [sync.Mutex.Lock]:
    sync.(*Mutex).Lock(...) mutex.go:46
    assent/a.wait() a_test.go:10
    assent/a.TestSub.func1(0x1ead5ceaa908?) a_test.go:7
  goroutine 10 [select]:
    github.com/nats-io/nats.go.(*Conn).RequestWithContext(0x1) context.go:1
    assent/internal/store/stream.(*Stream).Ask(0x1) ask.go:43
    assent/a.TestSub.func1.1() a_test.go:8
    created by assent/a.TestSub.func1 in goroutine 9 a_test.go:8
[1/1] FAILED    3.0s  a: 1 passed
failed: a: not ended after 3s: TestSub (3s), TestSub/x (3s)
1 passed, 1 failed
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// TestHangIsBounded: however many goroutines hang, the tests' own are shown.
func TestHangIsBounded(t *testing.T) {
	h := &hang{}
	h.line(timedOut + "1s\n")
	for i := range 1000 {
		for line := range strings.Lines(fmt.Sprintf("goroutine %d [select]:\nassent/a.f()\n\tassent/a/a_test.go:1 +0x1\ncreated by assent/a.g in goroutine 1\n\tassent/a/a_test.go:1 +0x1\n\n", i+2)) {
			h.line(line)
		}
	}
	for line := range strings.Lines("goroutine 5000 [select]:\nassent/a.TestX()\n\tassent/a/a_test.go:1 +0x1\ntesting.tRunner(0x1, 0x1)\n\ttesting/testing.go:1 +0x1\ncreated by testing.(*T).Run in goroutine 1\n\ttesting/testing.go:2 +0x1\n") {
		h.line(line)
	}
	h.end()
	if got := h.shown(); len(got) != mostStacks || !strings.Contains(got[0], "goroutine 5000 ") {
		t.Errorf("shown are %d:\n%s", len(got), strings.Join(got, "\n"))
	}
}
