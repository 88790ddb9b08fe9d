//go:build !linux

package integrity

import "os"

func syncData(f *os.File) error { return f.Sync() }
