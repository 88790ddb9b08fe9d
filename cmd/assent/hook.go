package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/auth/strict"
)

// hookCmd is the hook client for brokers on other machines. Its flags are the hook client's
// own, so that both binaries read them alike.
func (a *app) hookCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "hook",
		Short: "The hook client, for a broker on another machine",
		Long: `Read one hook payload on standard input, ask the broker at --url, and print its answer.
Like assent-hook, but over HTTPS (or HTTP to loopback), with a token of role submit from the
configuration file or ASSENT_TOKEN. It exits 0, and prints the decision or nothing. The flags are
those of assent-hook:

` + hookclient.Flags,
		Example:            "  assent hook --url https://broker.example:7717 --timeout 590s",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return cmd.Help()
				}
			}
			cfg, err := hookclient.ReadConfig(args, os.Getenv)
			if err != nil && hookclient.Denies(args) {
				return usagef("%w", err) // exit code 2, which denies
			}
			if err != nil {
				// A hook must never disturb the agent: say why, and abstain.
				cmd.PrintErrln("assent hook:", err)
				return nil
			}
			roots, err := trusted(cfg.CACert)
			if err != nil && cfg.Fault == nil {
				cfg.Fault = fmt.Errorf("cacert: %w", err)
			}
			cfg.Dial = dialTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
			cfg.Version = version()
			cfg.Verify = strict.Verify(&cfg, os.Getenv)
			cfg.Warn = func(line string) { cmd.PrintErrln("assent hook:", line) }
			hookclient.Run(cfg, os.Stdin, os.Stdout)
			return nil
		},
	}
}

// dialTLS connects to https URLs, with the certificate checked as config says, and to others in the clear.
func dialTLS(config *tls.Config) func(context.Context, hookclient.URL) (net.Conn, error) {
	// A broker that vanished without a word is noticed within half a minute.
	keepAlive := net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}
	return func(ctx context.Context, to hookclient.URL) (net.Conn, error) {
		if !to.TLS {
			return to.DialPlain(ctx)
		}
		config := config.Clone()
		config.ServerName, config.NextProtos = to.Name, []string{"http/1.1"}
		d := tls.Dialer{NetDialer: &net.Dialer{KeepAliveConfig: keepAlive}, Config: config}
		return d.DialContext(ctx, "tcp", to.Addr)
	}
}
