package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// contain compares a contained run with a plain one, and with an empty Go program, in turn: what it costs
// more, by the median of the paired differences.
func (b *bench) contain() ([]row, error) {
	program := filepath.Join(b.bin, "assent-contain")
	if exec.Command(program, "--abi").Run() != nil {
		return nil, nil // nothing can be contained here
	}
	plain, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, files := range []int{10, 1000} {
		project := filepath.Join(b.dir, fmt.Sprintf("project%d", files))
		for i := range files {
			name := filepath.Join(project, fmt.Sprintf("d%d", i/50), fmt.Sprintf("file%d.go", i))
			if i%500 == 499 {
				name = filepath.Join(filepath.Dir(name), ".env")
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return nil, err
			}
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return nil, err
			}
		}
		const runs = 200
		var more, empty []time.Duration
		for i := range runs + 10 {
			p, err := b.time(nil, plain)
			if err != nil {
				return nil, err
			}
			e, err := b.time(nil, b.empty)
			if err != nil {
				return nil, err
			}
			c, err := b.time(nil, program, "read", "--project", project, "--", plain)
			if err != nil {
				return nil, err
			}
			if i >= 10 {
				more, empty = append(more, c-p), append(empty, e-p)
			}
		}
		m := quantile(more, 0.5)
		rows = append(rows, row{
			fmt.Sprintf("a contained `true` against a plain one, in a project of %d files (an empty Go program: %.2f× of it)", files, float64(quantile(empty, 0.5))/float64(m)),
			fmt.Sprintf("%.2f× of 3 ms more", float64(m)/float64(3*time.Millisecond)), "≤ 1×", m <= 3*time.Millisecond,
		})
	}
	return rows, nil
}
