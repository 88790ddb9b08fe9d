package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/relay/tunnel"
	"assent/internal/relay/uplink"
	"assent/internal/setup/statedir"
)

func (a *app) relayJoinCmd() *cobra.Command {
	var k uplink.Known
	var file string
	c := &cobra.Command{
		Use:   "join URL",
		Short: "Have the broker of this machine use a relay",
		Long: `On the broker's machine: make the broker connect to a relay from its next start on, so that phones
can reach it there. The token comes from the relay's owner, in a file of yours or on standard
input; it is stored in the state directory, readable by you only. The relay is not contacted now.

The broker gets a certificate for its address from a certificate authority, and renews it. Joining
accepts the authority's terms, and makes the address public knowledge.`,
		Example: `  assent relay join wss://relay.example.org --token-file box.token
  assent relay join wss://relay.example.org < box.token`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want the relay's URL, as in wss://relay.example.org")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			k.URL = args[0]
			var err error
			if file != "" {
				k.Token, err = readRelayToken(file)
			} else {
				var b []byte
				b, err = io.ReadAll(io.LimitReader(a.in, 4<<10))
				k.Token = strings.TrimSpace(string(b))
			}
			if err != nil {
				return err
			}
			page, err := k.Page()
			if err != nil {
				return usagef("%w", err)
			}
			if statedir.Shared(a.stateDir) {
				return fmt.Errorf("state directory: everybody can write to %s; choose a directory of your own", a.stateDir)
			}
			if err := uplink.Save(a.stateDir, k); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"page": page})
			}
			fmt.Fprintf(a.out, "From its next start on, the broker is reached at %s\nStart it again, then pair the phone: %s pair\n", page, typed())
			return nil
		},
	}
	c.Flags().StringVar(&file, "token-file", "", "file that holds the token, readable by you only (default: standard input)")
	c.Flags().StringVar(&k.ACME, "acme", "", "directory of the ACME authority for the broker's certificate (default Let's Encrypt)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the page's address")
	return c
}

// readRelayToken reads a token from a file that only its owner can read.
func readRelayToken(file string) (string, error) {
	b, err := uplink.ReadSecret(file)
	if err != nil {
		return "", fmt.Errorf("the relay's token: %w", err)
	}
	t, err := tunnel.ParseToken(strings.TrimSpace(string(b)))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return t.Text(), nil
}

func (a *app) relayLeaveCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "leave",
		Short: "Have the broker of this machine use no relay",
		Long: `Make the broker of this machine connect to no relay from its next start on. Paired phones stay
paired.`,
		Example: "  assent relay leave",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			err := os.Remove(uplink.Path(a.stateDir))
			switch {
			case errors.Is(err, os.ErrNotExist):
				fmt.Fprintln(a.out, "The broker uses no relay.")
				return nil
			case err != nil:
				return err
			}
			fmt.Fprintln(a.out, "From its next start on, the broker uses no relay.")
			return nil
		},
	}
}
