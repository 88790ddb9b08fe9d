package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) stopCmd() *cobra.Command {
	var all, lift bool
	c := &cobra.Command{
		Use:   "stop --all | --lift",
		Short: "Stop everything: deny what waits, and let no rule allow anything",
		Long: `Deny everything that is waiting, and suspend all rules and grants that allow, until somebody lifts
the stop: until then each new request waits for a person. Rules that deny still apply. The stop
holds for every broker that shares the record, survives a restart, and ends a pause. The agents
themselves keep running: each denial tells its agent who stopped everything.

Needs the role approve. The page has a button for the same.`,
		Example: "  assent stop --all\n  assent stop --lift",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all == lift {
				return usagef("say --all to stop everything, or --lift to end that; see assent stop --help")
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			if lift {
				return a.endHalt(cmd.Context(), b, "/v1/stop", hook.HaltLift, "Lifted: rules and grants allow again.")
			}
			b.Timeout = time.Minute
			in, err := b.newHalt(cmd.Context(), hook.HaltStop, 0)
			if err != nil {
				return err
			}
			var r api.StopResult
			if err := b.call(cmd.Context(), "POST", "/v1/stop", in, &r); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.out, "Everything is stopped. Denied: %s.\nTo lift it: assent stop --lift\n", counted(r.Denied, "request"))
			if r.Left > 0 {
				return fmt.Errorf("%s could not be denied and may still wait; run it again", counted(r.Left, "request"))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "stop everything")
	c.Flags().BoolVar(&lift, "lift", false, "let rules and grants allow again")
	c.Flags().BoolVar(&a.json, "json", false, "print the resulting state as JSON")
	return c
}

func (a *app) pauseCmd() *cobra.Command {
	var end bool
	c := &cobra.Command{
		Use:   "pause DURATION | --end",
		Short: "Leave new requests to the agents' own prompts, for a time",
		Long: `Hand every new request back at once, for at most 24 hours, so that the agent's own prompt in its
terminal decides, as if assent were not there. Rules that deny still apply. Requests that are
already waiting keep waiting, here and on the page. A second pause replaces the first.

An agent without a terminal, such as claude -p, has nobody at its prompt: its requests are denied.
Needs the role approve.`,
		Example: "  assent pause 1h\n  assent pause 90m\n  assent pause --end",
		Args: func(_ *cobra.Command, args []string) error {
			if end != (len(args) == 0) || len(args) > 1 {
				return errors.New("want one duration such as 1h, or --end")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			if end {
				return a.endHalt(cmd.Context(), b, "/v1/pause", hook.HaltResume, "The pause is over: requests wait here again.")
			}
			d, err := time.ParseDuration(args[0])
			if err != nil || d < time.Second || d > hook.MaxPause {
				return usagef("%s: want a duration of 1s to 24h, such as 1h", show.Line(args[0]))
			}
			in, err := b.newHalt(cmd.Context(), hook.HaltPause, int((d+time.Second-1)/time.Second))
			if err != nil {
				return err
			}
			var h api.Halt
			if err := b.call(cmd.Context(), "POST", "/v1/pause", in, &h); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(h)
			}
			fmt.Fprintln(a.out, haltWords(&h, time.Now()))
			return nil
		},
	}
	c.Flags().BoolVar(&end, "end", false, "end the pause now")
	c.Flags().BoolVar(&a.json, "json", false, "print the resulting state as JSON")
	return c
}

// endHalt lifts a stop or ends a pause.
func (a *app) endHalt(ctx context.Context, b *client, path, act, done string) error {
	in, err := b.newHalt(ctx, act, 0)
	if err != nil {
		return err
	}
	var h api.Halt
	if err := b.call(ctx, "DELETE", path, in, &h); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(h)
	}
	fmt.Fprintln(a.out, done)
	return nil
}

// halt asks the broker whether everything is stopped or paused.
func (c *client) halt(ctx context.Context) (h api.Halt, err error) {
	err = c.call(ctx, "GET", "/v1/stop", nil, &h)
	return h, err
}

// haltWords says in one line what is stopped or paused, and how that ends; nothing where nothing is.
func haltWords(h *api.Halt, now time.Time) string {
	switch {
	case h.Stopped != nil:
		return fmt.Sprintf("Everything is stopped since %s by %s: rules and grants allow nothing. To lift that: assent stop --lift",
			terminal.Clock(h.Stopped.At, now), show.Line(api.ApproverName(&h.Stopped.By)))
	case h.Paused != nil && now.Before(h.Paused.Until):
		return fmt.Sprintf("Everything is paused until %s by %s: new requests are left to the agents' own prompts. To end that: assent pause --end",
			terminal.Clock(h.Paused.Until, now), show.Line(api.ApproverName(&h.Paused.By)))
	}
	return ""
}

// warnOfHalt tells the user on standard error that everything is stopped or paused. It is silent
// where the broker does not say.
func (a *app) warnOfHalt(ctx context.Context) {
	b, err := a.broker()
	if err != nil {
		return
	}
	if h, err := b.halt(ctx); err == nil {
		if words := haltWords(&h, time.Now()); words != "" {
			fmt.Fprintln(a.err, "assent: "+words)
		}
	}
}
