// Command runtests runs `go test` and says what it runs, how far it is and what came of it: a line
// for each package as it ends, what is running now when nothing has ended for a while, the output of
// what failed, the skipped tests by name, and in the end how many tests passed.
//
//	runtests [-slowest N] PACKAGES... [-- FLAGS of go test] [++ PACKAGES... [-- FLAGS]]...
//
// What stands between ++ is run one after the other and counted as one. It ends with code 1 if anything failed. Tests are counted without their subtests.
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
	// On an interrupt `go test` ends its tests, and then we end.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	ok, err := run(split(flag.Args()), *slowest)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
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

func run(groups []group, slowest int) (ok bool, err error) {
	total := 0
	for i := range groups {
		if groups[i].tested, err = count(groups[i].packages); err != nil {
			return false, err
		}
		total += groups[i].tested
	}
	r := newReport(os.Stdout, total)
	ok = true
	for _, g := range groups {
		fmt.Printf("%d packages: go test %s\n", g.tested, strings.Join(g.flags, " "))
		cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, g.flags, g.packages)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return false, err
		}
		if err := cmd.Start(); err != nil {
			return false, err
		}
		follow(out, r, quiet)
		ok = cmd.Wait() == nil && ok
	}
	return r.end(slowest) && ok, nil
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
