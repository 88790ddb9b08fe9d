package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"assent/internal/relay/uplink"
	"assent/internal/setup/phone"
	"assent/internal/text/show"
)

// doorPatience is how long a broker may take to open a new door.
const doorPatience = 15 * time.Second

// way is one way to the phone that is there on this machine. A way is added to ways, and nowhere else.
type way struct {
	name phone.Way
	// offer says what would be done and asks; a no is false.
	offer func(context.Context) (bool, error)
	// make does it and returns the door, and how to take back what it did outside of the state directory.
	make func(context.Context) (door *phone.Door, undo func(context.Context) error, err error)
}

// ways are those that are there, the best first.
func (p *phoning) ways(ctx context.Context) ([]way, error) {
	var found []way
	only := phone.Way(p.f.way)
	if only == "" || only == phone.Relay {
		door, err := p.relayDoor()
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case door != nil:
			found = append(found, p.relayWay(door))
		case only != "":
			return nil, usagef("--way relay: this broker knows no relay; the relay's owner gives you a command assent relay join, see docs/relay.md")
		}
		if only != "" {
			return found, nil
		}
	}
	if only == "" && (p.f.address != "" || p.f.name != "" || p.f.port != 0 || p.f.anew) {
		only = phone.Home
	}
	if only != phone.Home {
		tail, err := phone.FindTail(ctx, exec.LookPath)
		var plan way
		if tail != nil {
			plan, err = p.tailscaleWay(ctx, tail)
		}
		switch {
		case err != nil && only != "":
			return nil, err
		case err != nil:
			fmt.Fprintln(p.err, "note:", show.Line(err.Error()))
		case tail != nil:
			found = append(found, plan)
		case only != "":
			return nil, usagef("--way tailscale: no tailscale is on PATH")
		}
	}
	if only != phone.Tailscale {
		found = append(found, way{phone.Home, p.offerHome, p.makeHome})
	}
	return found, nil
}

