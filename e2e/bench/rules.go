package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// inProcess is a number that a benchmark in a package reports, as a row of the table.
type inProcess struct {
	name, unit, what string
	most             float64
}

// rules runs the benchmarks of the rules, each of which measures its ratio in one process. They
// stand beside the reader of shell text, for the parser may be imported nowhere else.
func (b *bench) rules() ([]row, error) {
	rows, err := measured("./internal/policy/shell", "^Benchmark(Rules|Growth|Hostile)$", []inProcess{
		{"Rules/rules=1000", "x-bare", "verdict on a line of 206 characters and 8 commands under 1,000 rules (against a bare parse and walk of it)", 2},
		{"Rules/rules=10000-to-1000", "x-fewer", "… under 10,000 rules (against 1,000)", 3},
		{"Growth", "x-for-4x", "reading a script four times as long", 6},
		{"Hostile", "x-of-5ms", "the slowest of the hostile scripts below 64 KiB (against 5 ms)", 1},
	})
	if err != nil {
		return nil, err
	}
	more, err := measured("./internal/policy", "^BenchmarkHostilePacks$", []inProcess{
		{"HostilePacks/slowest", "x-of-5ms", "verdict on the slowest of the hostile commands of 10,000 characters under all packs (against 5 ms)", 1},
	})
	return append(rows, more...), err
}

// effects is what it takes to say what a command would do.
func (b *bench) effects() ([]row, error) {
	return measured("./internal/policy/effects", "^BenchmarkEffects$", []inProcess{
		{"Effects", "x-beyond", "effects of the same line, beyond reading it (against reading it)", 4},
		{"Effects", "x-of-20µs", "… (against 20 µs)", 1},
	})
}

// measured runs benchmarks of a package and reads their numbers.
func measured(pkg, which string, wanted []inProcess) ([]row, error) {
	cmd := exec.Command("go", "test", "-run=^$", "-bench="+which, "-benchtime=1s", pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	var rows []row
	for _, r := range wanted {
		m := regexp.MustCompile(`(?m)^Benchmark` + r.name + `(?:-\d+)?\s.*?([\d.]+) ` + r.unit + `(?:\s|$)`).FindSubmatch(out)
		if m == nil {
			return nil, fmt.Errorf("benchmark %s reports no %s: %s", r.name, r.unit, out)
		}
		x, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w", r.name, err)
		}
		rows = append(rows, row{r.what, fmt.Sprintf("%.2f×", x), fmt.Sprintf("≤ %g×", r.most), x <= r.most})
	}
	return rows, nil
}
