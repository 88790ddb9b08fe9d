package phone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
)

// NewHome makes the door for phones at home: an authority for the address, and for name where one is given, which is gone once it
// has signed their certificate.
func NewHome(at netip.Addr, port uint16, name string, now time.Time) (*Door, error) {
	host, err := os.Hostname()
	if err != nil {
		host = at.String()
	}
	authority, err := NewAuthority(fmt.Sprintf("assent on %s, %s", host, now.Format(time.DateOnly)), at, name, now)
	if err != nil {
		return nil, err
	}
	listen := netip.AddrPortFrom(at, port).String()
	d := &Door{Way: Home, URL: "https://" + listen, Listen: listen, Root: string(authority.Root), Cert: string(authority.Cert), Key: string(authority.Key)}
	if name != "" {
		d.URL = "https://" + net.JoinHostPort(name, strconv.Itoa(int(port)))
	}
	return d, nil
}

// HomePort is the port for phones at home on an address: the one that they know already, so that what they have on their home
// screen stays, else preferred, or a free one where that is taken.
func HomePort(before *Door, at netip.Addr, preferred uint16) (int, error) {
	if before != nil && before.Way == Home {
		if ap, err := netip.ParseAddrPort(before.Listen); err == nil && ap.Addr() == at {
			return int(ap.Port()), nil
		}
	}
	return FreePort(at, preferred)
}

// Open saves the door in a state directory and waits until the broker has opened it. If that does not come about within the given
// time, or ctx ends, the state directory has the door of before again, or none where before is nil.
func (d *Door) Open(ctx context.Context, stateDir string, before *Door, within time.Duration) error {
	err := d.Save(stateDir)
	if err == nil {
		if err = d.Await(ctx, within); err != nil && ctx.Err() == nil {
			err = fmt.Errorf("the broker does not open %s to phones (%w); is it as new as this program? Restart it, and see its log", d.URL, err)
		}
	}
	if err == nil {
		return nil
	}
	if before != nil {
		return errors.Join(err, before.Save(stateDir))
	}
	return errors.Join(err, Remove(stateDir))
}
