//go:build !linux || !amd64

package torture

import (
	"errors"
	"os/exec"
)

const canSetClocks = false

// wallClock is the wall clock of one process. It cannot be set here.
type wallClock struct{}

func startWithClock(*exec.Cmd, int64) (*wallClock, error) { return nil, errors.ErrUnsupported }

func (*wallClock) set(int64) error { return errors.ErrUnsupported }
func (*wallClock) close()          {}
