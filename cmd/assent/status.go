package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/machines"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// status is assent without a command: the state in a few lines.
func (a *app) status(ctx context.Context) error {
	a.warnOfHalt(ctx)
	defer a.warnOfRules(ctx)
	b, err := a.broker()
	if err != nil {
		return err
	}
	raw, waiting, err := b.waiting(ctx)
	if err != nil {
		return err
	}
	var sessions []terminal.Session
	if err := b.call(ctx, "GET", "/v1/sessions?limit=1000", nil, &sessions); err != nil {
		return err
	}
	open := 0
	for i := range sessions {
		if sessions[i].State != feed.StateExited {
			open++
		}
	}
	var devices []api.Device
	err = b.call(ctx, "GET", "/v1/devices", nil, &devices)
	var p *api.Problem
	unknown := errors.As(err, &p) && p.Status == http.StatusForbidden // for administrators
	if err != nil && !unknown {
		return err
	}
	if a.json {
		names := []string{}
		for _, d := range devices {
			names = append(names, d.Name)
		}
		a.keepShown(a.out, waiting...)
		return a.printJSON(struct {
			Waiting  int             `json:"waiting"`
			Sessions int             `json:"sessions"`
			Devices  []string        `json:"devices"`
			Requests json.RawMessage `json:"requests"`
		}{len(waiting), open, names, raw})
	}
	parts := []string{waitWords(len(waiting)), counted(open, "session")}
	if !unknown {
		parts = append(parts, deviceWords(devices))
	}
	fmt.Fprintln(a.out, strings.Join(parts, " · "))
	a.warnOfVersions(ctx, b)
	if len(waiting) > 0 {
		a.printWaiting(waiting)
		return nil
	}
	if terminal.IsTerminal(a.out) {
		hint := fmt.Sprintf("%[1]s watch follows requests · %[1]s simulate raises a sample · %[1]s --help lists the commands", typed())
		for _, row := range terminal.Wrap(terminal.Dim.On(hint), columns(a.out), 0) {
			fmt.Fprintln(a.out, a.palette().Paint(row))
		}
	}
	return nil
}

// warnOfVersions says which machines' hooks are of another version than the broker. It is only a
// remark: what cannot be found out is not said.
func (a *app) warnOfVersions(ctx context.Context, b *client) {
	var list []machines.Machine
	if b.call(ctx, "GET", "/v1/machines", nil, &list) != nil {
		return // an older broker
	}
	for _, m := range list {
		if m.Differs {
			fmt.Fprintf(a.err, "The hooks of %s are %s, the broker is another version (%s): %s doctor says what to run.\n", show.Line(cmp.Or(m.Name, m.Host, "a machine")), show.Line(m.HookVersion), show.Line(cmp.Or(b.info.Version, "it is elsewhere")), typed())
		}
	}
}

func waitWords(n int) string {
	switch n {
	case 0:
		return "Nothing waits"
	case 1:
		return "1 waits"
	}
	return fmt.Sprintf("%d wait", n)
}

// deviceWords names the paired devices, the first few of them.
func deviceWords(devices []api.Device) string {
	const most = 4
	if len(devices) == 0 {
		return "no device is paired (" + typed() + " pair)"
	}
	var names []string
	for _, d := range devices[:min(len(devices), most)] {
		names = append(names, show.Short(d.Name, 40))
	}
	if n := len(devices) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
