//go:build !linux

package torture

import (
	"context"
	"errors"
	"time"
)

// disk is a file system that can be full and slow. There is none here.
type disk struct{}

func canHaveDisks() bool { return false }

func newDisk(string) (*disk, error) { return nil, errors.ErrUnsupported }

func (*disk) slow(context.Context, time.Duration, time.Duration) error { return errors.ErrUnsupported }
func (*disk) fill() error                                              { return errors.ErrUnsupported }
func (*disk) heal()                                                    {}
func (*disk) end()                                                     {}
