package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// deviceTitle is what a device that waits calls itself, marked as its own words.
func deviceTitle(w api.PairingWaiting) string {
	if w.Name == "" {
		return "A device without a name"
	}
	return `A device that calls itself "` + show.Line(w.Name) + `"`
}

type pairFlags struct {
	api.NewPairing
	qr, join bool
}

func (a *app) pairCmd() *cobra.Command {
	f := pairFlags{NewPairing: api.NewPairing{Role: "approve"}}
	c := &cobra.Command{
		Use:   "pair [CODE]",
		Short: "Pair a browser: print a one-time link, or confirm the code it shows",
		Long: `Without CODE: print a link that pairs one browser with this broker. The link works once, within
five minutes; open it in the browser that will approve.

With --join: print a link with which one machine that runs agents joins this broker, once (on that
machine: assent join LINK). The machine can only submit requests; they are shown under the name
given with --name.

With CODE: pair the browser that shows this code. The page shows a code if you choose to pair from
there. Check the name and the address before you agree. --code-origin says where the page's code
comes from, if you know better than the device; see assent device list --help.

The roles operate and admin, which can send text to agents, are given with this command only to
the first device that gets one of them. Further devices are let in by a paired device of role
admin, on its page under You, Devices.`,
		Example: "  assent pair\n  assent pair --role view --json\n  assent pair K7PM-3XQD --name phone\n  assent pair K7PM-3XQD --code-origin independent\n  assent pair --join --name anas-laptop",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("want one CODE, or none for a link")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.join && (len(args) > 0 || cmd.Flags().Changed("role") || f.Name == ""):
				return usagef("--join goes with --name alone: say which machine it is for")
			case f.join:
				f.Role = "submit"
			case f.CodeOrigin.Check() != nil:
				return usagef("--code-origin: want broker or independent")
			case f.CodeOrigin != "" && len(args) == 0:
				return usagef("--code-origin goes with a CODE: who takes a link says itself where its code comes from")
			case f.Role != "view" && f.Role != "approve" && f.Role != "operate" && f.Role != "admin":
				return usagef("--role: want view, approve, operate or admin")
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				f.Code = args[0]
				return a.confirmDevice(cmd.Context(), b, f)
			}
			var p api.Pairing
			if err := b.call(cmd.Context(), "POST", "/v1/pair", f.NewPairing, &p); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(p)
			}
			if f.join {
				a.printInvitation(p)
				return nil
			}
			a.printPairing(p, f.qr)
			return nil
		},
	}
	c.Flags().StringVar(&f.Role, "role", f.Role, "what the browser may do: view, approve, operate or admin")
	c.Flags().StringVar(&f.Name, "name", "", "name of the device (default: what its browser is called), or of the machine that joins")
	c.Flags().StringVar((*string)(&f.CodeOrigin), "code-origin", "", "with CODE: where the device's code comes from, broker or independent, instead of what it says itself")
	c.Flags().BoolVar(&f.join, "join", false, "a link for a machine with agents, which may only ask")
	c.Flags().BoolVar(&f.qr, "qr", false, "print a QR code of the link even where no phone could use it")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: url, code, expiresAt; with CODE the device")
	return c
}

// printPairing prints the link, and for a phone a QR code of it. force prints the code also
// where the link leads to this machine only, or nobody sits at a terminal.
func (a *app) printPairing(p api.Pairing, force bool) {
	fmt.Fprintln(a.out, show.Line(p.URL))
	here := loopbackURL(p.URL)
	if force || !here && terminal.IsTerminal(a.out) {
		printQR(a.out, p.URL, terminal.IsTerminal(a.out))
	}
	fmt.Fprintln(a.err, "Open this link within five minutes; it works once.")
	if here {
		fmt.Fprintf(a.err, "It leads to this machine only. For a phone: %s phone\n", typed())
	}
}

// printInvitation prints the link for a machine, and what to do with it.
func (a *app) printInvitation(p api.Pairing) {
	fmt.Fprintln(a.out, show.Line(p.URL))
	fmt.Fprintln(a.err, "On that machine, within five minutes; it works once: assent join LINK")
	if loopbackURL(p.URL) {
		fmt.Fprintln(a.err, "It leads to this machine only. Another one needs an https address: see docs/join.md.")
	}
}

func loopbackURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && api.Loopback(u.Hostname())
}

// printQR draws the text. In colours it can be read on light and dark terminals alike.
func printQR(w io.Writer, text string, colours bool) {
	var b bytes.Buffer
	qrterminal.GenerateWithConfig(text, qrterminal.Config{
		Level: qrterminal.L, Writer: &b, HalfBlocks: true, QuietZone: 2,
		WhiteChar: qrterminal.WHITE_WHITE, BlackChar: qrterminal.BLACK_BLACK,
		WhiteBlackChar: qrterminal.WHITE_BLACK, BlackWhiteChar: qrterminal.BLACK_WHITE,
	})
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, "\n")
		if colours {
			line = "\x1b[97;40m" + line + "\x1b[0m"
		}
		fmt.Fprintln(w, line)
	}
}

// mayDo is a role in words.
func mayDo(role string) string {
	switch role {
	case "view":
		return "see requests, not answer them"
	case "operate":
		return "answer requests and send text to agents, which together is a shell on their machines"
	case "admin":
		return "answer requests, send text to agents and revoke devices"
	}
	return "answer requests"
}

// confirmDevice lets in the device that shows f.Code. A person is asked first whether it is
// theirs; a no refuses it.
func (a *app) confirmDevice(ctx context.Context, b *client, f pairFlags) error {
	if a.interactive() && !a.json {
		w, err := b.waitingDevice(ctx, f.Code)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s asks to be paired, from %s. It says that its code %s.\n", deviceTitle(w), cmp.Or(show.Line(w.From), "an unknown address"), codeWords(w.CodeOrigin))
		yes, err := a.confirm(ctx, "Is it yours, and may it "+mayDo(f.Role)+" (role "+f.Role+")?", false)
		if err != nil {
			return err
		}
		if !yes {
			if err := b.call(ctx, "DELETE", "/v1/pair/"+url.PathEscape(w.Code), nil, nil); err != nil {
				return err
			}
			return &exitError{exitRefused, errors.New("refused; nothing was paired")}
		}
	}
	var d api.Device
	if err := b.call(ctx, "POST", "/v1/devices", f.NewPairing, &d); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(d)
	}
	fmt.Fprintf(a.out, "Paired %s, role %s. To remove it: %s device revoke %s\n", show.Line(d.Name), show.Line(string(d.Role)), typed(), show.Line(d.ID))
	return nil
}

// codeWords says where a device's code comes from.
func codeWords(c hook.CodeOrigin) string {
	if c == hook.CodeIndependent {
		return "does not come from this broker"
	}
	return "comes from this broker"
}

// waitingDevice finds the device that shows code, which people may write as they like.
func (c *client) waitingDevice(ctx context.Context, code string) (w api.PairingWaiting, err error) {
	var list []api.PairingWaiting
	if err := c.call(ctx, "GET", "/v1/pair", nil, &list); err != nil {
		return w, err
	}
	plain := func(s string) string { return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(s)) }
	for _, w := range list {
		if plain(w.Code) == plain(code) {
			return w, nil
		}
	}
	return w, &exitError{exitRefused, fmt.Errorf("no device that waits shows the code %s: it is mistyped, used, refused or expired; begin again at the device", show.Line(code))}
}
