package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/text/show"
)

// pairBrowser lets in a browser, unless one is in already.
func (u *up) pairBrowser(ctx context.Context) error {
	u.title("Browser: where you answer")
	b, err := u.broker()
	if e := (*exitError)(nil); errors.As(err, &e) {
		return err
	}
	if err != nil { // it runs, but keeps no token for us
		u.tell(fmt.Sprintf("This broker pairs nobody without a token: %v\nThen: assent pair", err))
		return nil
	}
	before, err := b.devices(ctx)
	if err != nil {
		return err
	}
	if u.paired = len(before) > 0; u.paired {
		for _, d := range before {
			fmt.Fprintf(u.out, "Paired: %s (%s)\n", show.Line(d.Name), show.Line(string(d.Role)))
		}
		u.tell("To pair another: assent pair")
		return nil
	}
	if kept(u.out, os.Getenv) {
		u.tell("To pair a browser: assent pair")
		return nil
	}
	var p api.Pairing
	if err := b.call(ctx, "POST", "/v1/pair", api.NewPairing{Role: u.f.role}, &p); err != nil {
		return err
	}
	u.printPairing(p, false)
	if page := u.openPage(p.URL); page != nil {
		defer page.remove()
	}
	u.invited = true
	if u.ended == nil && !u.interactive() {
		return nil
	}
	return u.awaitDevice(ctx, b, p.ExpiresAt)
}

// awaitDevice waits until a browser is paired or the link is worth nothing any more. The API
// tells nobody of a new device, so it is asked.
func (u *up) awaitDevice(ctx context.Context, b *client, until time.Time) error {
	fmt.Fprintln(u.out, "Waiting for it ...")
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		ds, err := b.devices(ctx)
		if err != nil {
			return err
		}
		if len(ds) > 0 {
			u.paired = true
			newest := slices.MaxFunc(ds, func(x, y api.Device) int { return x.CreatedAt.Compare(y.CreatedAt) })
			fmt.Fprintf(u.out, "Paired: %s (%s)\n", show.Line(newest.Name), show.Line(string(newest.Role)))
			return nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			u.tell("Nobody came, and the link has expired. For a new one: assent pair")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case err := <-u.ended: // nil without a broker in this process
			u.ended <- err
			return errors.Join(err, ctx.Err())
		}
	}
}

func (c *client) devices(ctx context.Context) (ds []api.Device, err error) {
	return ds, c.call(ctx, "GET", "/v1/devices", nil, &ds)
}
