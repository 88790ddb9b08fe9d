package main

import (
	"context"
	"crypto/tls"
	"net/http"

	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// run starts what runs until the end: those who follow the streams, then those who watch files and other brokers,
// then the listeners.
func (d *daemon) run(g *group) {
	d.runFollowers(g)
	if !d.f.rulesOnce {
		g.run("rules", func(ctx context.Context) error { return d.book.Run(ctx, d.rulesChanged) })
	}
	if d.emitted != nil {
		g.run("hookd", func(ctx context.Context) error { return d.emitted.Serve(ctx, d.emitSocket) })
	}
	g.run("messages", d.messages.Run)
	g.run("screens", d.screens.Run)
	g.run("schemas", d.schema.Run)
	g.run("notifications", d.ring.Run)
	if d.others != nil {
		mine := d.others.only("sweep")
		g.run("hooks elsewhere", func(ctx context.Context) error { return d.others.sweep(ctx, mine, d.broker.Waits) })
	}
	g.run("spool", d.spool.watch)
	g.run("memory", giveBackMemory)
	d.runListeners(g)
	g.run("effects", d.warmEffects) // the last, as hooks and browsers need not wait for it
}

// runFollowers starts those who read the streams: later events as proof, changed files, history, the tree,
// RabbitMQ, the ledgers.
func (d *daemon) runFollowers(g *group) {
	g.run("events", func(ctx context.Context) error {
		return d.streams.Observe(ctx, d.broker.EventsFrom(), func(e hook.Event) {
			p, _ := agents.Reader(e.Agent).Decode(e.Type, e.Raw) // what is readable counts
			d.broker.Observe(e, p)
			d.ring.Observe(e, p)
			d.messages.Seen(&e, &p, func() hook.Detail { return agents.Reader(e.Agent).Detail(e.Type, e.Raw) })
		})
	})
	if d.streams.KeepsAgents() {
		g.run("events of agents", func(ctx context.Context) error { return d.streams.AgentsAfter(ctx, d.agentsFrom, d.srv.AgentSaid) })
	}
	g.run("changed files", func(ctx context.Context) error {
		return d.changes.Follow(ctx, d.streams.EventBounds, d.streams.Events, func(agent, event string, raw []byte) hook.Payload {
			p, _ := agents.Reader(agent).Decode(event, raw) // what is readable counts
			return p
		})
	})
	g.run("history", d.hist.Run)
	if d.proof != nil {
		g.run("tree", d.proof.Run)
	}
	if d.mutations != nil {
		g.run("rabbitmq", d.mutations.Run)
	}
	if d.ledgers != nil {
		g.run("ledger", d.ledgers.Run)
	}
}

// runListeners serves hooks, browsers and phones.
func (d *daemon) runListeners(g *group) {
	hooks := d.srv.HTTPServer(d.srv.Unix())
	page := d.srv.HTTPServer(d.srv.TCP())
	g.run("socket "+d.socket, func(context.Context) error { return hooks.Serve(d.sockets) })
	g.run("listener "+d.f.listen, func(context.Context) error {
		if d.cert != nil {
			page.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*d.cert}, MinVersion: tls.VersionTLS12}
			return page.ServeTLS(d.pages, "", "")
		}
		return page.Serve(d.pages)
	})
	d.ends = []*http.Server{hooks, page}
	if d.relay != nil {
		d.relay.run(g, d.srv, page.Handler)
		d.ends = append(d.ends, d.relay.http)
	}
	phones := d.srv.HTTPServer(d.srv.TCP())
	d.ends = append(d.ends, phones)
	phones.TLSConfig = d.door.TLS()
	g.run("door", d.door.Run)
	g.run("listener for phones", func(context.Context) error { return phones.ServeTLS(d.phones, "", "") })
}

// finish takes no more connections, and ends what is being served. The broker comes first: its waiters go without
// an answer, and nothing is recorded for them. What else is being answered, such as a decision or a plain event,
// is finished.
func (d *daemon) finish() error {
	_ = closeSocket(d.unix)()
	d.pages.Close()
	d.phones.Close()
	err := d.broker.Close()
	finish(d.ends...)
	return err
}
