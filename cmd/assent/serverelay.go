package main

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"assent/internal/relay/uplink"
	"assent/internal/server"
)

// noRelay is the value of --relay for a broker that knows one and is not to use it.
const noRelay = "off"

// addRelay declares the flags that say through which relay phones reach the broker.
func (f *serveFlags) addRelay(fl *pflag.FlagSet) {
	fl.StringVar(&f.relay, "relay", "", `relay through which phones reach the page, as in wss://relay.example.org (default the one of assent relay join, if any); "off" for none`)
	fl.StringVar(&f.relayTokenFile, "relay-token-file", "", "file with the relay's token, readable by you only")
	fl.StringVar(&f.relayACME, "relay-acme", "", "directory of the ACME authority for the certificate of the address at the relay (default Let's Encrypt)")
}

// namedRelay is the relay of the flags; nil: they name none.
func (f *serveFlags) namedRelay() (*uplink.Known, error) {
	switch {
	case (f.relay == "" || f.relay == noRelay) && (f.relayTokenFile != "" || f.relayACME != ""):
		return nil, usagef("--relay-token-file and --relay-acme go with --relay")
	case f.relay == "", f.relay == noRelay:
		return nil, nil
	case f.relayTokenFile == "":
		return nil, usagef("--relay goes with --relay-token-file; the relay's owner makes a token with: assent relay token NAME")
	}
	token, err := readRelayToken(f.relayTokenFile)
	if err != nil {
		return nil, usagef("--relay-token-file: %w", err)
	}
	k := &uplink.Known{URL: f.relay, Token: token, ACME: f.relayACME}
	if _, err := k.Page(); err != nil {
		return nil, usagef("--relay: %w", err)
	}
	return k, nil
}

// knownRelay is the relay of the flags, else the one that was joined; nil: none. What is wrong with the latter
// must not keep the broker from its hooks.
func (f *serveFlags) knownRelay(stateDir string, log *zap.Logger) (*uplink.Known, error) {
	if f.relay != "" {
		return f.namedRelay()
	}
	k, err := uplink.Load(stateDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		log.Warn("phones do not reach this broker through the relay that was joined; join it again, or: assent relay leave", zap.Error(err))
		return nil, nil
	}
	return &k, nil
}

// relayed is how the broker is reached through a relay.
type relayed struct {
	up    *uplink.Uplink
	slots *server.Slots
	http  *http.Server
}

// maxRelayed is how many connections through a relay are served at a time; a relay passes on more, so that it is
// the broker who says which of them are closed for others.
const maxRelayed = 96

// newRelayed prepares the way through a relay; nil without one. Nobody is asked for anything yet.
func newRelayed(stateDir string, f *serveFlags, log *zap.Logger) (*relayed, error) {
	k, err := f.knownRelay(stateDir, log)
	if err != nil || k == nil {
		return nil, err
	}
	sugar := log.Sugar()
	up, err := uplink.New(uplink.Config{Known: *k, Dir: uplink.CertificateDir(stateDir), Logf: sugar.Infof, Warnf: sugar.Warnf})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return &relayed{up: up, slots: server.Bound(up.Listener(), maxRelayed, true, true)}, nil
}

// run serves the page to who comes through the relay. It never ends the broker: the relay is for phones.
func (r *relayed) run(g *group, srv *server.Server, h http.Handler) {
	r.http = srv.HTTPServer(h)
	r.http.TLSConfig = r.up.TLSConfig()
	g.run("relay", r.up.Run)
	g.run("connections of the relay", func(context.Context) error { return r.http.ServeTLS(r.slots, "", "") })
}

// metrics tells whether phones can come; nothing without a relay.
func (r *relayed) metrics() []prometheus.Collector {
	if r == nil {
		return nil
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_relay_connected", Help: "1 while the relay is connected."}, func() float64 {
			if r.up.Connected() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_relay_certificate_expires_seconds", Help: "When the certificate of the address at the relay expires, in Unix seconds; 0: there is none."}, func() float64 {
			if t := r.up.CertificateExpires(); !t.IsZero() {
				return float64(t.Unix())
			}
			return 0
		}),
	}
}
