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

// lastColumn is how narrow the last column may become before its cells are no longer readable there.
const lastColumn = 24

// TableWithin is Table for rows of equal length below a header, on a terminal of so many columns; 0 is no terminal.
// A table that is too wide is not left to the terminal, which would break each row at its left edge, where columns
// cannot be told apart: the last column is broken within itself, or, where the others leave too little room for
// that, each row becomes a block with a line for each cell.
func TableWithin(header []string, rows [][]string, columns int) []string {
	before, last := 0, 0
	for i := range header {
		most := width(header[i])
		for _, row := range rows {
			most = max(most, width(row[i]))
		}
		if i < len(header)-1 {
			before += most + 2
		} else {
			last = most
		}
	}
	if columns == 0 || before+min(last, lastColumn) <= columns {
		return columnLines(append([][]string{header}, rows...), max(0, columns-before))
	}
	return blockLines(header, rows, columns)
}

// columnLines are rows in columns, the last of them of at most so many characters, if it is limited.
func columnLines(rows [][]string, most int) []string {
	var broken [][]string
	for _, row := range rows {
		end := len(row) - 1
		for i, part := range Wrap(row[end], most, 0) {
			line := make([]string, end, end+1)
			if i == 0 {
				copy(line, row)
			}
			broken = append(broken, append(line, part))
		}
	}
	lines := Table(broken)
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// blockLines has a block for each row, with a line for each cell that is not empty.
func blockLines(header []string, rows [][]string, columns int) []string {
	label := 0
	for _, name := range header {
		label = max(label, width(name)+2)
	}
	var lines []string
	for n, row := range rows {
		if n > 0 {
			lines = append(lines, "")
		}
		for i, cell := range row {
			if cell != "" {
				lines = append(lines, columnLines([][]string{{pad(header[i], label-2), cell}}, max(1, columns-label))...)
			}
		}
	}
	return lines
}
