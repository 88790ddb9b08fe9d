//go:build !linux

package process

// ID names the process with this pid; empty where it cannot be told.
func ID(int) string { return "" }

// Look says whether the process that ID named so still runs.
func Look(int, string) State { return Unknown }

// NoTerminal reports whether it is certain that the process has no controlling terminal.
func NoTerminal(int) bool { return false }

// Parent is the process that started this one, or that it was left to; 0 where it cannot be told.
func Parent(int) int { return 0 }

// Args are the words of a process's command line; nil where they cannot be told.
func Args(int) []string { return nil }
