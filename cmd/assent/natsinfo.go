package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"assent/internal/store/stream"
)

func (a *app) natsInfoCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "nats-info",
		Short: "Print where other programs read the event stream",
		Long: `Print nats-info.json of the running broker: the address, stream and token with which any
NATS client may consume hook events. The token can do nothing else.`,
		Example: "  assent nats-info\n  assent nats-info --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			info, err := a.natsInfo()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(info)
			}
			fmt.Fprintf(a.out, "url      %s\nstream   %s\nsubjects %s\ntoken    %s\n", info.URL, info.Stream, info.Subjects, info.Token)
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "the file as it is")
	return c
}

// natsInfo is what <state>/.runtime/nats-info.json says, with the environment of older
// programs above it, each variable for itself: COOP_NATS_URL, or BD_NATS_PORT of this machine,
// is the address, BD_DAEMON_TOKEN the token. The file's token goes to the file's address only.
func (a *app) natsInfo() (stream.NATSInfo, error) {
	address, err := environmentAddress(os.Getenv)
	if err != nil {
		return stream.NATSInfo{}, err
	}
	info, err := stream.ReadInfo(a.stateDir)
	if address != "" && address != info.URL {
		info, err = stream.InfoAt(address), nil
	}
	if token := os.Getenv("BD_DAEMON_TOKEN"); token != "" {
		info.Token = token
	}
	if errors.Is(err, os.ErrNotExist) {
		return info, noBroker(fmt.Errorf("no broker with an event listener is running for the state directory %s; start one with: assent serve", a.stateDir))
	}
	if err != nil {
		return info, fmt.Errorf("read %s: %w; restart the broker", stream.InfoPath(a.stateDir), err)
	}
	return info, nil
}

// Bounds of a token from the environment, in bytes.
const (
	shortToken   = 16
	longestToken = 512
)

// readersToken is the token that serve gives to readers of the event stream: BD_DAEMON_TOKEN, as
// older programs have it, else empty, and it is a new one at each start. It is never shown or
// logged.
func readersToken(env func(string) string, log *zap.Logger) (string, error) {
	token := env("BD_DAEMON_TOKEN")
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.ContainsFunc(token, odd) || len(token) > longestToken:
		return "", usagef("BD_DAEMON_TOKEN: want at most %d printable ASCII characters without spaces, or unset it", longestToken)
	case token != "" && len(token) < shortToken:
		log.Warn("BD_DAEMON_TOKEN is short: whoever guesses it reads every event, on this machine without being noticed", zap.Int("want at least", shortToken))
	}
	return token, nil
}

// environmentAddress is the address that the environment names, empty if none.
func environmentAddress(env func(string) string) (string, error) {
	if address := env("COOP_NATS_URL"); address != "" {
		return address, nil
	}
	port := env("BD_NATS_PORT")
	if port == "" {
		return "", nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", usagef("BD_NATS_PORT is %q, want a port from 1 to 65535", port)
	}
	return "nats://127.0.0.1:" + port, nil
}
