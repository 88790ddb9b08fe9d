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
		Long: `Serve the page for approvers from this program, on this machine, and pass its calls on to the
broker at --url.

A page that the broker serves shows whatever the broker's owner wants, and signs whatever that
page's code says. The page of this program does not come from the broker. The tool, the directory
and the input that it shows are read here from the agent's own request, and so is the digest that
is signed. If the broker says something else, the page says so, and nothing can be allowed. So
hook.conf may call a key of this page independent: a stolen broker can then deny requests, but not
allow them.

The program listens on this machine only and stores nothing. Pair the browser once, as with a
broker: its key is valid for this address and port only. Only requests of Claude Code can be
allowed here; requests of other agents can only be denied.`,
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
	if err != nil || !api.Loopback(host) {
		return usagef("--listen %s: want an address of this machine alone, such as 127.0.0.1:7727: the page is not encrypted, and nobody is asked who they are", listen)
	}
	config, _, err := a.address()
	if err != nil {
		return err
	}
	to, err := url.Parse(config.URL)
	if err != nil || to.Host == "" || to.Scheme != "https" && !api.Loopback(to.Hostname()) {
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
