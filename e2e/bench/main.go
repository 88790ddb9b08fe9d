// Command bench prints the table of speeds of docs/benchmarks.md. Every row is a ratio
// against something measured in the same run, for absolute times say more about the machine
// than about the program. It builds nothing: make bench does.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	what, measured, target string
	ok                     bool
}

// errMissing says that a row cannot be measured here for want of a program.
var errMissing = errors.New("not measured")

func main() {
	only := flag.String("only", "", "run only the parts whose name contains this")
	long := flag.Bool("long", false, "measure the feed at full size: a minute of events, 1,000,000 of them searched and as many soaked; half an hour's work")
	bin := flag.String("bin", "bin", "directory of assent and assent-hook")
	flag.Parse()
	if err := run(*bin, *only, *long); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, only string, long bool) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assent-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{bin: bin, dir: dir, long: long}
	if b.empty, err = buildEmpty(dir); err != nil {
		return err
	}
	missed := 0
	fmt.Printf("| what | measured | target | |\n|---|---|---|---|\n")
	for _, part := range []struct {
		name string
		run  func() ([]row, error)
	}{
		{"hook", b.hookCost}, {"stored", b.stored}, {"latency", b.latency}, {"blocked", b.blocked}, {"approvers", b.approvers}, {"ready", b.ready}, {"rules", b.rules}, {"effects", b.effects}, {"contain", b.contain},
		{"feed", b.feed}, {"followed", b.followed}, {"soak", b.soak}, {"ledger", b.ledger}, {"audit", b.audit}, {"signed", b.signed}, {"emit", b.emit}, {"page", b.page}, {"cluster", b.cluster}, {"takeover", b.takeover}, {"scale", b.scale},
	} {
		if !strings.Contains(part.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s …\n", part.name)
		rows, err := part.run()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		for _, r := range rows {
			mark := "✓"
			if !r.ok {
				mark = "missed"
				missed++
			}
			fmt.Printf("| %s | %s | %s | %s |\n", r.what, r.measured, r.target, mark)
		}
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "bench: %d targets missed\n", missed)
	}
	return nil
}

// bench is one run. dir holds what it makes and goes with it.
type bench struct {
	bin, dir string
	empty    string // an empty Go program, the measure of a process
	brokers  int
	clusters int
	long     bool
	env      []string // more of a broker's environment
}

func buildEmpty(dir string) (string, error) {
	src := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "empty")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build an empty program: %w: %s", err, b)
	}
	return out, nil
}

// quantile of durations, q in 0..1; it sorts them.
func quantile(ds []time.Duration, q float64) time.Duration {
	slices.SortFunc(ds, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
