// Package server is assent's HTTP face: the hooks' entrance on a unix socket and on TCP, and
// the API, the WebSocket and the page for approvers on TCP only.
//
// Every TCP route checks in one order: Host against a list, method, size, exact Origin, then
// who is calling, then what they may do. There are no cookies; a browser cannot be made to
// send a credential that the page did not put there itself.
//
// # Concurrency
//
// net/http gives every connection a goroutine. A hook that waits is taken from it and has one of its
// own, which reads to see the hook go; for as long as it takes another one writes the answer, and the
// first waits for that. A WebSocket has two: its handler, the only writer, and a reader that the
// handler waits for. Close ends the WebSockets and waits for them and for the hooks, which end
// when the broker closes.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/agent/conformance"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/machines"
)

// Server makes the two handlers. Make it with New and Close it after its listeners.
type Server struct {
	cfg         Config
	agents      agentProcesses
	index       sessionIndex
	log         *zap.Logger
	named       atomic.Pointer[names]
	metrics     metrics
	machines    *machines.Register
	assets      map[string]asset
	description func() (asset, error) // of the API
	intake      *intake.Intake
	bytes       atomic.Int64  // of hooks' bodies, see countedBody
	arriving    arrivals      // bodies on their way
	guesses     *rate.Limiter // of credentials, see unknown
	warned      atomic.Int64  // when one was answered with 429, in Unix seconds
	pages       atomic.Int64  // open WebSockets of devices that may decide
	watchers    atomic.Int64  // those of everybody who may

	ctx          context.Context // done when the server closes; ends WebSockets
	stop         context.CancelFunc
	closing      sync.Mutex     // orders Add before Close's Wait
	held         sync.WaitGroup // the waiting hooks
	hangups      hangups        // of those of them on the unix socket
	sockets      sync.WaitGroup // the open WebSockets
	slots        chan struct{}  // one element for each of them
	exports      chan struct{}  // one element for each export under way
	traces       chan struct{}  // one element while a trace is proved
	writeBuffers sync.Pool
	snap         snapshotCache
	ruleNews     news
	haltNews     news
	messageNews  news
	hosts        sync.Map // of *hostLink, by the id of the host's token: those that are connected
	agentNews    news
	senders      senders // of messages, and how fast they may send

	pingEvery, deadAfter, writeWait time.Duration
}

// Sizes of bodies, in bytes.
const (
	maxHookBody = 16 << 20
	maxBody     = 64 << 10
	maxMessage  = 512 << 10 // JSON may escape each byte of a text
	maxRules    = 2 << 20
	maxDecision = 4 << 20 // an updatedInput may be as large as a request, and JSON may escape it
)

