package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/setup/phone"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// phoneFlags are the answers to what assent phone would ask.
type phoneFlags struct {
	way           string
	address, name string
	port          int
	role          string
	off, yes      bool
	anew          bool
	noSample      bool
}

// phonePort is where the broker listens for phones at home, unless it is taken; the two behind it are for
// the page that shows how to trust the certificate.
const phonePort = 7718

func (a *app) phoneCmd() *cobra.Command {
	f := phoneFlags{role: "approve"}
	c := &cobra.Command{
		Use:   "phone",
		Short: "Answer on a phone: find a way to it, pair it, try it",
		Long: `Make the page reachable from a phone over https, pair the phone, and send it a sample request. The
broker keeps running meanwhile, and waiting requests are not affected.

If the broker uses a relay (assent relay join), phones reach the page through the relay.
Otherwise, if tailscale is running, tailscale serves the page to your own devices: assent shows
the command and asks before running it. Otherwise there is a way that works only in your home
network: assent creates a certificate for this machine's address and shows step by step how to
make the phone trust it. The authority behind the certificate can vouch for nothing else, and its
key is deleted at once. No third party's program is involved.

Run the command again for another phone, for a new certificate before the old one expires, or
after this machine's address has changed. --off undoes everything. See docs/phone.md.`,
		Example: `  assent phone
  assent phone --way home --address 192.168.1.20
  assent phone --way home --name box.local             a name the phone knows; face and fingerprint need one
  assent phone --yes --json                            for a program: set it up and print the pairing link
  assent phone --off`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			if err := f.check(); err != nil {
				return err
			}
			if f.off {
				return a.phoneOff(ctx, f)
			}
			return (&phoning{app: a, f: f}).run(ctx)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.way, "way", "", "tailscale, relay, or home for a certificate of this machine's own (default: a relay that is known, else tailscale where it runs)")
	fl.StringVar(&f.address, "address", "", "at home: address of this machine that the phone can reach (default: the one used for outgoing connections)")
	fl.StringVar(&f.name, "name", "", "at home: a name for that address that the phone knows, such as box.local")
	fl.IntVar(&f.port, "port", 0, fmt.Sprintf("at home: port for phones (default %d, or a free one)", phonePort))
	fl.StringVar(&f.role, "role", f.role, "what the phone may do: view, approve, operate or admin")
	fl.BoolVar(&f.anew, "renew", false, "at home: make a new certificate now, which each phone has to trust again")
	fl.BoolVar(&f.noSample, "no-sample", false, "send no sample request")
	fl.BoolVar(&f.off, "off", false, "undo the setup: phones no longer reach the page, but stay paired")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&a.json, "json", false, "print JSON and wait for nothing: way, url, commands, ends, root, pairing")
	return c
}

func (f *phoneFlags) check() error {
	switch f.role {
	case "view", "approve", "operate", "admin":
	default:
		return usagef("--role: want view, approve, operate or admin")
	}
	switch phone.Way(f.way) {
	case "", phone.Tailscale, phone.Relay, phone.Home:
	default:
		return usagef("--way %s: want tailscale, relay or home", f.way)
	}
	if f.port < 0 || f.port > 65535 {
		return usagef("--port %d: want 1 to 65535", f.port)
	}
	if phone.Way(f.way) != phone.Home && f.way != "" && (f.address != "" || f.name != "" || f.port != 0 || f.anew) {
		return usagef("--address, --name, --port and --renew are for --way home")
	}
	return nil
}

// phoning is one run of the command.
type phoning struct {
	*app
	f        phoneFlags
	b        *client
	door     *phone.Door
	commands []string // of others that were run
	made     bool     // the door was made by this run
	closers  []func() error
}

// atEnd has something closed when the command ends: a phone may come back to a page of it until then.
func (p *phoning) atEnd(close func() error) { p.closers = append(p.closers, close) }

// phoned is what assent phone --json prints.
type phoned struct {
	Way      phone.Way    `json:"way"`
	URL      string       `json:"url"`
	Commands []string     `json:"commands"`
	Ends     *time.Time   `json:"ends,omitempty"` // the certificate
	Root     string       `json:"root,omitempty"` // PEM, for the phone to trust
	Pairing  *api.Pairing `json:"pairing,omitempty"`
}

