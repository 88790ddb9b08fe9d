//go:build !linux

package peercred

import "errors"

func peer(uintptr) (uint32, int, error) { return 0, 0, errors.ErrUnsupported }
