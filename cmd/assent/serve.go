package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"assent/internal/auth"
	"assent/internal/setup/statedir"
	"assent/internal/store/stream"
)

func (a *app) serveCmd() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the broker in the foreground",
		Long: `Run the broker. It takes hooks on a unix socket, keeps every request until it is answered, and
serves the page and the API on a loopback address. Stop the broker with Ctrl-C; waiting hooks
reconnect when it is started again.

To listen beyond loopback, the broker needs a certificate, or a proxy in front of it that has one
(--trusted-proxy).`,
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
			return a.serve(ctx, f, func(who *auth.Auth, page string, info statedir.Broker) {
				a.announce(who, page, info, f.noLink)
			})
		},
	}
	f.add(c.Flags())
	return c
}

// serve is the picture of the system: the record below, those who read it, the rules, the listeners, the server
// on top, and what flows between them. It calls ready, once, when hooks and browsers are served, and returns when
// ctx is done or a part fails.
func (a *app) serve(ctx context.Context, f serveFlags, ready func(who *auth.Auth, page string, info statedir.Broker)) (err error) {
	d, err := a.newDaemon(f)
	if err != nil {
		return err
	}
	defer d.close(&err)
	for _, open := range []func(context.Context) error{d.openRecord, d.openOutlets, d.openRules, d.openHosts, d.openListeners, d.openServer} {
		if err := open(ctx); err != nil {
			return stream.OrFull(err, a.stateDir)
		}
	}
	g := newGroup(ctx)
	d.run(g)
	info := statedir.Broker{PID: os.Getpid(), HTTPURL: d.url, Socket: d.socket, Version: version(), CertSHA256: d.fingerprint}
	if err = info.Write(a.stateDir); err == nil {
		ready(d.who, d.srv.URL(), info)
		<-g.ctx.Done()
		d.log.Info("stopping; waiting hooks will come back to the next broker")
	}
	g.stop()
	statedir.RemoveBroker(a.stateDir)
	return errors.Join(err, d.finish(), g.wait())
}
