//go:build !linux

package baddisk

import (
	"context"
	"errors"
	"time"
)

// Disk is a file system that can be full and slow. There is none here.
type Disk struct{}

func Possible() bool { return false }

func New(string) (*Disk, error) { return nil, errors.ErrUnsupported }

func (*Disk) Freeze(bool) error                                        { return errors.ErrUnsupported }
func (*Disk) Slow(context.Context, time.Duration, time.Duration) error { return errors.ErrUnsupported }
func (*Disk) Fill() error                                              { return errors.ErrUnsupported }
func (*Disk) Heal()                                                    {}
func (*Disk) End()                                                     {}
