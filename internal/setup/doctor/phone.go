package doctor

import (
	"context"
	"time"

	"assent/internal/setup/phone"
)

// checkPhone says how phones reach the page; nothing where no way was set up.
func (x *examination) checkPhone(ctx context.Context) []Finding {
	door, err := x.Phone(ctx)
	return phones(door, err, time.Now())
}

// phones says whether a way to the page works, and how long its certificate is good.
func phones(door *phone.Door, err error, now time.Time) []Finding {
	const again = "assent phone"
	switch {
	case err != nil && door == nil:
		return []Finding{{"phone", Warn, err.Error(), ""}}
	case err != nil && door.Way == phone.Relay:
		return []Finding{{"phone", Warn, "phones do not reach " + door.URL + " through the relay: " + err.Error(), "look whether the relay runs, and at the broker's log; assent relay leave ends it"}}
	case err != nil:
		return []Finding{{"phone", Warn, "phones do not reach " + door.URL + ": " + err.Error(), again + " sets it up anew, assent phone --off takes it back"}}
	case door == nil:
		return nil
	case door.Way == phone.Relay:
		return []Finding{{"phone", OK, "through the relay at " + door.URL, ""}}
	case door.Way == phone.Tailscale:
		return []Finding{{"phone", OK, "by tailscale at " + door.URL, ""}}
	}
	ends := door.Ends()
	c := Finding{"phone", OK, "at home at " + door.URL + ", until " + ends.Local().Format(time.DateOnly), ""}
	if ends.Sub(now) < phone.Soon {
		c.Status, c.Fix = Warn, again+" makes a new certificate, which each phone has to trust"
	}
	return []Finding{c}
}
