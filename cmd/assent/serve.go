package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"assent/broker"
	"assent/hookclient"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude"
	"assent/internal/agent/conformance"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/metrics"
	"assent/internal/outlet/hookd"
	"assent/internal/outlet/ledger"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/rabbit"
	"assent/internal/policy/contain"
	"assent/internal/policy/effects"
	"assent/internal/policy/files"
	"assent/internal/policy/grants"
	"assent/internal/policy/suggest"
	"assent/internal/reqcontext"
	"assent/internal/server"
	"assent/internal/setup/phone"
	"assent/internal/store/forgotten"
	"assent/internal/store/history"
	"assent/internal/store/stream"
	"assent/web"
)

func (a *app) serveCmd() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the broker in the foreground",
		Long: `Run the broker: it takes hooks on a unix socket, keeps every request until it is
answered, and serves the page and the API on a loopback address. Stop it with Ctrl-C; waiting
hooks reconnect to the next broker.

Beyond loopback it needs a certificate, or a proxy in front of it that has one (--trusted-proxy).`,
		Example: `  assent serve
  assent serve --listen 127.0.0.1:0 --state-dir /tmp/assent --socket /tmp/assent/hook.sock
  assent serve --public-url https://box.example.net
  assent serve --relay wss://relay.example.org --relay-token-file box.token
  assent serve --ledger --hookd-socket "$XDG_RUNTIME_DIR/hookd.sock"
  assent serve --ledger --mutation-tools 'Write,Edit,Bash,mcp__files__*'
  assent serve --amqp-url amqp://guest:guest@127.0.0.1:5672/
  assent serve --listen 0.0.0.0:7717 --tls-cert cert.pem --tls-key key.pem --public-url https://box.example.net:7717`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.serve(ctx, f, func(who *auth.Auth, page string, info runtimeInfo) {
				a.announce(who, page, info, f.noLink)
			})
		},
	}
	f.add(c.Flags())
	return c
}

