package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"assent/internal/api"
	"assent/internal/server"
	"assent/internal/setup/phone"
	"assent/internal/setup/sample"
	"assent/internal/text/show"
)

const (
	trustTime  = 15 * time.Minute // to put the certificate on the phone
	sampleTime = 5 * time.Minute  // to answer the sample
	quietTime  = 30 * time.Second // without anybody: say what may be in the way
	guideConns = 32
)

// trust has the phone trust the door's certificate, where it has one of its own.
func (p *phoning) trust(ctx context.Context) error {
	if p.door.Way != phone.Home {
		return nil
	}
	if !p.made && p.interactive() && !p.f.yes {
		yes, err := p.confirm(ctx, "Does this phone trust the certificate of "+show.Line(p.door.URL)+" already?", false)
		if err != nil || yes {
			return err
		}
	}
	at, err := netip.ParseAddrPort(p.door.Listen)
	if err != nil {
		return err
	}
	cert, err := p.door.Certificate()
	if err != nil {
		return err
	}
	plain, err := listenNear(at.Addr(), phonePort+1)
	if err != nil {
		return err
	}
	p.atEnd(plain.Close)
	check, err := listenNear(at.Addr(), phonePort+2)
	if err != nil {
		return err
	}
	p.atEnd(check.Close)
	steps := make(chan phone.Step, 16)
	guide := &phone.Guide{
		Host: plain.Addr().String(), Check: check.Addr().String(), Root: p.door.RootDER(), Name: rootName(p.door),
		Saw: func(s phone.Step, _ netip.Addr) {
			select {
			case steps <- s:
			default: // nobody waits for more
			}
		},
	}
	serveGuide := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second,
			IdleTimeout: 20 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
		}
	}
	page, checked := serveGuide(guide.Handler()), serveGuide(guide.CheckHandler())
	checked.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
	p.atEnd(page.Close)
	p.atEnd(checked.Close)
	go func() { _ = page.Serve(server.Bound(plain, guideConns, true, true)) }()               // ends with the command
	go func() { _ = checked.ServeTLS(server.Bound(check, guideConns, true, true), "", "") }() // ends with the command

	goOn := ""
	if p.interactive() {
		goOn = " (Enter goes on without)"
	}
	fmt.Fprintln(p.out, "\nThe phone has to trust the certificate, once. In the same network, scan this with its camera:")
	p.showCode("http://" + guide.Host)
	fmt.Fprintf(p.out, "The phone shows each step. Before you install it there, compare in its details the SHA-256 of the certificate:\n  %s\nWaiting for it ...%s\n", phone.Fingerprint(guide.Root), goOn)
	return p.awaitTrust(ctx, guide, steps)
}

// awaitTrust says what the phone does until it trusts the certificate, or its owner goes on.
func (p *phoning) awaitTrust(ctx context.Context, guide *phone.Guide, steps <-chan phone.Step) error {
	words := map[phone.Step]string{
		phone.Opened:     "  opened: the phone is here",
		phone.Downloaded: "  downloaded: now install it, as the phone's page says",
		phone.Trusted:    "  trusted: the phone speaks https with this machine",
	}
	var enter <-chan inputLine // nil without a terminal
	if p.interactive() {
		enter = p.nextLine()
	}
	end, quiet := time.NewTimer(trustTime), time.NewTimer(quietTime)
	defer end.Stop()
	defer quiet.Stop()
	said := map[phone.Step]bool{}
	for {
		select {
		case s := <-steps:
			quiet.Stop()
			if !said[s] {
				said[s] = true
				fmt.Fprintln(p.out, words[s])
			}
			if s == phone.Trusted {
				return nil
			}
		case <-quiet.C:
			fmt.Fprintf(p.out, "  Nothing has come yet. Is the phone in the same network, and does this machine's firewall let in the ports\n  of %s, %s and %s?\n", guide.Host, guide.Check, p.door.Listen)
		case l := <-enter:
			p.reading = nil
			return l.err
		case <-end.C:
			return fmt.Errorf("no phone trusts the certificate after %v; to go on: %s phone", trustTime, typed())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rootName is what the phone lists the certificate as.
func rootName(door *phone.Door) string {
	if cert, err := x509.ParseCertificate(door.RootDER()); err == nil {
		return cert.Subject.CommonName
	}
	return "assent"
}

// listenNear listens on an address, on the wanted port or on a free one.
func listenNear(at netip.Addr, port uint16) (net.Listener, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(at, port).String())
	if err != nil {
		l, err = net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	}
	return l, err
}

// pair shows the link and waits until a device is paired by it.
func (p *phoning) pair(ctx context.Context) (api.Device, error) {
	for {
		before, err := p.b.devices(ctx)
		if err != nil {
			return api.Device{}, err
		}
		made, err := p.invite(ctx)
		if err != nil {
			return api.Device{}, err
		}
		fmt.Fprintln(p.out, "\nScan this with the phone's camera to pair it (once, within five minutes):")
		p.showCode(made.URL)
		fmt.Fprintln(p.out, "Waiting for it ...")
		d, err := p.awaitNew(ctx, before, made.ExpiresAt)
		if err != nil || d.ID != "" {
			if err == nil {
				fmt.Fprintf(p.out, "  paired: %s (%s)\n", show.Line(d.Name), show.Line(string(d.Role)))
			}
			return d, err
		}
		if !p.interactive() || p.f.yes {
			return d, fmt.Errorf("nobody came, and the link has expired; for a new one: %s phone", typed())
		}
		yes, err := p.confirm(ctx, "Nobody came, and the link has expired. Another?", true)
		if err != nil || !yes {
			return d, errors.Join(err, context.Canceled)
		}
	}
}

// awaitNew waits for a device that was not there before; without one until the link expires it returns none.
func (p *phoning) awaitNew(ctx context.Context, before []api.Device, until time.Time) (api.Device, error) {
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := p.b.devices(ctx)
		if err != nil {
			return api.Device{}, err
		}
		for _, d := range now {
			if !slices.ContainsFunc(before, func(x api.Device) bool { return x.ID == d.ID }) {
				return d, nil
			}
		}
		select {
		case <-tick.C:
		case <-end.C:
			return api.Device{}, nil
		case <-ctx.Done():
			return api.Device{}, ctx.Err()
		}
	}
}

// sample sends a sample request and says when and how it was answered.
func (p *phoning) sample(ctx context.Context, d api.Device) error {
	cfg, err := p.simulated(ctx, "")
	if err != nil {
		return err
	}
	cfg.Timeout = sampleTime
	var began time.Time
	id, answer, err := sample.Raise(ctx, "bash", cfg, func(ctx context.Context, id string) {
		began = time.Now()
		number := ""
		if r := p.sampleRequest(ctx, id); r != nil && r.Number > 0 {
			number = fmt.Sprintf(", number %d,", r.Number)
		}
		fmt.Fprintf(p.out, "\nA sample request%s waits on %s now: answer it there. Nothing is executed.\nWaiting for it ...\n", number, show.Line(d.Name))
	})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	words := p.sampleAnswer(ctx, id, answer)
	if words == "" || began.IsZero() {
		fmt.Fprintf(p.out, "  No answer came. The phone is paired all the same; to try again: %s simulate\n", typed())
		return nil
	}
	fmt.Fprintf(p.out, "  answered after %s: %s\n", time.Since(began).Round(100*time.Millisecond), words)
	if r := p.sampleRequest(ctx, id); r != nil && r.DecidedBy != nil && (r.DecidedBy.Kind != "device" || r.DecidedBy.ID != d.ID) {
		fmt.Fprintln(p.out, "  (not from that phone)")
	}
	return nil
}
