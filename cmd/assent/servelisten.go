package main

import (
	"context"
	"os"

	"assent/hookclient"
	"assent/internal/agent/agents"
	"assent/internal/agent/conformance"
	"assent/internal/auth"
	"assent/internal/host/hooksocket"
	"assent/internal/outlet/notify"
	"assent/internal/server"
	"assent/internal/setup/phone"
)

// openListeners opens the ways by which events, hooks and browsers come, and what rings when a request waits.
func (d *daemon) openListeners(ctx context.Context) (err error) {
	// What tells of tool calls beside the agent's own hooks.
	if d.f.hookdSocket != "" {
		if d.emitted, d.emitSocket, err = newHookd(d.f.hookdSocket, d.socket, d.self, d.limits.hookd, d.streams, d.warnf); err != nil {
			return err
		}
		d.closes("the socket of hookd", closeSocket(d.emitSocket))
	}

	// Every hook's event is held against its schema once it is published, and nothing waits for it. Events that
	// waited in the spool while no broker ran come before any new one.
	d.schema = conformance.New(agents.Contract)
	d.publish = d.schema.Watch(d.streams.Publish)
	d.spool = newSpool(hookclient.SpoolDir(os.Getenv), d.socket, d.self, d.publish, d.log)
	d.spool.drain(ctx)

	tcp, err := listen(d.f.listen)
	if err != nil {
		return err
	}
	if d.cert == nil {
		tcp = &peerListener{Listener: tcp, trusted: d.proxies, warn: d.warnf}
	}
	d.pages = server.Bound(tcp, d.limits.tcp, true, d.cert != nil)
	d.closes("the listener", func() error { d.pages.Close(); return nil })
	d.url = listenURL(tcp.Addr(), d.cert != nil)
	d.door = phone.NewListener(d.stateDir, d.warnf)
	d.phones = server.Bound(d.door, d.limits.phone, true, true)

	if err := d.openRing(ctx); err != nil {
		return err
	}
	if d.unix, err = listenUnix("--socket", d.socket, d.f.socketGroup); err != nil {
		return err
	}
	d.closes("the socket", closeSocket(d.unix))
	d.sockets = server.Bound(d.unix, d.limits.unix, false, false)
	return nil
}

// openRing opens what tells people that a request waits.
func (d *daemon) openRing(ctx context.Context) (err error) {
	may := func(role auth.Role) func(string) bool {
		return func(id string) bool { x, ok := d.who.Device(id); return ok && x.Role.Includes(role) }
	}
	d.ring, err = notify.Open(ctx, notify.Config{
		KV: d.streams, Mine: d.others.only("notify"), Frozen: d.streams.Damage() != nil, Broker: d.broker, Effects: d.views.Effects, AgentTitle: agents.Title,
		URL: pageURL(d.publicURLs(d.f), d.url), Contact: d.f.pushContact, Allow: d.f.pushAllow, May: may(auth.RoleView), MaySend: may(auth.RoleOperate), TurnOver: d.messages.TurnOver,
		NoticesFile: noticesPath(d.f.notices), NoticesWanted: d.f.notices != "" && d.f.notices != noNotices, Deliver: deliverNotice, Logf: d.warnf,
	})
	if err != nil {
		return err
	}
	d.closes("notifications", d.ring.Close)
	return nil
}

// closeSocket removes a unix socket, and closes it; it may be called again.
func closeSocket(s *hooksocket.Socket) func() error {
	return func() error {
		s.Remove()
		s.Close()
		return nil
	}
}
