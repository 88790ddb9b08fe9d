package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

func (a *app) handBackCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "hand-back NUMBER|ID",
		Short: "Leave a waiting request to the agent's own prompt",
		Long: `Hand a waiting request back: it is neither allowed nor denied here. The agent shows its own prompt
in its terminal, as if assent were not there, and the record says who handed the request back. The
last digits of its number are enough if no other request of the last hour ends in them; so is the
beginning of its id if no other waiting request begins with it.

An agent without a terminal, such as claude -p, has nobody at its prompt: its request is denied. A
request of a permission prompt tool (assent mcp) cannot be handed back, because that tool is the
agent's prompt. Needs the role approve. assent pause hands back all new requests.`,
		Example: "  assent hand-back 417\n  assent hand-back 4f1c --json",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, r, err := a.found(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := b.handBack(cmd.Context(), r); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"id": r.ID, "outcome": string(hook.HandedBack)})
			}
			fmt.Fprintf(a.out, "Handed back: %s: the agent asks in its own terminal\n", summary(r, 80))
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// handBack leaves r, as it was seen, to the agent's own prompt.
func (c *client) handBack(ctx context.Context, r *api.Request) error {
	signature, err := c.sign(auth.HandBackText(r.ID, r.InputSHA256))
	if err != nil {
		return err
	}
	err = c.call(ctx, "POST", "/v1/requests/"+url.PathEscape(r.ID)+"/handback", hook.HandBack{InputSHA256: r.InputSHA256, Signature: signature}, nil)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status >= 500 {
		err = &unsureError{p, r.ID}
	}
	return err
}
