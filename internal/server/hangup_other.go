//go:build !linux

package server

// hangups sees connections close without a goroutine for each, on Linux only.
type hangups struct{}

func (*hangups) close() {}

func (*hangups) watch(*heldHook) bool { return false }

func (*hangups) forget(uint64) {}