func (p *phoning) run(ctx context.Context) (err error) {
	if p.b, err = p.broker(); err != nil {
		return err
	}
	defer func() {
		for _, close := range slices.Backward(p.closers) {
			_ = close() // nobody waits for anything more
		}
		if err != nil && (ctx.Err() != nil || errors.Is(err, io.EOF)) {
			err = p.stopped()
		}
	}()
	if err := p.findDoor(ctx); err != nil {
		return err
	}
	if p.json {
		return p.print(ctx)
	}
	if err := p.trust(ctx); err != nil {
		return err
	}
	d, err := p.pair(ctx)
	if err != nil {
		return err
	}
	if !p.f.noSample && d.Role != "view" {
		if err := p.sample(ctx, d); err != nil {
			return err
		}
	}
	end := ""
	if ends := p.door.Ends(); !ends.IsZero() {
		end = ", at home, until " + ends.Local().Format(time.DateOnly)
	}
	fmt.Fprintf(p.out, "\n%s is set up: what your agents ask can be answered there%s. To take it back: %s phone --off\n", show.Line(d.Name), end, typed())
	return nil
}

// stopped is the error of a run that was called off, and says what stays.
func (p *phoning) stopped() error {
	if p.door == nil || !p.made {
		return errors.New("stopped; nothing was changed")
	}
	return fmt.Errorf("stopped; phones reach the page at %s from now on (to go on: %s phone, to take it back: %[2]s phone --off)", p.door.URL, typed())
}

func (p *phoning) print(ctx context.Context) error {
	pairing, err := p.invite(ctx)
	if err != nil {
		return err
	}
	out := phoned{Way: p.door.Way, URL: p.door.URL, Commands: append([]string{}, p.commands...), Root: p.door.Root, Pairing: &pairing}
	if ends := p.door.Ends(); !ends.IsZero() {
		out.Ends = &ends
	}
	return p.printJSON(out)
}

// invite makes a pairing link under the address that phones open.
func (p *phoning) invite(ctx context.Context) (api.Pairing, error) {
	var made api.Pairing
	if err := p.b.call(ctx, "POST", "/v1/pair", api.NewPairing{Role: p.f.role}, &made); err != nil {
		return made, err
	}
	made.URL = p.door.URL + "/#pair=" + made.Code
	return made, nil
}

// showCode prints a QR code for a camera, and the text below it.
func (a *app) showCode(text string) {
	if terminal.IsTerminal(a.out) {
		printQR(a.out, text, true)
	}
	fmt.Fprintln(a.out, show.Line(text))
}

// phoneOff takes the door away, and what another program does for it.
func (a *app) phoneOff(ctx context.Context, f phoneFlags) error {
	door, err := phone.Load(a.stateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if a.json {
			return a.printJSON(phoned{Commands: []string{}})
		}
		fmt.Fprintln(a.out, "Nothing to do: phones have no way of assent's here.")
		if relay, err := a.relayDoor(); err == nil {
			fmt.Fprintf(a.out, "They reach the page at %s through the relay; to end that: %s relay leave\n", show.Line(relay.URL), typed())
		}
		return nil
	case err != nil: // it is in force nowhere, and goes
		if err := phone.Remove(a.stateDir); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "note: the file was not readable (%s); if tailscale serves the page, see: tailscale serve status\n", show.Line(err.Error()))
		return nil
	}
	ctx = context.WithoutCancel(ctx) // half of it helps nobody; each call is bounded
	var commands []string
	if door.Way == phone.Tailscale {
		done, err := a.tailOff(ctx, door)
		if err != nil {
			return fmt.Errorf("tailscale goes on serving the page: %w; nothing was changed", err)
		}
		commands = done
	}
	if err := phone.Remove(a.stateDir); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(phoned{Way: door.Way, URL: door.URL, Commands: append([]string{}, commands...)})
	}
	for _, c := range commands {
		fmt.Fprintln(a.out, "Ran:", c)
	}
	fmt.Fprintf(a.out, "Phones reach the page at %s no more. They stay paired; to take one out: %s device revoke NAME\n", show.Line(door.URL), typed())
	if door.Way == phone.Home {
		fmt.Fprintln(a.out, "Each phone still trusts the certificate; it counts for nothing now. To take it out there, see docs/phone.md.")
	}
	return nil
}

// spelled is a command as a shell would take it.
func spelled(program string, args []string) string {
	return show.Line(shellWords(append([]string{program}, args...)))
}
