package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"assent/internal/text/show"
)

func (a *app) forgetCmd() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "forget SESSION",
		Short: "Delete what is stored about a session",
		Long: `Remove a session up to now: its feed, the payloads of its hooks, its requests and who decided
them. SESSION is its id, or the beginning or the end of it. What the session does afterwards is
stored again. A session with a waiting request is not forgotten: answer the request first.

You are asked before anything is removed. Copies that other programs took from the event stream,
and backups, are not touched.`,
		Example: "  assent forget 25e5a0e9-9758-4dff-954c-fc44b3a814da\n  assent forget 25e5a0e9-9758-4dff-954c-fc44b3a814da --yes",
		Args:    oneSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			s, err := b.session(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			if !yes {
				fmt.Fprintf(a.err, "%s · %s · %s · %s\n", s.name(), s.where(), show.Line(s.SessionID), counted(int(s.LastPos), "event"))
				ok, err := a.confirm(cmd.Context(), "Forget this session? This cannot be undone.", false)
				if errors.Is(err, errNoAnswer) {
					return usagef("%w; say --yes", err)
				}
				if err != nil {
					return err
				}
				if !ok {
					return &exitError{exitFailed, errors.New("nothing was forgotten")}
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
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}
