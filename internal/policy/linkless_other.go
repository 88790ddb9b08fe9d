//go:build !linux

package policy

// linkless knows nothing: each part of a path is asked for a link.
func linkless(string) (none, there bool) { return false, false }

// noLinkIn knows nothing: each name is asked.
func noLinkIn(string) bool { return false }
