package main

import (
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"assent/internal/agent/claude"
	"assent/internal/intake"
)

// serveFlags are the flags of assent serve.
type serveFlags struct {
	listen, socket, socketGroup  string
	natsListen, natsURL, recURL  string
	natsCreds, recCreds          string
	natsReplicas, historyDays    int
	tlsCert, tlsKey, rules       string
	contain                      string
	publicURLs, trustedProxies   []string
	pushAllow                    []string
	pushContact, notices         string
	requireVerification          string
	noOwnerToken, quiet, verbose bool
	noLink, repair               bool
	rulesOnce                    bool // no flag: rules are read at the start only
	logFormat                    string
	log                          *zap.Logger // no flag: says everything to this one instead
	amqpURL                      string
	mutationTools                []string
	mutates                      claude.MutationTools // of mutationTools; set by check
	ledger                       bool
	hookdSocket                  string
	hold                         time.Duration
	unattended                   string // unattendedHandBack or unattendedHold
	relay, relayTokenFile        string
	relayACME                    string
}

// What becomes of a request of an agent that shows no prompt meanwhile, while nobody can be told of it.
const (
	unattendedHandBack = "handback"
	unattendedHold     = "hold"
)

// add declares the flags.
func (f *serveFlags) add(fl *pflag.FlagSet) {
	f.addListen(fl)
	fl.StringVar(&f.socketGroup, "socket-group", "", "group that may use the socket too")
	fl.StringVar(&f.natsListen, "nats-listen", "127.0.0.1:4222", `address of the event stream; a free port if taken; "off" for none`)
	fl.StringVar(&f.rules, "rules", "", "file of rules that answer without a person (default $XDG_CONFIG_HOME/assent/rules.yaml, if it is there)")
	fl.StringVar(&f.contain, "contain", "", `program by which commands run contained where a rule says so (default assent-contain beside this program, if it is there); "off" for none`)
	fl.StringVar(&f.notices, "notices", "", "file of services to tell when a request waits (default $XDG_CONFIG_HOME/assent/notices.yaml, if it is there); \"off\" for none")
	fl.StringVar(&f.pushContact, "push-contact", "", "https or mailto URL of the person who runs this broker, for browsers' push services (default the public URL)")
	fl.StringSliceVar(&f.pushAllow, "push-allow", nil, "origin of a push service of your own, such as https://push.internal:8443; others must have public addresses")
	fl.StringVar(&f.natsURL, "nats-url", "", "external NATS cluster for events instead of the embedded engine; file:PATH reads the address from a file")
	fl.StringVar(&f.natsCreds, "nats-creds", "", "file of credentials (.creds) for --nats-url")
	fl.StringVar(&f.recURL, "record-url", "", "external NATS cluster for the record, or file:PATH (default: that of --nats-url)")
	fl.StringVar(&f.recCreds, "record-creds", "", "file of credentials (.creds) for the record (default: that of --nats-creds)")
	fl.IntVar(&f.natsReplicas, "nats-replicas", 1, "replicas of each stream on an external cluster")
	f.addMutations(fl)
	fl.DurationVar(&f.hold, "hold", intake.DefaultHold, "longest wait for a request of an agent that shows no prompt of its own meanwhile, such as Codex; until then nobody can continue at that agent's terminal")
	fl.StringVar(&f.unattended, "unattended", unattendedHandBack, `what happens to a request of an agent without a prompt of its own (see --hold) while nobody can be notified by page, push, notice or assent watch: "handback" leaves it to the agent's own prompt at once, "hold" keeps it`)
	fl.BoolVar(&f.repair, "repair", false, "fix a damaged record before starting, as assent repair does, and log what is lost")
	fl.BoolVar(&f.noOwnerToken, "no-owner-token", false, "keep no token for local commands; decide with tokens and devices only")
	fl.StringVar(&f.requireVerification, "require-verification", "", `whom devices must verify, by face, fingerprint or PIN, before they allow: "danger" (also for rules and grants) or "always"`)
	fl.BoolVar(&f.noLink, "no-link", false, "print no pairing link, for output that is stored; later: assent pair")
	fl.IntVar(&f.historyDays, "history-days", 90, "how many days sessions and their feeds are kept")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "log warnings and errors only")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "log every request too")
	fl.StringVar(&f.logFormat, "log-format", "text", "text for people, json for programs: one object per line")
}

// addListen declares the flags that say where hooks and browsers reach the broker.
func (f *serveFlags) addListen(fl *pflag.FlagSet) {
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7717", "address of the page and the API")
	fl.StringVar(&f.socket, "socket", "", "unix socket for hooks (default $XDG_RUNTIME_DIR/assent/hook.sock, else <state>/hook.sock)")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "certificate file")
	fl.StringVar(&f.tlsKey, "tls-key", "", "key file")
	fl.StringSliceVar(&f.publicURLs, "public-url", nil, "https URL under which browsers reach the page, beside the loopback ones")
	f.addRelay(fl)
	fl.StringSliceVar(&f.trustedProxies, "trusted-proxy", nil, "address or network of the proxy that terminates TLS for the broker; without a certificate only this proxy is served from beyond this machine")
}

// addMutations declares the flags that say who else hears what tools did to files.
func (f *serveFlags) addMutations(fl *pflag.FlagSet) {
	fl.StringVar(&f.amqpURL, "amqp-url", "", "RabbitMQ that gets every tool call that may change files, amqp:// or amqps:// (default $ASSENT_AMQP_URL)")
	fl.BoolVar(&f.ledger, "ledger", false, "record in each git work tree which agent changed what: .hookd/mutations.db, not committed")
	fl.StringSliceVar(&f.mutationTools, "mutation-tools", claude.DefaultMutationNames(), "tools whose calls are sent to RabbitMQ and ledgers, in any case; a name may end in *, and * alone means all")
	fl.StringVar(&f.hookdSocket, "hookd-socket", "", "unix socket for hookd-emit and compatible programs, such as $XDG_RUNTIME_DIR/hookd.sock")
}
