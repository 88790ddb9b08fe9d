package terminal

import (
	"strings"
	"testing"
)

// No table is wider than the terminal, nothing of it is lost, and no cell's text begins at the left edge.
func TestTableFitsTheTerminal(t *testing.T) {
	header := []string{"ID", "ROLE", "NAME", "KEY"}
	rows := [][]string{
		{"1fd85d2a-6517-49f7-90fe-7a544bc77767", "approve", "Chrome on Linux", "device:DBwGcMiprd5x3iN05CPLU-W9IslByzw6dzYtFtVq_bw"},
		{"2", "view", "電話", ""},
	}
	for columns := 30; columns <= 160; columns++ {
		lines := TableWithin(header, rows, columns)
		for _, line := range lines {
			if w := width(line); w > columns {
				t.Errorf("a line is %d wide on a terminal of %d: %q", w, columns, line)
			}
		}
		all := strings.Join(strings.Fields(strings.Join(lines, "")), "")
		for _, row := range rows {
			for _, cell := range row {
				if !strings.Contains(all, strings.Join(strings.Fields(cell), "")) {
					t.Errorf("%q is not on a terminal of %d columns:\n%s", cell, columns, strings.Join(lines, "\n"))
				}
			}
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "device:") {
				t.Errorf("a key begins at the left edge of a terminal of %d columns:\n%s", columns, strings.Join(lines, "\n"))
			}
		}
	}
}

func TestTableWithoutATerminal(t *testing.T) {
	lines := TableWithin([]string{"ID", "NAME"}, [][]string{{"1", strings.Repeat("x", 500)}}, 0)
	if want := "1   " + strings.Repeat("x", 500); len(lines) != 2 || lines[0] != "ID  NAME" || lines[1] != want {
		t.Errorf("got %q", lines)
	}
}
