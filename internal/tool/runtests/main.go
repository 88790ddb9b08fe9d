// Command runtests runs `go test` and says what it runs, how far it is and what came of it: a line
// for each package as it ends, what is running now when nothing has ended for a while, the output of
// what failed, the skipped tests by name, and in the end how many tests passed.
//
//	runtests [-slowest N] PACKAGES... [-- FLAGS of go test]
//
// It ends with code 1 if anything failed. Tests are counted without their subtests.
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
	"strings"
	"time"
)

// quiet is after how long without news it says what is running.
const quiet = 15 * time.Second

func main() {
	slowest := flag.Int("slowest", 0, "list so many of the slowest tests in the end")
	flag.Parse()
	packages, flags := flag.Args(), []string(nil)
	if i := slices.Index(packages, "--"); i >= 0 {
		packages, flags = packages[:i], packages[i+1:]
	}
	// On an interrupt `go test` ends its tests, and then we end.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	ok, err := run(packages, flags, *slowest)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func run(packages, flags []string, slowest int) (ok bool, err error) {
	total, err := count(packages)
	if err != nil {
		return false, err
	}
	fmt.Printf("the tests of %d packages: go test %s\n", total, strings.Join(slices.Concat(flags, packages), " "))
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, flags, packages)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	r := newReport(os.Stdout, total)
	follow(out, r, quiet)
	err = cmd.Wait()
	return r.end(slowest) && err == nil, nil
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
