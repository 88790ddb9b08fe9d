package show

import "strings"

// Readable is Text for text of which parts went through this package already, and parts did not:
// errors, which name files of strangers, and what a broker says, which may be anybody who has the port
// of a URL. What is visible already stays as it is.
func Readable(text string) string {
	return strings.ReplaceAll(Text(text), Text("⟦"), "⟦")
}

// OneRow puts text that this package made safe on one row, as Line would have.
func OneRow(safe string) string {
	return strings.NewReplacer("\n", "⟦U+000A⟧", "\t", "⟦U+0009⟧").Replace(safe)
}

// Elide keeps head and tail of a safe text that is longer than n characters.
func Elide(safe string, n int) string {
	r := []rune(safe)
	if len(r) <= n {
		return safe
	}
	return string(r[:n*2/3]) + " … " + string(r[len(r)-n/3:])
}
