package main

import (
	"fmt"

	"assent/internal/terminal"
)

// printTable prints rows below a header, so that they fit the terminal. Cells may carry roles.
func (a *app) printTable(header []string, rows [][]string) {
	palette := a.palette()
	for _, line := range terminal.TableWithin(header, rows, columns(a.out)) {
		fmt.Fprintln(a.out, palette.Paint(line))
	}
}
