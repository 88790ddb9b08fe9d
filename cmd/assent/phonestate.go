package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"time"

	"assent/internal/setup/phone"
)

// publicURLs are those of the flags, else that of the door: where people elsewhere find the page.
func (a *app) publicURLs(f serveFlags) []string {
	if len(f.publicURLs) == 0 {
		if door, err := phone.Load(a.stateDir); err == nil {
			return door.URLs()[:1]
		}
	}
	return f.publicURLs
}

// phoneState is the door of the state directory, nil if there is none, and what is wrong with it now, as far as
// this machine can tell.
func (a *app) phoneState(ctx context.Context) (*phone.Door, error) {
	door, err := phone.Load(a.stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		if door, err = a.relayDoor(); err == nil {
			return door, door.Answers(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if at, err := netip.ParseAddrPort(door.Listen); err == nil && !phone.Here(at.Addr()) {
		return door, fmt.Errorf("%s is not an address of this machine now", at.Addr())
	}
	if ends := door.Ends(); !ends.IsZero() && !time.Now().Before(ends) {
		return door, errors.New("its certificate has ended")
	}
	return door, door.Answers(ctx)
}
