package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/conformance"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/host/hooksocket"
	"assent/internal/metrics"
	"assent/internal/outlet/hookd"
	"assent/internal/outlet/ledger"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/rabbit"
	"assent/internal/policy/contain"
	"assent/internal/policy/effects"
	"assent/internal/policy/files"
	"assent/internal/policy/grants"
	"assent/internal/policy/published"
	"assent/internal/screens"
	"assent/internal/server"
	"assent/internal/setup/phone"
	"assent/internal/store/follow"
	"assent/internal/store/forgotten"
	"assent/internal/store/history"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

// daemon is a broker's process: its parts, in the order in which they are opened. What is nil where it is not
// wanted says so.
type daemon struct {
	*app
	f     serveFlags
	log   *zap.Logger
	infof func(string, ...any)
	warnf func(string, ...any)
	parts []part // what is closed in the end, the last first

	// What the flags and the machine say.
	cert        *tls.Certificate // nil: no TLS
	fingerprint string           // of cert: SHA-256, hexadecimal
	proxies     []netip.Prefix
	relay       *relayed // nil: none
	socket      string
	limits      connLimits
	host, self  string // the machine, and this user on it as a submitter
	changes     *effects.Changes

	// The record and those who follow it.
	streams  *stream.Stream
	proof    *tree.Log // nil: the record is damaged
	hist     *history.History
	views    server.Views
	others   *cluster // nil: a record of its own
	requests *metrics.Requests
	broker   *broker.Broker
	screens  *screens.Recorder

	// Who hears of what tools did.
	mutations *rabbit.Publisher // nil: no RabbitMQ
	ledgers   *ledger.Follower  // nil: no ledgers

	// Who may do what, and which rules answer.
	who         *auth.Auth
	saved       *grants.Store
	rulesForAll *published.Store
	stops       *halt.Store
	gate        *contain.Gate
	once        *contain.Once
	book        *files.Book

	// Agents that are spoken to, and the hosts that start them.
	messages *fleet.Store
	hosts    *fleet.Registry
	// agentsFrom is behind which events of agents are new to this run.
	agentsFrom follow.Cursor

	// By which ways hooks, browsers and other programs come.
	schema     *conformance.Checker
	publish    func(context.Context, hook.Event) (uint64, error)
	spool      *spool
	emitted    *hookd.Receiver // nil: no socket for hookd-emit
	emitSocket *hooksocket.Socket
	pages      *server.Slots
	url        string // of the page on this machine
	door       *phone.Listener
	phones     *server.Slots
	ring       *notify.Push
	unix       *hooksocket.Socket
	sockets    *server.Slots

	srv          *server.Server
	rulesChanged func()
	orders       *forgotten.List // nil: no other brokers
	ends         []*http.Server
}

// part is one that is closed in the end.
type part struct {
	name  string
	close func() error
}

// closes has a part closed in the end, before all that were opened before it.
func (d *daemon) closes(name string, close func() error) {
	d.parts = append(d.parts, part{name, close})
}

// close closes the parts, and joins what they say to *err.
func (d *daemon) close(err *error) {
	for _, p := range slices.Backward(d.parts) {
		closing(err, p.name, p.close)
	}
}
