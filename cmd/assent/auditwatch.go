package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
	"assent/internal/text/show"
)

func (a *app) auditWatchCmd() *cobra.Command {
	var keys []string
	var every time.Duration
	var skew time.Duration
	file, once := "", false
	c := &cobra.Command{
		Use:   "watch",
		Short: "Keep checkpoints, and notice a record that was rewritten",
		Long: `Ask the broker for its newest checkpoint at intervals, verify that it continues the one before,
and append it to a file. Run the command on another machine (--url, ASSENT_TOKEN), or with --once
from cron. If the record was rewritten, or put back to an older state, the command says so and
exits 1. It does so, too, if a checkpoint is from the future by the clock of this machine, or from
before the broker was last asked for one, by more than --skew. Without --key, the key that the
broker itself names is believed.`,
		Example: "  assent audit watch --keep kept.txt --key broker.pub\n  assent audit watch --keep kept.txt --once --url https://box.example.net",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < time.Second {
				return usagef("--every %s: want a second or more", every)
			}
			if skew < time.Second {
				return usagef("want --skew of a second or more, such as 5m")
			}
			known, err := audit.ReadKeys(keys)
			if err != nil {
				return err
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			w := audit.Watch{Ask: b.checkpoint, Keys: known, File: file, Skew: skew}
			if err := w.Load(); err != nil {
				return err
			}
			for {
				err := a.lookOnce(cmd.Context(), &w)
				var exit *exitError
				away := errors.As(err, &exit) && exit.code == exitNoBroker
				if once || err != nil && !away {
					return err
				}
				if err != nil {
					fmt.Fprintf(a.err, "assent: %v; trying again\n", err)
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(every):
				}
			}
		},
	}
	c.Flags().StringVar(&file, "keep", "", "the file of checkpoints; each new one is appended")
	c.Flags().StringArrayVar(&keys, "key", nil, "a public key of the broker, or a file of them; may be repeated")
	c.Flags().DurationVar(&every, "every", time.Minute, "how often to ask")
	c.Flags().BoolVar(&once, "once", false, "ask once")
	c.Flags().DurationVar(&skew, "skew", audit.Skew, "how far the broker's clock and that of this machine may differ")
	c.Flags().BoolVar(&a.json, "json", false, "lines of JSON")
	return c
}

// lookOnce asks the broker once, and prints the checkpoint if it is new. An alarm exits 1.
func (a *app) lookOnce(ctx context.Context, w *audit.Watch) error {
	c, err := w.Look(ctx)
	if alarm := (*audit.Alarm)(nil); errors.As(err, &alarm) {
		err = &exitError{exitFailed, alarm.Err}
	}
	if c == nil {
		return err
	}
	var failed error
	if a.json {
		failed = a.printJSON(c)
	} else {
		_, failed = fmt.Fprintf(a.out, "%s  %d leaves  %s\n", c.Time.Local().Format(time.DateTime), c.Size, c.Root)
	}
	return cmp.Or(err, failed)
}

// tracePlace says where the records of a request stand in the tree, each proved with the broker's own key, and which do not.
func (a *app) tracePlace(ctx context.Context, b *client, id string) error {
	body, err := b.lines(ctx, "/v1/requests/"+url.PathEscape(id)+"/proof")
	if p := (*api.Problem)(nil); errors.As(err, &p) {
		switch p.Status {
		case http.StatusNotFound:
			a.tell("not in the tree over the record: recorded before that began")
		case http.StatusServiceUnavailable: // it is late, or has stopped, or there is none
			a.tell("not proved by the tree over the record: " + show.Line(p.Error()))
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	got, err := b.checkpoint(ctx, 0)
	if err != nil {
		return err
	}
	place, err := audit.PlaceOf(body, got.Key, stream.DecodeEntry)
	if err != nil {
		return err
	}
	if wrong := place.Wrong(); wrong != "" {
		return fmt.Errorf("the tree over the record does not prove this: %s", wrong)
	}
	leaves := make([]string, len(place.Leaves))
	for i, leaf := range place.Leaves {
		leaves[i] = strconv.FormatInt(leaf.N, 10)
	}
	for _, line := range placeLines(leaves, &place.Report) {
		a.tell(line)
	}
	return nil
}

// placeLines say where in the tree the entries of a request are, and of each other one why it is not there.
func placeLines(leaves []string, rep *audit.Report) (lines []string) {
	what := "leaf"
	if len(leaves) > 1 {
		what = "leaves"
	}
	if len(leaves) > 0 {
		lines = append(lines, fmt.Sprintf("in the tree over the record: %s %s of %d, proved by the checkpoint of %s", what, strings.Join(leaves, ", "), rep.Size, rep.Time.Local().Format(time.DateTime)))
	}
	for _, u := range rep.Unproved {
		lines = append(lines, fmt.Sprintf("seq %d is not in the tree over the record: %s", u.Seq, unprovedWords(u)))
	}
	return lines
}

// unprovedWords say why an entry has no proof.
func unprovedWords(u audit.Unproved) string {
	if u.Why == tree.WhyBefore {
		return "it was recorded before that began"
	}
	return "it has no checkpoint yet; look again in a minute, and if that does not help, see assent doctor"
}
