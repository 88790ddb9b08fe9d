// Command runtests runs `go test` and says what it runs, how far it is and what came of it: a line
// for each package as it ends, what is running now when nothing has ended for a while, the output of
// what failed, the skipped tests by name, and in the end how many tests passed.
//
//	runtests [-slowest N] [-memory N] PACKAGES... [-- FLAGS of go test] [++ PACKAGES... [-- FLAGS]]...
//
// What stands between ++ is run one after the other and counted as one. It ends with code 1 if
// anything failed. Tests are counted without their subtests. Up to three failed tests below e2e are
// run once more, each alone; those that pass then are listed by name, and counted as passed.
//
// With -memory the tests' temporary files are in memory where that can be had, and packages that
// would run one after the other, as they share the disk, run N at a time then.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quiet is after how long without news it says what is running.
const quiet = 15 * time.Second

func main() {
	if !runAll() {
		os.Exit(1)
	}
}

// runAll does what the command line says.
func runAll() (ok bool) {
	slowest := flag.Int("slowest", 0, "list so many of the slowest tests in the end")
	memory := flag.Int("memory", 0, "keep temporary files in memory, if that can be had, and make -p 1 so many then")
	flag.Parse()
	// On an interrupt `go test` ends its tests, and then we end.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)

	groups := split(flag.Args())
	if *memory > 0 {
		end, err := inMemory()
		if err != nil {
			fmt.Println("temporary files are on the disk:", err)
		} else {
			defer end()
			fmt.Println("temporary files are in memory")
			sideBySide(groups, *memory)
			for i := range groups { // what GOTMPDIR says is for the go command, and T.TempDir heeds it as well, since Go 1.26
				groups[i].flags = append([]string{"-exec", "env -u GOTMPDIR"}, groups[i].flags...)
			}
		}
	}
	ok, err := run(groups, *slowest, func() bool { return len(interrupts) > 0 })
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
	}
	return ok && err == nil
}

// A group is what one `go test` runs.
type group struct {
	packages, flags []string
	tested          int // how many of the packages have tests
}

// split reads the command line.
func split(args []string) (groups []group) {
	for len(args) > 0 {
		g := group{packages: args}
		args = nil
		if i := slices.Index(g.packages, "++"); i >= 0 {
			g.packages, args = g.packages[:i], g.packages[i+1:]
		}
		if i := slices.Index(g.packages, "--"); i >= 0 {
			g.packages, g.flags = g.packages[:i], g.packages[i+1:]
		}
		groups = append(groups, g)
	}
	return groups
}

// sideBySide lets n packages run at a time in groups where it was one.
func sideBySide(groups []group, n int) {
	for _, g := range groups {
		if i := slices.Index(g.flags, "-p"); i >= 0 && i+1 < len(g.flags) && g.flags[i+1] == "1" {
			g.flags[i+1] = strconv.Itoa(n)
		}
	}
}

func run(groups []group, slowest int, interrupted func() bool) (ok bool, err error) {
	total := 0
	for i := range groups {
		if groups[i].tested, err = count(groups[i].packages); err != nil {
			return false, err
		}
		total += groups[i].tested
	}
	r := newReport(os.Stdout, total)
	ok = true
	flags := map[string][]string{} // of the group that a failed package is in
	for _, g := range groups {
		fmt.Printf("%d packages: go test %s\n", g.tested, strings.Join(g.flags, " "))
		before := len(r.failed)
		passed, err := goTest(r, slices.Concat(g.flags, g.packages))
		if err != nil {
			return false, err
		}
		if !passed && len(r.failed) == before {
			ok = false // for a reason that is no test's
		}
		for _, f := range r.failed[before:] {
			flags[f.path] = g.flags
		}
	}
	var passed []failure
	for _, f := range r.again() {
		if interrupted() {
			break
		}
		times := f.times()
		fmt.Printf("once more, alone, to pass %d of %d times: %s\n", times, times, f)
		alone := newReport(os.Stdout, 1)
		good, err := goTest(alone, slices.Concat(flags[f.path], []string{"-run", "^" + f.test + "$", "-count", strconv.Itoa(times), f.path}))
		if err != nil {
			return false, err
		}
		if good && alone.passed == times {
			passed = append(passed, f)
		}
	}
	r.passedAgain(passed)
	return r.end(slowest) && ok, nil
}

// goTest runs `go test` and says whether it was content.
func goTest(r *report, args []string) (ok bool, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	if slices.Contains(args, "-race") { // the one thing here that needs C
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	follow(out, r, quiet)
	return cmd.Wait() == nil, nil
}

// follow hands the lines of `go test -json` to a report until there are no more.
func follow(out io.Reader, r *report, quiet time.Duration) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return
			}
			if r.line(line) {
				tick.Reset(quiet)
			}
		case <-tick.C:
			r.running()
		}
	}
}

// count returns how many of the packages have tests.
func count(packages []string) (int, error) {
	cmd := exec.Command("go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	return len(bytes.Fields(out)), nil
}
