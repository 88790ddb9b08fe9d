package patch

import (
	"fmt"
	"path"
	"strings"

	"assent/internal/text/show"
)

// List is a line for each file.
func (p Patch) List() string {
	lines := make([]string, len(p.Files))
	for i, f := range p.Files {
		lines[i] = string(f.Op) + " " + f.Path
		if !f.Sure {
			lines[i] += " (perhaps a line of the text before it)"
		}
	}
	if !p.Whole {
		lines = append(lines, "and perhaps more: not every line of the patch is one that assent knows")
	}
	return strings.Join(lines, "\n")
}

// Sentence says what the patch does; it names one or two files, and counts more. It is safe to show.
func (p Patch) Sentence() string {
	if len(p.Files) == 0 {
		return "Apply a patch that names no file"
	}
	verbs := map[Op]string{Add: "add", Update: "edit", Delete: "delete", Move: "move to"}
	var parts []string
	for _, f := range p.Files {
		if len(parts) == 2 && len(p.Files) > 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(p.Files)-2))
			break
		}
		name := path.Base(f.Path)
		if r := []rune(name); len(r) > 40 {
			name = string(r[:27]) + "…" + string(r[len(r)-12:])
		}
		parts = append(parts, verbs[f.Op]+" "+show.Line(name))
	}
	s := strings.Join(parts, ", ")
	return strings.ToUpper(s[:1]) + s[1:]
}
