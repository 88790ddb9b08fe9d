package main

import (
	"context"
	"os"

	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/policy/contain"
	"assent/internal/policy/files"
	"assent/internal/policy/grants"
	"assent/internal/store/stream"
)

// openRules opens who may do what, and the rules in force: those in files, what approvers saved, and those for all
// brokers. A broken file is no reason not to start: people decide then. While everything is stopped, they allow
// nothing.
func (d *daemon) openRules(ctx context.Context) (err error) {
	d.who, err = auth.Open(ctx, auth.Config{
		KV: d.streams, Record: d.streams, Shared: d.f.natsURL != "", StateDir: d.stateDir, NoOwnerToken: d.f.noOwnerToken, Now: d.streams.Now, Logf: d.warnf,
	})
	if err != nil {
		return err
	}
	d.closes("credentials", d.who.Close)
	if d.saved, err = grants.Open(ctx, grants.Config{KV: d.streams, File: d.ownRules(), Logf: d.warnf}); err != nil {
		return err
	}
	d.closes("saved rules", d.saved.Close)
	if d.rulesForAll, err = openPublished(ctx, d.stateDir, d.host, d.streams, d.warnf); err != nil {
		return err
	}
	d.closes("published rules", d.rulesForAll.Close)
	if d.stops, err = halt.Open(ctx, halt.Config{KV: d.streams, Shared: d.f.natsURL != "", Logf: d.warnf}); err != nil {
		return err
	}
	d.closes("what is stopped", d.stops.Close)
	program, err := containedBy(d.f.contain)
	if err != nil {
		return usagef("%w", err)
	}
	d.gate = &contain.Gate{Program: program, Self: d.self}
	d.once = contain.NewOnce(d.streams, stream.ErrKeyNotFound)
	if err := d.once.Sweep(ctx); err != nil {
		d.warnf("what ran contained long ago could not be forgotten: %v", err)
	}
	sources := d.rulebook(d.f, d.socket, d.infof, d.warnf)
	sources.Own, sources.Saved, sources.Outstanding, sources.Published = "", d.saved.Sources, d.saved.Outstanding, d.rulesForAll.Source
	d.book = files.Open(sources)
	d.rulesForAll.Follow(following(d.book.Follows()))
	return nil
}

// openHosts opens the messages to agents, and the hosts that start agents.
func (d *daemon) openHosts(ctx context.Context) (err error) {
	stopped := func() bool { h := d.stops.State(); return h.Stopped() != nil }
	hosted := func(session string) string { return d.hosts.Works(session) } // nothing asks before the server and Run begin
	d.messages, err = fleet.Open(ctx, fleet.Config{
		KV: d.streams, Texts: d.streams.Texts(), Record: d.streams, ForgetEntries: forgettingEntries(d.proof, d.streams), Inbox: d.inbox, Standing: d.standing, Self: d.self, Gone: processGone, May: maySend(d.who),
		Hosted: hosted, Stopped: stopped, Logf: d.warnf,
	})
	if err != nil {
		return err
	}
	d.closes("messages", d.messages.Close)
	d.hosts, err = fleet.OpenRegistry(ctx, fleet.RegistryConfig{KV: d.streams, Messages: d.messages, Known: knownHost(d.who), Shared: d.f.natsURL != "", Name: d.brokerName(), Logf: d.warnf})
	if err != nil {
		return err
	}
	d.closes("hosts", d.hosts.Close)
	return nil
}

// brokerName is what people call this broker: where its page is, as far as it was told, or else its machine and address.
func (d *daemon) brokerName() string {
	if len(d.f.publicURLs) > 0 {
		return d.f.publicURLs[0]
	}
	name, err := os.Hostname()
	if err != nil {
		name = "a machine without a name"
	}
	return name + " (" + d.f.listen + ")"
}
