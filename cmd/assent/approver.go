package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/policy/effects"
	"assent/internal/policy/files"
	"assent/internal/server"
	"assent/internal/text/show"
	"assent/web"
)

func (a *app) approverCmd() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "approver",
		Short: "Serve the page on this machine, for a broker elsewhere",
		Long: `Serve the page for approvers on this machine, from this program, and hand its calls on to the broker of --url.

The page that a broker serves shows what the broker's owner wants, and signs what that code says. This one does not come
from the broker, and neither does what it shows of a request: tool, directory and input are read here, in the agent's own request, and so is
the digest that is signed. Where the broker says something else, the page says so and nothing can be allowed. So a
key of this page may be called independent in hook.conf: a broker that was stolen can deny with it, but not allow.

It listens on this machine only and keeps nothing. Pair the browser once, as at the broker: its key is for this address and
port alone. Only requests of Claude Code can be allowed here; all others can be denied.`,
		Example: "  assent approver --url https://box.example.net\n  assent approver --url https://box.example.net --cacert ca.pem --listen 127.0.0.1:7800",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.whereJoined().approve(cmd.Context(), listen)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:7727", "address of the page, on this machine; keep it, because a browser's key is for one address")
	return c
}

func (a *app) approve(ctx context.Context, listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !loopback(host) {
		return usagef("--listen %s: want an address of this machine alone, such as 127.0.0.1:7727: the page is not encrypted, and nobody is asked who they are", listen)
	}
	config, _, err := a.address()
	if err != nil {
		return err
	}
	to, err := url.Parse(config.URL)
	if err != nil || to.Host == "" || to.Scheme != "https" && !loopback(to.Hostname()) {
		return usagef("--url %s: want https, or http on this machine", config.URL)
	}
	to = &url.URL{Scheme: to.Scheme, Host: to.Host}
	config.URL, config.Token = to.String(), "" // the page has credentials of its own
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w; stop what listens there, or choose another port, such as --listen 127.0.0.1:7728", err)
	}
	transport := &http.Transport{
		Proxy: config.Proxy, TLSClientConfig: config.TLS, TLSHandshakeTimeout: 10 * time.Second, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	log, err := newLogger(a.err, serveFlags{logFormat: "text"})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	h, err := server.NewApprover(server.ApproverConfig{
		Assets: web.Assets(), Broker: to, Client: api.NewClient(config), Transport: transport, Host: l.Addr().String(),
		Views: server.Views{Reading: files.Reading(""), Effects: effects.Func("")}, Log: log,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
	fmt.Fprintf(a.out, "The page for %s is at http://%s\n", show.Line(to.String()), l.Addr())
	fmt.Fprintln(a.out, "Pair the browser there. Its key, which assent device list prints at the broker, may then stand in hook.conf: trust = device:KEY independent")
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