// New returns a server, or says what of cfg is unusable.
func New(cfg Config) (*Server, error) {
	if cfg.Broker == nil || cfg.Auth == nil || cfg.Publish == nil {
		return nil, errors.New("server: Broker, Auth and Publish are required")
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	if cfg.RequireVerification == nil {
		cfg.RequireVerification = func() string { return "" }
	}
	if cfg.Mismatches == nil {
		cfg.Mismatches = func() conformance.Report { return conformance.Report{Mismatches: []conformance.Mismatch{}} }
	}
	if cfg.MaxSockets == 0 {
		cfg.MaxSockets = 1024
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 20_000
	}
	if cfg.MaxRemote == 0 {
		cfg.MaxRemote = cfg.MaxWaiting
	}
	if cfg.MaxHeld == 0 {
		cfg.MaxHeld = 256 << 20
	}
	s := &Server{
		cfg:       cfg,
		log:       cfg.Log,
		slots:     make(chan struct{}, cfg.MaxSockets),
		exports:   make(chan struct{}, maxExports),
		traces:    make(chan struct{}, 1),
		pingEvery: 10 * time.Second,
		deadAfter: 30 * time.Second,
		writeWait: 10 * time.Second,
	}
	s.arriving.max = cmp.Or(cfg.MaxArriving, 64<<20)
	s.senders.burst = messageBurst
	s.guesses = rate.NewLimiter(guessEvery, guessBurst)
	var err error
	if err = s.Reach(nil, nil); err != nil {
		return nil, err
	}
	if s.assets, err = loadAssets(cfg.Assets); err != nil {
		return nil, err
	}
	s.description = sync.OnceValues(newDescription) // few ever ask
	s.machines = machines.New(cfg.Version)
	s.metrics = newMetrics(cfg.Version, s.machines, s.pending, func() int { return s.intake.Waiting() }, func() int { return len(s.inForce().Problems) })
	for _, c := range cfg.Collectors {
		if err := s.metrics.registry.Register(c); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var redeem func(context.Context, string, []string) (bool, error)
	if cfg.Grants != nil {
		redeem = cfg.Grants.Redeem
	}
	var enterAllow func(context.Context) (func(), bool)
	var paused func() bool
	if cfg.Halt != nil {
		enterAllow, paused = cfg.Halt.Enter, cfg.Halt.Paused
	}
	var reply func(context.Context, *hook.Event, *hook.Payload) []byte
	if cfg.Messages != nil {
		reply = func(ctx context.Context, e *hook.Event, p *hook.Payload) []byte {
			return cfg.Messages.Event(ctx, e, p, func() hook.Detail { return agents.Reader(e.Agent).Detail(e.Type, e.Raw) })
		}
	}
	s.intake = intake.New(s.ctx, intake.Config{
		Broker: cfg.Broker, Publish: cfg.Publish, Rules: cfg.Rules, Signed: cfg.SignedRules, Contain: cfg.Contain, Redeem: redeem, EnterAllow: enterAllow, Paused: paused,
		Contexts: cfg.Views.Contexts, PastPrompts: s.pastPrompts, Secret: cfg.Secret, Self: Local(uint32(os.Getuid()), cfg.HostID),
		Observed: s.observed, Forgotten: cfg.Forgotten, Reply: reply,
		FormsSeen:  func() bool { return s.pages.Load() > 0 },
		Reachable:  s.reachable,
		Hold:       cfg.Hold,
		MaxWaiting: cfg.MaxWaiting, MaxRemote: cfg.MaxRemote, Log: cfg.Log.Sugar(),
		Count: intake.Count{
			Event: s.metrics.event, Unreadable: s.metrics.unreadable.Inc, TooLarge: s.metrics.oversize.Inc,
			Published: func(d time.Duration) { s.metrics.eventTime.Observe(d.Seconds()) }, Decided: s.metrics.decision,
		},
	})
	if cfg.Messages != nil && cfg.PublishAgent != nil {
		s.sockets.Go(s.followBlocked)
	}
	if cfg.Notifies != nil {
		s.sockets.Go(s.followAttendance)
	}
	if cfg.History != nil {
		s.sockets.Go(func() { s.index.follow(s.ctx, s) })
	}
	return s, nil
}

// pending is how many requests wait.
func (s *Server) pending() (n int) {
	s.cfg.Broker.EachPending(func(*broker.View) { n++ })
	return n
}

// Close closes the WebSockets and waits for them and for the waiting hooks. It is called after
// the broker and the listeners closed: a hook that waits goes away when the broker does.
func (s *Server) Close() error {
	s.closing.Lock()
	s.stop()
	s.closing.Unlock()
	s.sockets.Wait()
	s.held.Wait()
	s.hangups.close()
	return nil
}

// HTTPServer returns a server for h that suits long waits: headers, bodies, even those that no
// handler reads, and answers have deadlines; the waits themselves have none.
func (s *Server) HTTPServer(h http.Handler) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       bodyTime + 5*time.Second, // lifted by readBody and by taking the connection over
		WriteTimeout:      2 * bodyTime,             // lifted for what waits
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          zap.NewStdLog(s.log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))),
		Protocols:         new(http.Protocols),
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return withSlot(withPeer(ctx, c), c) },
		ConnState:         connState,
	}
	if l, err := zap.NewStdLogAt(s.log, zap.DebugLevel); err == nil {
		srv.ErrorLog = l
	}
	srv.Protocols.SetHTTP1(true) // gorilla's WebSockets need it, and it is the leaner one to wait on
	return srv
}

