package layout

import (
	"fmt"
	"regexp"
	"strings"
)

// What stays as it is; more of it in a row stands as one mark, so that it cannot push the rest of a
// text off the screen.
const (
	fewLines = 3  // lines that are empty, blank or equal
	fewGaps  = 24 // spaces and tabs within a line
)

var longGap = regexp.MustCompile(fmt.Sprintf(`[ \t]{%d,}`, fewGaps))

// Fold is for texts that package show made safe, before they go to a terminal: long runs of
// empty, blank and equal lines, and of spaces within a line, become ⟦70 empty lines⟧ and the like.
// No foreign text holds ⟦, so no two texts look alike for it.
func Fold(text string) string {
	lines := strings.Split(text, "\n")
	out := make([]string, 0, len(lines))
	for i := 0; i < len(lines); {
		l := lines[i]
		end, what := i+1, "more lines like this one"
		if strings.TrimLeft(l, " \t") == "" {
			what = "empty lines"
			for end < len(lines) && strings.TrimLeft(lines[end], " \t") == "" {
				end++
			}
			if strings.Join(lines[i:end], "") != "" {
				what = "blank lines" // with spaces in them
			}
		} else {
			for end < len(lines) && lines[end] == l {
				end++
			}
		}
		n := end - i
		switch {
		case n <= fewLines:
			for ; i < end; i++ {
				out = append(out, foldGaps(lines[i]))
			}
		case strings.HasPrefix(what, "more"):
			out = append(out, foldGaps(l), fmt.Sprintf("⟦%d %s⟧", n-1, what))
		default:
			out = append(out, fmt.Sprintf("⟦%d %s⟧", n, what))
		}
		i = end
	}
	return strings.Join(out, "\n")
}

func foldGaps(line string) string {
	return longGap.ReplaceAllStringFunc(line, func(gap string) string {
		if strings.Contains(gap, "\t") {
			return fmt.Sprintf("⟦%d spaces and tabs⟧", len(gap))
		}
		return fmt.Sprintf("⟦%d spaces⟧", len(gap))
	})
}

// MiddleOut leaves the first and the last of many rows, and says how many it left out.
func MiddleOut(text string, most int) (short string, hidden int) {
	rows := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if len(rows) <= most {
		return text, 0
	}
	head := most * 2 / 3
	hidden = len(rows) - most
	return strings.Join(rows[:head], "") + fmt.Sprintf("    ⟦%d rows are hidden⟧\n", hidden) + strings.Join(rows[head+hidden:], "") + "\n", hidden
}
