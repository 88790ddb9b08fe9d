package show

import "strconv"

// Count is a number of things: "1 event", "3 events".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