// serve is the picture of the system: the streams below, the broker on them, the server on
// top, and what flows between them. It calls ready, once, when hooks and browsers are served,
// and returns when ctx is done or a part fails.
func (a *app) serve(ctx context.Context, f serveFlags, ready func(who *auth.Auth, page string, info runtimeInfo)) (err error) {
	proxies, err := f.check()
	if err != nil {
		return err
	}
	cert, fingerprint, err := loadCertificate(f.tlsCert, f.tlsKey)
	if err != nil {
		return err
	}
	log, err := f.log, error(nil)
	if log == nil {
		log, err = newLogger(a.err, f)
	}
	if err != nil {
		return err
	}
	sugar := log.Sugar()
	relay, err := newRelayed(a.stateDir, &f, log)
	if err != nil {
		return err
	}
	if relay != nil {
		f.publicURLs = append(slices.Clone(f.publicURLs), relay.up.URL())
	}
	socket, err := f.socketPath(a.stateDir)
	if err != nil {
		return err
	}

	limits, err := limitsOf(openFiles())
	if err != nil {
		return err
	}

	if f.unnamed() {
		log.Warn("browsers elsewhere are refused: say with --public-url what they call this broker")
	}
	if shared(a.stateDir) {
		return fmt.Errorf("state directory: everybody can write to %s; choose a directory of your own", a.stateDir)
	}
	if shared(filepath.Dir(socket)) {
		log.Warn("everybody can make files beside the socket: while no broker runs, another user could answer your hooks there",
			zap.String("socket", socket))
	}
	if err := makeOwnDir(a.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}

	host, err := hostID(a.stateDir, bootID)
	if err != nil {
		return err
	}
	self := server.Local(uint32(os.Getuid()), host)

	// What a request would do, for those who look, and which files its session changed before. The tables
	// behind it are read while the streams open.
	changes := effects.NewChanges("")
	effectsOf := effects.New(effects.Options{Changed: changes.Before})
	warm := make(chan struct{})
	go func() { defer close(warm); effects.Warm(effectsOf) }()
	defer func() { <-warm }()

	f.warnOfPasswords(os.Args, log)

	// The streams. Opening them locks the state directory.
	token, err := readersToken(os.Getenv, log)
	if err != nil {
		return err
	}
	cfg := stream.Config{Dir: a.stateDir, Listen: f.natsListen, ReadersToken: token, URL: f.natsURL, RecordURL: f.recURL, Creds: f.natsCreds, RecordCreds: f.recCreds, Replicas: f.natsReplicas, Readers: limits.readers, Repair: f.repair, Logf: sugar.Warnf}
	if f.natsListen == "off" {
		cfg.Listen = ""
	}
	streams, err := stream.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer closing(&err, "streams", streams.Close)
	if damage := streams.Damage(); damage != nil {
		fmt.Fprintf(a.err, "assent: %s\n", readable(damage.Error()))
	}

	// The tree over the record, for whoever has to verify it.
	proof, err := openTree(ctx, a.stateDir, &f, streams, sugar.Warnf)
	if err != nil {
		return err
	}

	// What happened, for people: it follows both streams from a file of its own, and nothing waits
	// for it.
	hist, err := history.Open(history.Config{
		Path:   filepath.Join(a.stateDir, "history.db"),
		Events: streams.EventsAfter, Records: streams.RecordsAfter, EventsNow: streams.EventsNow, RecordsNow: streams.RecordsNow,
		Settled: streams.Settled, EventBounds: streams.EventBounds,
		Decode: readPayload, Forget: forgetting(proof, streams), Free: streams.Free, Busy: streams.Writing,
		Retention: time.Duration(f.historyDays) * 24 * time.Hour, Logf: sugar.Warnf,
	})
	if err != nil {
		return err
	}

	// How a command is read, the way rules read it, how often it was allowed before, and what was said around
	// it: for those who look.
	views := server.Views{Reading: files.Reading(""), Effects: effectsOf, Allowed: hist.Allowed, Contexts: reqcontext.New(0)}

	// The broker, on the record. It has caught up when New returns.
	others, err := joinCluster(ctx, a.stateDir, &f, streams, sugar.Warnf)
	if err != nil {
		return err
	}
	defer closing(&err, "the other brokers", others.Close)
	requests := metrics.NewRequests()
	b, err := broker.New(ctx, broker.Config{
		Log: streams, SingleReplica: f.natsURL == "", Replicas: others.replicas(), Encode: views.Encode, CallKey: claude.CallKey, Races: agents.EventsTell,
		Recorded: recorded(requests.Recorded, views.Contexts.Recorded), Logf: sugar.Warnf,
	})
	if err != nil {
		return fmt.Errorf("read the record in %s: %w", a.stateDir, err)
	}
	defer closing(&err, "broker", b.Close)

	// What tools did to files, for services on RabbitMQ. It begins before any new event is taken.
	var mutations *rabbit.Publisher
	if address := f.amqpAddress(); address != "" {
		if mutations, err = newRabbit(ctx, address, streams, others.only("rabbitmq"), f.mutates, sugar.Warnf); err != nil {
			return err
		}
	}

	// The same, in the repositories of this machine.
	var ledgers *ledger.Follower
	if f.ledger {
		if ledgers, err = newLedger(a.stateDir, streams, f.mutates, sugar.Warnf); err != nil {
			return err
		}
	}

	// Who may do what.
	who, err := auth.Open(ctx, auth.Config{KV: streams, StateDir: a.stateDir, NoOwnerToken: f.noOwnerToken, Now: streams.Now, Logf: sugar.Warnf})
	if err != nil {
		return err
	}
	defer closing(&err, "credentials", who.Close)

	// The rules in force: those in files, and what approvers saved. A broken file is no reason not
	// to start: people decide then. While everything is stopped, they allow nothing.
	saved, err := grants.Open(ctx, grants.Config{KV: streams, File: a.ownRules(), Logf: sugar.Warnf})
	if err != nil {
		return err
	}
	defer closing(&err, "saved rules", saved.Close)
	rulesForAll, err := openPublished(ctx, a.stateDir, host, streams, sugar.Warnf)
	if err != nil {
		return err
	}
	defer closing(&err, "published rules", rulesForAll.Close)
	stops, err := halt.Open(ctx, halt.Config{KV: streams, Shared: f.natsURL != "", Logf: sugar.Warnf})
	if err != nil {
		return err
	}
	defer closing(&err, "what is stopped", stops.Close)
	contains, err := containedBy(f.contain)
	if err != nil {
		return usagef("%w", err)
	}
	gate := &contain.Gate{Program: contains, Self: server.Local(uint32(os.Getuid()), host)}
	once := contain.NewOnce(streams, stream.ErrKeyNotFound)
	if err := once.Sweep(ctx); err != nil {
		sugar.Warnf("what ran contained long ago could not be forgotten: %v", err)
	}
	messages, err := fleet.Open(ctx, fleet.Config{KV: streams, Inbox: a.inbox, Standing: a.standing, Self: self, Gone: processGone, May: maySend(who), Logf: sugar.Warnf})
	if err != nil {
		return err
	}
	defer closing(&err, "messages", messages.Close)
	hosts, err := fleet.OpenRegistry(ctx, fleet.RegistryConfig{KV: streams, Messages: messages, Known: knownHost(who), Shared: f.natsURL != "", Logf: sugar.Warnf})
	if err != nil {
		return err
	}
	defer closing(&err, "hosts", hosts.Close)
	sources := a.rulebook(f, socket, sugar.Infof, sugar.Warnf)
	sources.Own, sources.Saved, sources.Outstanding, sources.Published = "", saved.Sources, saved.Outstanding, rulesForAll.Source
	book := files.Open(sources)
	rulesForAll.Follow(following(book.Follows()))

	// What tells of tool calls beside the agent's own hooks.
	var emitted *hookd.Receiver
	var emitSocket *hookSocket
	if f.hookdSocket != "" {
		if emitted, emitSocket, err = newHookd(f.hookdSocket, socket, self, limits.hookd, streams, sugar.Warnf); err != nil {
			return err
		}
		defer emitSocket.Close()
		defer emitSocket.remove()
	}

	// Every hook's event is held against its schema once it is published, and nothing waits for it.
	schema := conformance.New(agents.Contract)
	publish := schema.Watch(streams.Publish)

	// Events that waited in the spool while no broker ran come before any new one.
	spool := newSpool(hookclient.SpoolDir(os.Getenv), socket, self, publish, log)
	spool.drain(ctx)

	tcp, err := listen(f.listen)
	if err != nil {
		return err
	}
	if cert == nil {
		tcp = &peerListener{Listener: tcp, trusted: proxies, warn: sugar.Warnf}
	}
	pages := server.Bound(tcp, limits.tcp, true, cert != nil)
	defer pages.Close()
	url := listenURL(tcp.Addr(), f.tlsCert != "")
	door := phone.NewListener(a.stateDir, sugar.Warnf)
	phones := server.Bound(door, limits.phone, true, true)

	// Who is told that a request waits.
	ring, err := notify.Open(ctx, notify.Config{
		KV: streams, Mine: others.only("notify"), Frozen: streams.Damage() != nil, Broker: b, Effects: views.Effects, AgentTitle: agents.Title, URL: pageURL(a.publicURLs(f), url), Contact: f.pushContact, Allow: f.pushAllow,
		May:         func(id string) bool { d, ok := who.Device(id); return ok && d.Role.Includes(auth.RoleView) },
		MaySend:     func(id string) bool { d, ok := who.Device(id); return ok && d.Role.Includes(auth.RoleOperate) },
		TurnOver:    messages.TurnOver,
		NoticesFile: noticesPath(f.notices), NoticesWanted: f.notices != "" && f.notices != noNotices, Deliver: deliverNotice, Logf: sugar.Warnf,
	})
	if err != nil {
		return err
	}
	defer closing(&err, "notifications", ring.Close)

	unix, err := listenUnix("--socket", socket, f.socketGroup)
	if err != nil {
		return err
	}
	defer unix.Close()
	defer unix.remove()
	sockets := server.Bound(unix, limits.unix, false, false)
	// Who reads the event stream, and how far.
	followers := map[string]func() uint64{
		"broker":  func() uint64 { return b.EventsFrom() - 1 },
		"history": func() uint64 { event, _ := hist.Cursor(); return event },
	}
	if mutations != nil {
		followers["rabbitmq"] = mutations.Cursor
	}
	if ledgers != nil {
		followers["ledger"] = func() uint64 { return ledgers.Stats().Seq }
	}
	listeners := map[string]*server.Slots{"socket": sockets, "tcp": pages, "phone": phones}
	if relay != nil {
		listeners["relay"] = relay.slots
	}
	health := &readiness{streams: streams, socket: unix}

	// What is forgotten here is at the other brokers, too, and the other way round.
	var orders *forgotten.List
	var forgot func(context.Context, string) error
	if others != nil {
		forgot = func(ctx context.Context, session string) error { return orders.Tell(ctx, session) }
	}
	suggested := suggest.NewStanding(book, pastOfBroker(b))
	srv, err := server.New(server.Config{
		Broker: b, Auth: who, Publish: publish, Mismatches: schema.Report, History: hist, Push: ring, Told: ring.Tells, Hold: f.hold, HoldUnseen: f.unattended == unattendedHold, Ready: health.check, Forgot: forgot, Shared: f.natsURL != "",
		Rules: book.Eval, Contain: intake.Contain{Rewrite: gate.Rewrite, First: once.First}, InForce: book.InForce, Views: views, Secret: a.secret, Observed: changes.Observe, Forgotten: changes.Forget, Messages: messages, Agents: hosts, PublishAgent: streams.PublishAgent, ForgetAgent: streams.ForgetAgent,
		Published: rulesForAll, CheckRules: func(text string) []hook.RuleProblem { return book.Check("the rules", text) },
		Tree: proof, Halt: stops, RequireVerification: func() string { return hook.StricterVerification(f.requireVerification, book.Verification()) }, Grants: saved, Suggest: suggest.NewProposer(book, endedOf(b)), Suggested: suggested,
		Assets: web.Assets(), Log: log, HostID: host, MaxSockets: limits.sockets, MaxWaiting: limits.waiting, MaxRemote: limits.remote, URL: url, PublicURLs: f.publicURLs, TrustedProxies: proxies, Version: version(),
		Collectors: slices.Concat(
			metrics.Process(), server.SlotMetrics(listeners), relay.metrics(), requests.Collectors(), metrics.Approvers(who), metrics.Contexts(views.Contexts), spool.metrics(), mutations.Collectors(), ledgerMetrics(ledgers), emitted.Collectors(), ring.Collectors(), schema.Collectors(),
			[]prometheus.Collector{health.collector(), metrics.Streams(streams, followers)},
		),
	})
	if err != nil {
		return err
	}
	defer closing(&err, "sockets", srv.Close)
	if others != nil {
		if orders, err = others.forgotten(ctx, a.stateDir, streams, srv.ForgetElsewhere, sugar.Warnf); err != nil {
			return err
		}
		defer closing(&err, "sessions to forget", orders.Close)
	}
	stops.Notify(func() {
		srv.HaltChanged()
		ring.Halted(stops.State())
	})
	messages.Notify(srv.MessagesChanged)
	hosts.Notify(srv.AgentChanged)
	hosts.NotifyForget(srv.MessagesChanged)
	rulesChanged := func() {
		rulesForAll.Follow(following(book.Follows()))
		suggested.RulesChanged()
		srv.RulesChanged()
	}
	reload := func() {
		book.Reload()
		rulesChanged()
	}
	saved.Notify(reload)
	rulesForAll.Notify(reload)
	reload() // for what was published since the book was opened

	door.Follow(srv.Reach)

	// What runs until the end: later events as proof, changed files, history, RabbitMQ, the ledgers, rules, hookd,
	// schemas, notifications, the spool, memory, the listeners, the relay.
	g := newGroup(ctx)
	g.run("events", func(ctx context.Context) error {
		return streams.Observe(ctx, b.EventsFrom(), func(e hook.Event) {
			p, _ := agents.Reader(e.Agent).Decode(e.Type, e.Raw) // what is readable counts
			b.Observe(e, p)
			ring.Observe(e, p)
			messages.Seen(&e, &p, func() hook.Detail { return agents.Reader(e.Agent).Detail(e.Type, e.Raw) })
		})
	})
	g.run("changed files", func(ctx context.Context) error {
		return changes.Follow(ctx, streams.EventBounds, streams.Events, func(agent, event string, raw []byte) hook.Payload {
			p, _ := agents.Reader(agent).Decode(event, raw) // what is readable counts
			return p
		})
	})
	g.run("history", hist.Run)
	if proof != nil {
		g.run("tree", proof.Run)
	}
	if mutations != nil {
		g.run("rabbitmq", mutations.Run)
	}
	if ledgers != nil {
		g.run("ledger", ledgers.Run)
	}
	if !f.rulesOnce {
		g.run("rules", func(ctx context.Context) error {
			return book.Run(ctx, rulesChanged)
		})
	}
	if emitted != nil {
		g.run("hookd", func(ctx context.Context) error { return emitted.Serve(ctx, emitSocket) })
	}
	g.run("messages", messages.Run)
	g.run("schemas", schema.Run)
	g.run("notifications", ring.Run)
	if others != nil {
		mine := others.only("sweep")
		g.run("hooks elsewhere", func(ctx context.Context) error { return others.sweep(ctx, mine, b.Waits) })
	}
	g.run("spool", spool.watch)
	g.run("memory", giveBackMemory)
	hooks := srv.HTTPServer(srv.Unix())
	page := srv.HTTPServer(srv.TCP())
	g.run("socket "+socket, func(context.Context) error { return hooks.Serve(sockets) })
	g.run("listener "+f.listen, func(context.Context) error {
		if cert != nil {
			page.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
			return page.ServeTLS(pages, "", "")
		}
		return page.Serve(pages)
	})
	ends := []*http.Server{hooks, page}
	if relay != nil {
		relay.run(g, srv, page.Handler)
		ends = append(ends, relay.http)
	}

	phonePage := srv.HTTPServer(srv.TCP())
	ends = append(ends, phonePage)
	phonePage.TLSConfig = door.TLS()
	g.run("door", door.Run)
	g.run("listener for phones", func(context.Context) error { return phonePage.ServeTLS(phones, "", "") })

	info := runtimeInfo{PID: os.Getpid(), HTTPURL: url, Socket: socket, Version: version(), CertSHA256: fingerprint}
	if err = writeRuntime(a.stateDir, info); err == nil {
		ready(who, srv.URL(), info)
		<-g.ctx.Done()
		log.Info("stopping; waiting hooks will come back to the next broker")
	}
	g.stop()
	os.Remove(filepath.Join(a.stateDir, "runtime.json"))
	unix.remove()
	unix.Close()
	pages.Close()
	phones.Close()
	// The broker first: its waiters go without an answer, and nothing is recorded for them. What
	// else is being answered, such as a decision or a plain event, is finished.
	err = errors.Join(err, b.Close())
	finish(ends...)
	return errors.Join(err, g.wait())
}
