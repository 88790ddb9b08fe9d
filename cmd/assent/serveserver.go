package main

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/metrics"
	"assent/internal/policy/suggest"
	"assent/internal/server"
	"assent/web"
)

// openServer puts the server on top of all that was opened, and lets it hear of what changes.
func (d *daemon) openServer(ctx context.Context) (err error) {
	// What is forgotten here is at the other brokers, too, and the other way round.
	var forgot func(context.Context, string) error
	if d.others != nil {
		forgot = func(ctx context.Context, session string) error { return d.orders.Tell(ctx, session) }
	}
	health := &readiness{streams: d.streams, socket: d.unix}
	suggested := suggest.NewStanding(d.book, pastOfBroker(d.broker))
	d.srv, err = server.New(server.Config{
		Broker: d.broker, Auth: d.who, Saw: d.screens.Saw, Publish: d.publish, Mismatches: d.schema.Report, History: d.hist, Push: d.ring, Notifies: d.ring.Tells,
		Hold: d.f.hold, HoldUnseen: d.f.unattended == unattendedHold, Ready: health.check, Forgot: forgot, Shared: d.f.natsURL != "",
		Rules: d.book.Eval, Contain: intake.Contain{Rewrite: d.gate.Rewrite, First: d.once.First}, InForce: d.book.InForce, Views: d.views, Secret: d.secret,
		Observed: d.changes.Observe, Forgotten: d.changes.Forget, Messages: d.messages, Agents: d.hosts, PublishAgent: d.streams.PublishAgent, ForgetAgent: d.streams.ForgetAgent, AgentsUnread: !d.streams.KeepsAgents(),
		AskBroker: d.streams.Ask, AnswerBrokers: d.streams.Answer,
		Published: d.rulesForAll, CheckRules: func(text string) []hook.RuleProblem { return d.book.Check("the rules", text) }, SignedRules: intake.SignedRules{Now: d.book.Signed, Alone: d.book.Alone},
		Tree: d.proof, Halt: d.stops, RequireVerification: func() string { return hook.StricterVerification(d.f.requireVerification, d.book.Verification()) },
		Grants: d.saved, Suggest: suggest.NewProposer(d.book, endedOf(d.broker)), Suggested: suggested,
		Assets: web.Assets(), Log: d.log, HostID: d.host, MaxSockets: d.limits.sockets, MaxWaiting: d.limits.waiting, MaxRemote: d.limits.remote,
		URL: d.url, PublicURLs: d.f.publicURLs, TrustedProxies: d.proxies, Version: version(), Collectors: d.collectors(health),
	})
	if err != nil {
		return err
	}
	d.closes("sockets", d.srv.Close)
	if d.agentsFrom, err = d.streams.AgentsNow(ctx); err != nil { // before any host can come
		d.warnf("from where events of agents are new could not be read, and is when they can be: %v", err)
	}
	if d.others != nil {
		if d.orders, err = d.others.forgotten(ctx, d.stateDir, d.streams, d.srv.ForgetElsewhere, d.warnf); err != nil {
			return err
		}
		d.closes("sessions to forget", d.orders.Close)
	}
	d.stops.Notify(func() {
		d.srv.HaltChanged()
		d.ring.Halted(d.stops.State())
	})
	d.messages.Notify(d.srv.MessagesChanged)
	d.hosts.Notify(d.srv.AgentChanged)
	d.hosts.NotifyForget(d.srv.MessagesChanged)
	d.rulesChanged = func() {
		d.rulesForAll.Follow(following(d.book.Follows()))
		suggested.RulesChanged()
		d.srv.RulesChanged()
	}
	reload := func() {
		d.book.Reload()
		d.rulesChanged()
	}
	d.saved.Notify(reload)
	d.rulesForAll.Notify(reload)
	reload() // for what was published since the book was opened
	d.door.Follow(d.srv.Reach)
	return nil
}

// collectors are the metrics of all parts.
func (d *daemon) collectors(health *readiness) []prometheus.Collector {
	// Who reads the event stream, and how far.
	followers := map[string]func() uint64{
		"broker":  func() uint64 { return d.broker.EventsFrom() - 1 },
		"history": func() uint64 { event, _ := d.hist.Cursor(); return event },
	}
	if d.mutations != nil {
		followers["rabbitmq"] = d.mutations.Cursor
	}
	if d.ledgers != nil {
		followers["ledger"] = func() uint64 { return d.ledgers.Stats().Seq }
	}
	listeners := map[string]*server.Slots{"socket": d.sockets, "tcp": d.pages, "phone": d.phones}
	if d.relay != nil {
		listeners["relay"] = d.relay.slots
	}
	return slices.Concat(
		metrics.Process(), server.SlotMetrics(listeners), d.relay.metrics(), d.requests.Collectors(), metrics.Approvers(d.who), metrics.Contexts(d.views.Contexts),
		d.spool.metrics(), d.mutations.Collectors(), ledgerMetrics(d.ledgers), d.emitted.Collectors(), d.ring.Collectors(), d.schema.Collectors(),
		[]prometheus.Collector{health.collector(), metrics.Streams(d.streams, followers)}, treeMetrics(d.proof), screenMetrics(d.screens),
	)
}
