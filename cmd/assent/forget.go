package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"assent/internal/text/show"
)

func (a *app) forgetCmd() *cobra.Command {
	var yes bool
	var message string
	c := &cobra.Command{
		Use:   "forget SESSION",
		Short: "Delete what is stored about a session, or the text of one message to it",
		Long: `Remove a session up to now: its feed, the payloads of its hooks, its requests and who decided
them. SESSION is its id, or the beginning or the end of it. What the session does afterwards is
stored again. A session with a waiting request is not forgotten: answer the request first.

With --message only the text of one message to the session is removed, and its signature; who sent
the message and what became of it stay. A message that nobody has taken yet is then not delivered.
What a session has already received of it stays until the session is forgotten. ID is the id of the
message, or the beginning of it; assent trace --messages SESSION lists them.

You are asked before anything is removed. Copies that other programs took from the event stream,
and backups, are not touched.`,
		Example: "  assent forget 25e5a0e9-9758-4dff-954c-fc44b3a814da\n  assent forget 25e5a0e9-9758-4dff-954c-fc44b3a814da --yes\n  assent forget 25e5a0e9 --message 7f3a",
		Args:    oneSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("message") {
				return a.forgetMessage(cmd.Context(), b, args[0], message, yes)
			}
			s, err := b.session(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			if !yes {
				fmt.Fprintf(a.err, "%s · %s · %s · %s\n", s.Name(), s.Where(), show.Line(s.SessionID), counted(int(s.LastPos), "event"))
				if err := a.surelyForget(cmd.Context(), "Forget this session? This cannot be undone."); err != nil {
					return err
				}
			}
			b.Timeout = 0 // a long session takes its time
			if err := b.call(cmd.Context(), "DELETE", "/v1/sessions/"+url.PathEscape(s.SessionID), nil, nil); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"forgotten": s.SessionID})
			}
			fmt.Fprintf(a.out, "Forgotten: %s\n", show.Line(s.SessionID))
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().StringVar(&message, "message", "", "forget the text of this message to the session, and nothing else: its `ID`")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the id of the session, or with --message what is left of the message")
	return c
}

// surelyForget asks, and returns an error unless the answer is yes.
func (a *app) surelyForget(ctx context.Context, question string) error {
	ok, err := a.confirm(ctx, question, false)
	switch {
	case errors.Is(err, errNoAnswer):
		return usagef("%w; say --yes", err)
	case err != nil:
		return err
	case !ok:
		return &exitError{exitFailed, errors.New("nothing was forgotten")}
	}
	return nil
}