// URL is where a person's browser finds the page: the first public URL, or the listener's.
func (s *Server) URL() string { return s.named.Load().url }

// Unix serves hooks on the unix socket, which only submits. It needs no token: every user
// who may open the socket may ask.
func (s *Server) Unix() http.Handler {
	r := chi.NewRouter()
	r.Use(s.recover, s.access)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)
	r.With(limit(maxHookBody)).Post("/v1/hooks", s.hooks(hook.ChannelSocket, false))
	r.With(limit(maxHookBody)).Post("/v1/hooks"+hook.ContextRoute, s.hooks(hook.ChannelSocket, true))
	r.With(limit(0)).Post("/v1/hooks"+hook.RefusedRoute, s.hookRefused)
	r.Get("/healthz", s.healthz)
	return r
}

// TCP serves everything. HEAD is answered where GET is, for the page only.
func (s *Server) TCP() http.Handler {
	r := chi.NewRouter()
	r.Use(s.recover, s.access, headers, s.host, s.proxied)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)

	// route adds the checks after the method: size, origin, caller, role. A role of "" is for
	// routes that anybody may call.
	route := func(size int64, role auth.Role) chi.Router {
		chain := chi.Middlewares{limit(size), s.origin}
		if role != "" {
			chain = append(chain, s.caller(role))
		}
		return r.With(chain...)
	}

	route(maxHookBody, auth.RoleSubmit).Post("/v1/hooks", s.hooks(hook.ChannelRemote, false))
	route(maxHookBody, auth.RoleSubmit).Post("/v1/hooks"+hook.ContextRoute, s.hooks(hook.ChannelRemote, true))
	route(0, auth.RoleSubmit).Post("/v1/hooks"+hook.RefusedRoute, s.hookRefused)

	view := route(0, auth.RoleView)
	view.Get("/v1/sessions", s.listSessions)
	view.Get("/v1/sessions/{id}", s.getSession)
	past := view.With(s.needsHistory)
	past.Get("/v1/sessions/{id}/feed", s.getFeed)
	past.Get("/v1/sessions/{id}/feed/{pos}", s.getFeedEvent)
	past.Get("/v1/search", s.search)
	past.Get("/v1/decisions", s.listDecisions)
	past.Get("/v1/stats", s.stats)
	past.Get("/v1/audit/messages", s.listRecorded)
	view.Get("/v1/requests", s.listRequests)
	view.Get("/v1/requests/{id}", s.getRequest)
	view.Get("/v1/requests/{id}/trace", s.traceRequest)
	view.Get("/v1/requests/{id}/audit", s.auditRequest)
	view.With(s.needsTree).Get("/v1/requests/{id}/proof", s.proveRequest)
	view.With(s.needsTree).Get("/v1/audit/checkpoint", s.getCheckpoint)
	view.With(s.needsTree).Get("/v1/audit/export", s.exportTree)
	view.Get("/v1/requests/{id}/proposals", s.getProposals)
	view.Get("/v1/sessions/{id}/messages", s.listMessages)
	view.Get("/v1/sessions/{id}/messages/{message}", s.getMessage(s.oneMessage))
	view.Get("/v1/agents", s.listAgents)
	view.Get("/v1/agents/{name}", s.getAgent)
	view.Get("/v1/agents/{name}/messages/{message}", s.getMessage(s.agentMessage))
	view.Get("/v1/agents/{name}/sessions/{session}/diff", s.diffAgent)
	view.Get("/v1/rules", s.getRules)
	view.Get("/v1/published-rules", s.getPublished)
	route(maxRules, auth.RoleAdmin).Put("/v1/published-rules", s.publishRules)
	view.Get("/v1/grants", s.listGrants)
	view.Get("/v1/stop", s.getHalt)
	view.Get("/v1/pause", s.getHalt)
	view.Get("/v1/schema-mismatches", s.getMismatches)
	view.Get("/v1/machines", s.listMachines)
	view.Method("GET", "/metrics", s.metrics.handler())
	route(maxBody, auth.RoleView).Post("/v1/ws/ticket", s.newTicket)
	route(0, "").Get("/v1/ws", s.webSocket) // takes a ticket or a bearer itself

	route(maxDecision, auth.RoleApprove).Post("/v1/requests/{id}/decision", s.decide)

	approve := route(maxBody, auth.RoleApprove)
	approve.Post("/v1/requests/{id}/handback", s.handBack)
	approve.Post("/v1/shown", s.onScreen)
	approve.Post("/v1/rules", s.save(hook.SavedRule))
	approve.Delete("/v1/rules/{id}", s.revokeSaved(hook.SavedRule))
	approve.Post("/v1/grants", s.save(hook.SavedGrant))
	approve.Delete("/v1/grants/{id}", s.revokeSaved(hook.SavedGrant))

	approve.Post("/v1/stop", s.stopAll)
	approve.Delete("/v1/stop", s.haltAct(hook.HaltLift))
	approve.Post("/v1/pause", s.haltAct(hook.HaltPause))
	approve.Delete("/v1/pause", s.haltAct(hook.HaltResume))

	operate := route(maxMessage, auth.RoleOperate)
	operate.Post("/v1/sessions/{id}/messages", s.sendMessage)
	operate.Delete("/v1/sessions/{id}/messages/{message}", s.takeBackMessage(s.oneMessage))

	operate.Post("/v1/agents/{name}/messages", s.messageAgent)
	operate.Delete("/v1/agents/{name}/messages/{message}", s.takeBackMessage(s.agentMessage))
	route(0, auth.RoleHost).Get("/v1/host/ws", s.hostSocket)

	admin := route(maxBody, auth.RoleAdmin)
	admin.With(s.needsHistory).Delete("/v1/sessions/{id}", s.forgetSession)
	admin.Delete("/v1/sessions/{id}/messages/{message}/text", s.forgetMessage)
	admin.Get("/v1/suggestions", s.getSuggestions)
	admin.Get("/v1/notifications", s.getNotifications)
	admin.Get("/v1/tokens", s.listTokens)
	admin.Delete("/v1/tokens/{id}", s.revokeToken)
	admin.Get("/v1/pair", s.listWaiting)
	admin.Delete("/v1/pair/{code}", s.refusePairing)
	view.Get("/v1/phone", s.getPhone)
	view.Get("/v1/devices", s.listDevices)
	view.Delete("/v1/devices/{id}", s.revokeDevice)
	route(maxBody, auth.RoleView).Patch("/v1/devices/{id}", s.renameDevice)

	approve.Get("/v1/devices/{id}/verification", s.verifiesItself(s.getVerification))
	approve.Post("/v1/devices/{id}/verification", s.verifiesItself(s.beginVerification))
	approve.Put("/v1/devices/{id}/verification", s.verifiesItself(s.finishVerification))
	approve.Delete("/v1/devices/{id}/verification", s.endVerification)

	ringing := route(maxBody, auth.RoleView).With(s.ownDevice)
	ringing.Get("/v1/push", s.getPush)
	ringing.Put("/v1/push", s.putPush)
	ringing.Delete("/v1/push", s.deletePush)
	ringing.Post("/v1/push/test", s.testPush)

	// What gives out credentials.
	issuer := admin.With(s.noDevice)
	issuer.Post("/v1/tokens", s.newToken)
	issuer.Post("/v1/pair", s.newPairing)
	admin.Post("/v1/devices", s.confirmPairing) // a device signs it

	open := route(maxBody, "")
	open.Post("/v1/pair/redeem", s.redeemPairing)
	open.Post("/v1/join", s.join)
	open.Post("/v1/pair/start", s.startPairing)
	open.Post("/v1/pair/poll", s.pollPairing)
	open.Post("/v1/auth/challenge", s.newChallenge)
	open.Post("/v1/auth/session", s.newSession)
	open.Get("/healthz", s.healthz)
	open.Get("/readyz", s.readyz)
	open.Get("/openapi.json", s.getOpenAPI)

	page := r.With(limit(0), s.pageOrigin)
	for path := range s.assets {
		page.Get(path, s.asset)
		page.Head(path, s.asset)
	}
	return r
}
