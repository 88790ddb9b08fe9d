package show

import "strings"

// maxLogged bounds foreign text in a log line, in bytes.
const maxLogged = 300

// Logged makes foreign text fit for a log: visible, on one line, not long.
func Logged(s string) string {
	if len(s) > maxLogged {
		s = strings.ToValidUTF8(s[:maxLogged], "") + "…"
	}
	return Line(s)
}
