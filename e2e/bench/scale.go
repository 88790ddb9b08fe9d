package main

import (
	"cmp"
	"fmt"
	"time"
)

// scale shows how the cost of a request changes with how many wait at one broker, and with how many sessions they are of.
// Each row is against the first. With 20,000 open files, as many systems have them, a broker holds just under 10,000.
func (b *bench) scale() (rows []row, err error) {
	var first time.Duration // processor time of one answer
	for _, at := range []struct{ waiting, sessions int }{{1_000, 50}, {3_000, 50}, {9_000, 50}, {9_000, 1_000}, {9_000, 9_000}} {
		l, err := b.heldAndAnswered(at.waiting, at.sessions)
		if err != nil {
			return nil, fmt.Errorf("%d waiting, %d sessions: %w", at.waiting, at.sessions, err)
		}
		each := l.cpu / time.Duration(at.waiting)
		first = cmp.Or(first, each)
		r := ratio(each, first)
		rows = append(rows, row{fmt.Sprintf("%d wait at a time, of %d sessions: processor for each answer; memory of each", at.waiting, at.sessions),
			fmt.Sprintf("%.2f×; %.1f KB", r, l.kb), "≤ 1.5×", r <= 1.5})
	}
	return rows, nil
}
