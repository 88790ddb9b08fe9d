package main

import (
	"fmt"
	"time"
)

// scale shows how the cost of a request changes with how many wait at one broker, and with how many sessions
// they are of. With 20,000 open files, as many systems have them, a broker holds just under 10,000. Each row is against the first of its kind.
func (b *bench) scale() ([]row, error) {
	rows, err := b.scaled("%d that wait at a time, of 50 sessions", []int{1_000, 3_000, 9_000}, func(n int) (int, int) { return n, 50 })
	if err != nil {
		return nil, err
	}
	more, err := b.scaled("9,000 that wait at a time, of %d sessions", []int{50, 1_000, 9_000}, func(n int) (int, int) { return 9_000, n })
	return append(rows, more...), err
}

func (b *bench) scaled(what string, sizes []int, of func(int) (waiting, sessions int)) (rows []row, err error) {
	var first time.Duration // processor of one request
	for i, size := range sizes {
		n, sessions := of(size)
		w, err := b.heldAndAnswered(n, sessions)
		if err != nil {
			return nil, fmt.Errorf("%d waiting, %d sessions: %w", n, sessions, err)
		}
		each := w.cpu / time.Duration(n)
		if i == 0 {
			first = each
		}
		r := ratio(each, first)
		rows = append(rows, row{fmt.Sprintf(what, size) + ": processor for each answer; memory of each",
			fmt.Sprintf("%.2f×; %.1f KB", r, w.kb), "≤ 1.5×", r <= 1.5})
	}
	return rows, nil
}
