package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assent/internal/outlet/notify"
)

// checkNotifications is the doctor's look at who is told that a request waits.
func (a *app) checkNotifications(ctx context.Context) check {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var o notify.Overview
	b, err := a.broker()
	if err == nil {
		err = b.call(ctx, "GET", "/v1/notifications", nil, &o)
	}
	if err != nil {
		return check{"notifications", "warn", "not known: " + err.Error(), "set ASSENT_TOKEN to a token of role admin"}
	}
	return notifications(&o)
}

// notifications says how telling people goes.
func notifications(o *notify.Overview) check {
	c := check{Name: "notifications", Status: "ok"}
	var broken []string
	for _, d := range o.Devices {
		if d.Trouble != "" {
			broken = append(broken, "device "+d.ID+" ("+d.Service+"): "+d.Trouble)
		}
	}
	var names []string
	for _, n := range o.Notices {
		names = append(names, n.ID)
		if n.Trouble != "" {
			broken = append(broken, "notice "+n.ID+": "+n.Trouble)
		}
	}
	switch n := len(o.Devices); {
	case n == 0 && len(names) == 0:
		c.Detail = "nobody is told that a request waits; a device is once its settings on the page say so"
	case n == 1:
		c.Detail = "1 device is told that a request waits"
	default:
		c.Detail = fmt.Sprintf("%d devices are told that a request waits", n)
	}
	if len(names) > 0 {
		c.Detail += "; so are the notices " + strings.Join(names, ", ")
	}
	if len(broken) > 0 {
		c.Status, c.Fix = "warn", "for a device turn notifications off and on in its settings; for a notice: assent notices test"
		c.Detail += "; " + strings.Join(broken, "; ")
	}
	if o.Problem != "" {
		c.Status, c.Fix = "fail", "fix the file; it is read again by itself"
		c.Detail += "; " + o.Problem
	}
	return c
}