// findDoor takes the door that is there, or makes one.
func (p *phoning) findDoor(ctx context.Context) error {
	door, err := phone.Load(p.stateDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if door != nil && phone.Way(p.f.way) != phone.Relay { // which stands beside it
		why := p.outdated(ctx, door)
		if why == "" {
			p.door = door
			if !p.json {
				fmt.Fprintf(p.out, "Phones reach the page at %s.\n", show.Line(door.URL))
			}
			return nil
		}
		if !p.json {
			fmt.Fprintln(p.out, why)
		}
	}
	ways, err := p.ways(ctx)
	if err != nil {
		return err
	}
	for _, w := range ways {
		yes, err := w.offer(ctx)
		if err != nil {
			return err
		}
		if yes {
			return p.enter(ctx, w, door)
		}
	}
	return &exitError{exitFailed, errors.New("nothing was changed; docs/phone.md shows further ways")}
}

// outdated says why a door has to be made anew, "" if it is good.
func (p *phoning) outdated(ctx context.Context, door *phone.Door) string {
	switch {
	case p.f.anew && door.Way == phone.Home:
		return "Each phone will have to trust the new certificate."
	case p.f.way != "" && phone.Way(p.f.way) != door.Way, p.f.address != "" || p.f.name != "" || p.f.port != 0:
		return "So far phones reach the page at " + show.Line(door.URL) + "; the new way takes its place."
	case door.Way == phone.Home && time.Until(door.Ends()) < phone.Soon:
		return "The certificate for phones ends on " + door.Ends().Local().Format(time.DateOnly) + ". Each phone will have to trust the new one."
	}
	if err := door.Await(ctx, 3*time.Second); err != nil {
		return "The way that was set up does not work any more (" + show.Line(err.Error()) + "), so it is made anew."
	}
	return ""
}

// relayDoor is the door of the relay that this broker knows; fs.ErrNotExist where it knows none.
func (a *app) relayDoor() (*phone.Door, error) {
	known, err := uplink.Load(a.stateDir)
	if err != nil {
		return nil, err
	}
	page, err := known.Page()
	if err != nil {
		return nil, err
	}
	return &phone.Door{Way: phone.Relay, URL: page}, nil
}

// relayWay is through a relay: nothing is to be made, for the broker follows relay.conf.
func (p *phoning) relayWay(door *phone.Door) way {
	return way{
		name: phone.Relay,
		offer: func(ctx context.Context) (bool, error) {
			if !p.json {
				fmt.Fprintf(p.out, "This broker is connected to a relay, which reads nothing of what passes. Phones reach the page at %s, from anywhere.\n", show.Line(door.URL))
			}
			return p.agreed(ctx, "Use it (recommended)?", true)
		},
		make: func(context.Context) (*phone.Door, func(context.Context) error, error) {
			return door, func(context.Context) error { return nil }, nil
		},
	}
}

// enterRelay waits until the broker answers through its relay. No file says so: relay.conf does.
func (p *phoning) enterRelay(ctx context.Context, door *phone.Door) error {
	if err := door.Await(ctx, doorPatience); err != nil {
		return fmt.Errorf("nothing answers at %s (%w): look whether the relay runs, and at the broker's log, which says how far its certificate is; --way home and --way tailscale do without a relay", door.URL, err)
	}
	p.door = door
	return nil
}

// enter makes a door and waits until the broker has opened it. If it does not, all is as it was before.
func (p *phoning) enter(ctx context.Context, w way, before *phone.Door) error {
	whole := context.WithoutCancel(ctx) // each step is bounded
	door, undo, err := w.make(whole)
	if err != nil {
		return err
	}
	if door.Way == phone.Relay {
		return p.enterRelay(ctx, door)
	}
	if err := door.Open(ctx, p.stateDir, before, doorPatience); err != nil {
		return errors.Join(err, undo(whole))
	}
	if before != nil && before.Way == phone.Tailscale && (door.Way != phone.Tailscale || before.Port != door.Port) {
		if _, err := p.tailOff(whole, before); err != nil {
			fmt.Fprintln(p.err, "note: tailscale goes on serving the page as before:", show.Line(err.Error()))
		}
	}
	p.door, p.made = door, true
	if !p.json {
		fmt.Fprintf(p.out, "Phones reach the page at %s.\n", show.Line(door.URL))
	}
	return nil
}

// agreed asks, where there is somebody to ask; elsewhere --yes has to say it.
func (p *phoning) agreed(ctx context.Context, question string, def bool) (bool, error) {
	if p.f.yes {
		return true, nil
	}
	if p.json || !p.interactive() {
		return false, usagef("there is no terminal to ask on, so nothing was changed: --yes does it")
	}
	return p.confirm(ctx, question, def)
}

func (p *phoning) tailscaleWay(ctx context.Context, tail *phone.Tail) (way, error) {
	target := p.b.info.HTTPURL
	if !strings.HasPrefix(target, "http://127.0.0.1:") {
		return way{}, fmt.Errorf("tailscale runs, but the broker listens at %s, and tailscale wants http on 127.0.0.1", target)
	}
	door, args, err := tail.Plan(ctx, target)
	if err != nil {
		return way{}, err
	}
	return way{
		name: phone.Tailscale,
		offer: func(ctx context.Context) (bool, error) {
			if !p.json {
				fmt.Fprintf(p.out, "Tailscale runs here, as %s. assent would run\n\n  %s\n\nThen the devices of your tailnet, and nobody else, reach the page at %s.\n", show.Line(tail.Name), spelled(tail.Program, args), show.Line(door.URL))
			}
			return p.agreed(ctx, "Run it (recommended)?", true)
		},
		make: func(ctx context.Context) (*phone.Door, func(context.Context) error, error) {
			if err := tail.Run(ctx, args); err != nil {
				return nil, nil, fmt.Errorf("%s: %w; nothing was changed", spelled(tail.Program, args), err)
			}
			p.commands = append(p.commands, spelled(tail.Program, args))
			return door, func(ctx context.Context) error {
				_, err := p.tailOff(ctx, door)
				return err
			}, nil
		},
	}, nil
}

// tailOff has tailscale serve the page no more, unless it serves something else there by now, and returns the
// commands that it ran.
func (a *app) tailOff(ctx context.Context, door *phone.Door) ([]string, error) {
	program, err := exec.LookPath("tailscale")
	if err != nil {
		return nil, nil // whatever it served is gone with it
	}
	tail := &phone.Tail{Program: program}
	args, err := tail.Undo(ctx, door)
	if err != nil || args == nil {
		return nil, err
	}
	if err := tail.Run(ctx, args); err != nil {
		return nil, fmt.Errorf("%s: %w", spelled(program, args), err)
	}
	return []string{spelled(program, args)}, nil
}

// homeAddress is the address that phones at home would use.
func (p *phoning) homeAddress() (netip.Addr, error) {
	if p.f.address != "" {
		at, err := netip.ParseAddr(p.f.address)
		if err != nil {
			return at, usagef("--address %s: want an address in numbers, such as 192.168.1.20", p.f.address)
		}
		if err := phone.AtHome(at); err != nil {
			return at, usagef("--address: %w", err)
		}
		if !phone.Here(at) {
			return at, usagef("--address %s is not an address of this machine; ip address lists them", at)
		}
		return at.Unmap(), nil
	}
	found, err := phone.Addresses()
	if err != nil {
		return netip.Addr{}, err
	}
	if len(found) == 0 {
		return netip.Addr{}, errors.New("this machine has no address in a network at home; with tailscale on both a phone reaches it from anywhere: https://tailscale.com/download, then assent phone. docs/phone.md shows further ways")
	}
	return found[0], nil
}

func (p *phoning) offerHome(ctx context.Context) (bool, error) {
	at, err := p.homeAddress()
	if err != nil {
		return false, err
	}
	if !p.json {
		name := ""
		if p.f.name != "" {
			name = show.Line(p.f.name) + ", "
		}
		fmt.Fprintf(p.out, `At home assent can do it alone: it makes a certificate for %s%s and listens there, in this network only.
The phone has to trust that certificate once. Away from home it will not reach the page.
(With tailscale on both it would: https://tailscale.com/download)
`, name, at)
	}
	return p.agreed(ctx, "Set it up?", true)
}

func (p *phoning) makeHome(context.Context) (*phone.Door, func(context.Context) error, error) {
	at, err := p.homeAddress()
	if err != nil {
		return nil, nil, err
	}
	port := p.f.port
	if port == 0 {
		before, err := phone.Load(p.stateDir)
		if err != nil {
			before = nil // its port is not known
		}
		if port, err = phone.HomePort(before, at, phonePort); err != nil {
			return nil, nil, err
		}
	}
	door, err := phone.NewHome(at, uint16(port), p.f.name, time.Now())
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	return door, func(context.Context) error { return nil }, nil
}
