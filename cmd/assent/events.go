package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/store/reader"
	"assent/internal/terminal/eventlines"
)

func (a *app) eventsCmd() *cobra.Command {
	var opt reader.Options
	var since time.Duration
	var remove bool
	c := &cobra.Command{
		Use:   "events",
		Short: "Follow the agents' hook events",
		Long: `Follow the agents' hook events, live or from the past, until Ctrl-C. If the broker goes away, the
command waits for it and continues where it was.

With --durable, the broker remembers under a name how far this reader has read, and the next run
continues there. Give each program its own name: on one machine, a second reader of the same name
is refused.

If events left the stream before they were read, a line says how many.`,
		Example: `  assent events
  assent events --filter Stop --since 1h
  assent events --all --json | jq .session_id
  assent events --durable coop-1
  assent events --durable coop-1 --remove`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case opt.All && since != 0:
				return usagef("--all and --since exclude each other")
			case since < 0:
				return usagef("--since %s: want a time that has passed, such as 1h", since)
			case opt.Count < 0:
				return usagef("--count %d: want a number of events", opt.Count)
			case opt.Filter != "" && !hook.PlainToken(opt.Filter):
				return usagef("--filter %s: want one event type, such as PreToolUse", opt.Filter)
			case opt.Durable != "" && !hook.PlainToken(opt.Durable):
				return usagef("--durable %s: want letters, digits, - and _", opt.Durable)
			case remove && opt.Durable == "":
				return usagef("--remove: say which one with --durable NAME")
			}
			if remove {
				return a.removeDurable(cmd.Context(), opt.Durable)
			}
			if since > 0 {
				opt.Since = time.Now().Add(-since)
			}
			return a.follow(cmd.Context(), opt)
		},
	}
	c.Flags().StringVar(&opt.Filter, "filter", "", "one event type only")
	c.Flags().DurationVar(&since, "since", 0, "begin with the events of this long ago")
	c.Flags().BoolVar(&opt.All, "all", false, "begin with the oldest event kept")
	c.Flags().StringVar(&opt.Durable, "durable", "", "name under which the position is kept")
	c.Flags().BoolVar(&remove, "remove", false, "forget the durable reader of that name")
	c.Flags().IntVar(&opt.Count, "count", 0, "stop after this many events (0: never)")
	c.Flags().BoolVar(&a.json, "json", false, "each payload as one line of JSON")
	return c
}

// follow prints events until ctx is done, which is no failure.
func (a *app) follow(ctx context.Context, opt reader.Options) error {
	opt.CursorDir = filepath.Join(a.stateDir, "readers")
	opt.Logf = func(format string, args ...any) { fmt.Fprintf(a.err, "assent: "+format+"\n", args...) }
	p := eventlines.Printer{Out: a.out, JSON: a.json, Width: func() int { return columns(a.out) }}
	opt.Marker = p.Marker
	err := reader.Read(ctx, a.natsInfo, opt, p.Event)
	var busy *reader.BusyError
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil
	case errors.Is(err, reader.ErrNoServer):
		return noBroker(err)
	case errors.Is(err, reader.ErrToken), errors.As(err, &busy):
		return &exitError{exitRefused, err}
	}
	return err
}

func (a *app) removeDurable(ctx context.Context, name string) error {
	info, err := a.natsInfo()
	if err != nil {
		return err
	}
	err = reader.RemoveDurable(ctx, info, filepath.Join(a.stateDir, "readers"), name)
	var busy *reader.BusyError
	switch {
	case errors.Is(err, reader.ErrNoServer):
		return noBroker(err)
	case errors.Is(err, reader.ErrToken), errors.As(err, &busy):
		return &exitError{exitRefused, err}
	}
	return err
}
