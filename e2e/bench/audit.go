package main

import (
	"errors"
	"fmt"
)

// audit measures assent audit verify of an export in a file. With long, that has 1,000,000 records; else 30,000.
func (b *bench) audit() ([]row, error) {
	n := 30_000
	if b.long {
		n = 1_000_000
	}
	found, err := goBench("./internal/audit", "^BenchmarkVerify$", "-benchtime", "1x", "-timeout", "1h", fmt.Sprintf("-audit-records=%d", n))
	if err != nil {
		return nil, err
	}
	m := found["BenchmarkVerify"]
	rate, alone, most, less := m["records/s"], m["records/s-alone"], m["MiB"], m["MiB-fifth"]
	if rate == 0 || alone == 0 || most == 0 || less == 0 {
		return nil, errors.New("the benchmark of audit verify says nothing")
	}
	const aMinute = 1_000_000. / 60 // records a second
	return []row{
		{fmt.Sprintf("`audit verify` of %s records, a third of them signed decisions (against reading the lines: %.1f×)", thousands(n), m["times-bare"]),
			fmt.Sprintf("%.1f× of 1,000,000 a minute, %.1f× by the processor time that it took", rate/aMinute, alone/aMinute), "≥ 1×", rate >= aMinute},
		{"… memory, against an export of a fifth of the size", fmt.Sprintf("%.2f× (%.0f MiB)", most/less, most), "≤ 1.5×", most <= 1.5*less},
	}, nil
}
