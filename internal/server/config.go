package server

import (
	"context"
	"io/fs"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/conformance"
	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/intake"
	"assent/internal/outlet/notify"
	"assent/internal/policy/grants"
	"assent/internal/policy/published"
	"assent/internal/policy/suggest"
	"assent/internal/store/tree"
)

// Config is what a Server needs. Broker, Auth and Publish are required; the zero value of the
// rest works.
type Config struct {
	Broker *broker.Broker
	Auth   *auth.Auth
	// Publish makes an event durable and returns its EVENTS sequence.
	Publish func(context.Context, hook.Event) (uint64, error)
	// Rules returns the verdict of the rules in force on a request with this input, which may be another
	// than the request's own. It must not block. nil means that there are no rules.
	Rules func(req *hook.Request, input hook.JSON) hook.Verdict
	// Contain has what a rule allows only contained run that way.
	Contain intake.Contain
	// Views is what requests are shown with; the zero value: nothing but themselves. Give the broker
	// the Encode of the same one.
	Views Views
	// Secret says of a file that a request would change whether it may hold secrets: those that do not are
	// read for the person who is asked. nil: no file is.
	Secret func(req *hook.Request, path string) bool
	// Observed and Forgotten are those of intake.Config.
	Observed  func(*hook.Event, *hook.Payload)
	Forgotten func(session string)
	// InForce is what GET /v1/rules shows; nil means that there is nothing. Call RulesChanged
	// after it has changed.
	InForce func() hook.InForce
	// Grants keeps the rules and grants that approvers save, and Suggest makes them of requests. nil
	// means that nothing can be saved; both are nil, or neither.
	Grants  *grants.Store
	Suggest *suggest.Proposer
	// Suggested finds rules for what people allow again and again; nil means that nobody looks.
	Suggested *suggest.Standing
	// Halt keeps whether everything is stopped or paused; nil means that nothing can be. Call
	// HaltChanged when it has news.
	Halt *halt.Store
	// Published keeps the rules that are in force for all brokers, and CheckRules says what is wrong with some
	// that are to be; nil: there are none, and nothing is checked.
	Published  *published.Store
	CheckRules func(text string) []hook.RuleProblem
	// SignedRules are the rules in force that somebody signed.
	SignedRules intake.SignedRules
	// Messages hands people's messages to sessions; nil means that there are none. Call MessagesChanged
	// when it has news.
	Messages *fleet.Store
	// Agents knows the hosts and their agents; nil means that there are none. It needs Messages. Call
	// AgentChanged when it has news.
	Agents *fleet.Registry
	// PublishAgent makes what happened to an agent public: subject below agents., id that of the event, which
	// is not published twice, or "". nil: nobody is told.
	PublishAgent func(ctx context.Context, subject, id string, data []byte) error
	// AgentsUnread says that nobody hands what PublishAgent takes to Server.AgentSaid: then devices are told of what the
	// hosts of this server say, and of no other's.
	AgentsUnread bool
	// AskBroker asks the broker of the cluster to which a host is connected, and AnswerBrokers answers what others ask
	// so, until stop is called. nil: there are none.
	AskBroker     func(ctx context.Context, host string, question []byte) ([]byte, error)
	AnswerBrokers func(host string, f func(ctx context.Context, question []byte) []byte) (stop func(), err error)
	// ForgetAgent removes what was published of a session of an agent; nil: nothing was.
	ForgetAgent func(ctx context.Context, session string) error
	// Saw notes that a device, whose key has this thumbprint, has a request on its screen that waits. It must not block. nil: nobody
	// keeps that.
	Saw func(request string, by hook.Approver, key string)
	// History has past sessions and decisions. nil means that none is kept: its routes answer 503.
	History History
	// RequireVerification says for which allows everybody has to be verified by their device:
	// hook.VerifyDanger and its like; "", and nil: only those whose device has turned it on do.
	RequireVerification func() string
	// Push notifies devices; nil means that this broker does not.
	Push *notify.Push
	// Mismatches says how events differed from their schemas; nil means that they were not compared.
	Mismatches func() conformance.Report
	// Forgot tells the other brokers of the cluster that a session was forgotten here; nil: there are none.
	Forgot func(ctx context.Context, session string) error
	// Tree is the tree over the record; nil means that there is none.
	Tree *tree.Log
	// Shared says that other brokers share the record, on a cluster: a hook that comes while that is away may be told
	// to come again, there too, until its own time is up.
	Shared bool
	// Ready says why /readyz should say no; nil means always ready.
	Ready func() error
	// Assets is the page, index.html at its root; nil means there is none.
	Assets fs.FS
	// Log gets what the operator should know, and at debug level every access. Nothing logged
	// holds a payload, a secret or a body. nil discards it.
	Log *zap.Logger

	// URL is where TCP is served, with the listener's real port: http://127.0.0.1:7717. On a
	// loopback or wildcard address all loopback names with that port are this server's.
	URL string
	// PublicURLs are further addresses under which browsers reach this server, scheme and
	// host as in "https://box.tailnet.ts.net"; the first is the one that
	// pairing shows, else URL.
	PublicURLs []string
	// AllowedHosts are further values of Host to accept, without an origin: for programs.
	AllowedHosts []string
	// TrustedProxies are the peers whose X-Forwarded-For and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// Version is the version of assent, for /metrics. Collectors are the metrics of other parts.
	Version    string
	Collectors []prometheus.Collector
	// HostID names the broker's machine in the submitters of its own users, see Local.
	HostID string
	// Notifies reports whether anybody is told of requests who need not look at the page: by push, by a
	// service. nil: nobody is. Hold and HoldUnseen say how long agents that show no prompt of their own
	// meanwhile wait, 0 for intake.DefaultHold, and whether they do so although nobody can be told.
	Notifies   func() bool
	Hold       time.Duration
	HoldUnseen bool
	// MaxSockets bounds the open WebSockets; 0 means 1024. MaxWaiting bounds the hooks that
	// wait, 0 means 20,000, and MaxRemote those of them that came over TCP, 0 means MaxWaiting. What
	// comes beyond gets 503.
	MaxSockets, MaxWaiting, MaxRemote int
	// MaxHeld bounds the bytes of all hooks' bodies that are read or wait; 0 means 256 MiB. The
	// process needs a multiple of it. What comes beyond gets 503.
	MaxHeld int64
	// MaxArriving bounds the bytes of bodies that are not here as a whole, on all routes; 0 means
	// 64 MiB. The largest of them gives way, with 503.
	MaxArriving int64
}
