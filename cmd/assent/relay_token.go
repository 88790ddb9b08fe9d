package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"assent/internal/relay"
)

func (a *app) relayTokenCmd() *cobra.Command {
	var file string
	var revoke, list bool
	c := &cobra.Command{
		Use:   "token [NAME]",
		Short: "Make a broker's token for a relay, and print it once",
		Long: `On the relay's machine: create the token with which one broker connects to the relay and gets the
address NAME.DOMAIN. Only the token is printed on standard output, and only its hash is stored. A
second token for the same name replaces the first. A running relay follows at once: a broker whose
token was revoked or replaced is disconnected within seconds.`,
		Example: `  assent relay token box > box.token
  assent relay token box --revoke
  assent relay token --list`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := a.relayTokens(file)
			switch {
			case list && (revoke || len(args) > 0):
				return usagef("--list goes alone")
			case list:
				return a.listRelayTokens(path)
			case len(args) == 0:
				return usagef("say the name that the broker gets, as in: assent relay token box")
			case revoke:
				if err := relay.RemoveToken(path, args[0]); err != nil {
					return err
				}
				fmt.Fprintln(a.out, "Revoked the token of", args[0])
				return nil
			}
			t, replaced, err := relay.AddToken(path, args[0])
			if err != nil {
				return err
			}
			if replaced {
				fmt.Fprintf(a.err, "assent: the token that %s had before is no longer valid\n", t.Name)
			}
			fmt.Fprintln(a.out, t.Text())
			return nil
		},
	}
	c.Flags().StringVar(&file, "tokens", "", "the relay's file of tokens (default <state>/relay.tokens)")
	c.Flags().BoolVar(&revoke, "revoke", false, "take the name's token away")
	c.Flags().BoolVar(&list, "list", false, "list the names that have a token")
	c.Flags().BoolVar(&a.json, "json", false, "with --list: print JSON")
	return c
}

func (a *app) listRelayTokens(path string) error {
	names, err := relay.Names(path)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(names)
	}
	for _, name := range names {
		fmt.Fprintln(a.out, name)
	}
	return nil
}
