package terminal

import "strings"

// Table lays cells out in columns, two spaces apart. The last column is as long as it is.
func Table(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				cell = pad(cell, widths[i]+2)
			}
			b.WriteString(cell)
		}
		lines[n] = b.String()
	}
	return lines
}
