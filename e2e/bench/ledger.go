package main

import (
	"errors"
	"fmt"
	"strings"
)

// ledger measures how quickly a ledger is written, and how quickly it is read: with long, one of
// 1,000,000 rows, else of a tenth of that.
func (b *bench) ledger() ([]row, error) {
	n := 100_000
	if b.long {
		n = 1_000_000
	}
	insert, err := goBench("./internal/outlet/ledger", "^BenchmarkInsert$", "-benchtime", "50x")
	if err != nil {
		return nil, err
	}
	query, err := goBench("./internal/outlet/ledger", "^BenchmarkQuery$", "-benchtime", "30x", "-timeout", "1h", fmt.Sprintf("-ledger-rows=%d", n))
	if err != nil {
		return nil, err
	}
	rate := insert["BenchmarkInsert"]["rows/s"]
	slowest, what := 0.0, ""
	for name, m := range query {
		if m["p95-ms"] > slowest {
			slowest, what = m["p95-ms"], name[strings.LastIndex(name, "/")+1:]
		}
	}
	if rate == 0 || what == "" {
		return nil, errors.New("the benchmarks of the ledger say nothing")
	}
	return []row{
		{"rows written to a ledger, in batches of 512, each on the disk", fmt.Sprintf("%.1f× of 5,000 a second", rate/5000), "≥ 1×", rate >= 5000},
		{fmt.Sprintf("query of a ledger of %s rows, p95 of the slowest kind (%s)", thousands(n), what), fmt.Sprintf("%.2f× of 50 ms", slowest/50), "≤ 1×", slowest <= 50},
	}, nil
}
