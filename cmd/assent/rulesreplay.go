package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/policy"
	"assent/internal/policy/replay"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesReplayCmd() *cobra.Command {
	var file, since string
	var all bool
	c := &cobra.Command{
		Use:   "replay",
		Short: "Show what rules would have decided about past requests",
		Long: `Ask the running broker for past requests, and show what the rules would have decided about each
one and where that differs from what happened. With --rules FILE only that file is used; without
the flag, the files that this machine's broker would load now.

Requests that a person denied and the rules would allow come first: look at each of them. Nothing
is changed or run. Each request is judged at its own time, mode and branch; symbolic links are
followed as they are now.`,
		Example: `  assent rules replay --since 7d --rules new.yaml
  assent rules replay --since 24h --json | jq -c .request`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ago, err := longDuration(since)
			if err != nil {
				return usagef("--since %s: want a time that has passed, such as 24h or 7d", since)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			r := &replay.Replay{Load: a.replayRules(file), OwnFiles: file == ""}
			from := time.Now().Add(-ago)
			if err := b.replay(cmd.Context(), r, from); err != nil {
				return err
			}
			if a.json {
				return a.printReplayJSON(r, from)
			}
			a.printReplay(r, from, all)
			return nil
		},
	}
	c.Flags().StringVar(&since, "since", "7d", "how far back")
	c.Flags().StringVar(&file, "rules", "", "this file of rules, and no other")
	c.Flags().BoolVar(&all, "all", false, "print every line of long lists")
	c.Flags().BoolVar(&a.json, "json", false, "the counts, and each request that would have gone otherwise, as lines of JSON")
	return c
}

var days = regexp.MustCompile(`^([1-9][0-9]{0,3})d$`)

// longDuration reads 24h and 7d.
func longDuration(text string) (time.Duration, error) {
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("not above 0")
	}
	return d, err
}

// replay has r judge the requests that ended since then, newest first.
func (c *client) replay(ctx context.Context, r *replay.Replay, since time.Time) error {
	return c.ended(ctx, since, r.Judge)
}

// ended calls visit with the requests that ended since then, newest first, until it fails.
func (c *client) ended(ctx context.Context, since time.Time, visit func(*replay.Past) error) error {
	return c.eachEnded(ctx, since, func(q *api.Request) error { return visit(pastOf(q)) })
}

// eachEnded is api.Client.Ended with the exit codes of call.
func (c *client) eachEnded(ctx context.Context, since time.Time, visit func(*api.Request) error) error {
	return withExit(c.Ended(ctx, since, visit))
}

func pastOf(q *api.Request) *replay.Past {
	call := requestCall(q)
	call.Contain = q.Contained != "" // it could then
	return &replay.Past{
		Request: q.Request, Call: call, Outcome: q.Outcome, Reason: q.Reason, By: q.DecidedBy,
		Edited: q.Contained == "" && len(q.Response.UpdatedInput()) > 0, Summary: summary(q, 200),
	}
}

// replayRules returns the function that loads the rules for the requests of one repository: those of
// the file that the user named, or else those that the broker would load.
func (a *app) replayRules(name string) func(root string) (replay.Rules, error) {
	var base *policy.Set // without a repository's
	var load func(root string) (replay.Rules, error)
	load = func(root string) (replay.Rules, error) {
		if root == "" && base != nil {
			return replay.Rules{Set: base}, nil
		}
		f, err := a.readRules(name, root)
		if err != nil {
			return replay.Rules{}, err
		}
		set, problems := f.Load(root != "") // the broker runs no tests of a repository's file
		switch {
		case len(problems) > 0 && root == "":
			a.printProblems(a.err, f, problems)
			return replay.Rules{}, errors.New("the broker does not load rules with mistakes either; fix them first")
		case len(problems) > 0:
			rules, err := load("")
			if err != nil {
				return rules, err
			}
			a.printProblems(a.err, f, problems)
			rules.Broken = true
			return rules, nil
		case root == "":
			base = set
		}
		return replay.Rules{Set: set}, nil
	}
	return load
}

const maxReplayLines = 15

func (a *app) printReplay(r *replay.Replay, since time.Time, all bool) {
	out := a.out
	if r.Judged == 0 {
		fmt.Fprintf(out, "No request has ended since %s.\n", since.Local().Format("2006-01-02 15:04"))
		return
	}
	fmt.Fprintf(out, "%s since %s\n\n", counted(r.Judged, "request"), since.Local().Format("2006-01-02 15:04"))
	for i, k := range replay.Kinds {
		if n := len(r.Changed[i]); n > 0 {
			fmt.Fprintf(out, "%6d  %s\n", n, k.Words)
		}
	}
	fmt.Fprintf(out, "%6d  as it went\n", r.Same)
	for i, k := range replay.Kinds {
		if len(r.Changed[i]) == 0 {
			continue
		}
		fmt.Fprintln(out)
		if i == 0 {
			fmt.Fprintf(out, "!!! WARNING: A PERSON DENIED %s THAT THESE RULES WOULD ALLOW !!!\n", map[bool]string{true: "ONE REQUEST", false: fmt.Sprint(len(r.Changed[i])) + " REQUESTS"}[len(r.Changed[i]) == 1])
		} else {
			fmt.Fprintf(out, "%s:\n", k.Words)
		}
		lines := replay.Fold(r.Changed[i])
		for j, l := range lines {
			if j == maxReplayLines && !all && i > 0 {
				fmt.Fprintf(out, "  … and %d more; --all prints them\n", len(lines)-j)
				break
			}
			a.printReplayLine(l)
		}
	}
}

func (a *app) printReplayLine(l *replay.Line) {
	times := ""
	if l.Times > 1 {
		times = fmt.Sprintf(" (%d times)", l.Times)
	}
	fmt.Fprintln(a.out, layout.Wrap(elide(l.What, 100), "  ", "      ")+times)
	by := ""
	if l.By != "" {
		by = " by " + show.Short(l.By, 40)
	}
	then := fmt.Sprintf("%s%s, %s", show.Line(l.Was), by, l.Time.Local().Format("2006-01-02 15:04"))
	now := string(l.Verdict) + ": " + show.Line(l.Reason)
	if l.Rule != "" {
		now = fmt.Sprintf("%s by %s", l.Verdict, ruleName(l.Rule, l.File))
	}
	fmt.Fprintln(a.out, layout.Wrap(then, "      then: ", "            "))
	fmt.Fprintln(a.out, layout.Wrap(now, "      now:  ", "            "))
	fmt.Fprintln(a.out, "      id:   "+show.Line(l.Request))
}

// replayCounts is the first line of replay's JSON.
type replayCounts struct {
	Since  time.Time      `json:"since"`
	Judged int            `json:"judged"`
	Same   int            `json:"same"`
	Kinds  map[string]int `json:"kinds"`
}

func (a *app) printReplayJSON(r *replay.Replay, since time.Time) error {
	counts := replayCounts{since.UTC(), r.Judged, r.Same, map[string]int{}}
	for i, k := range replay.Kinds {
		counts.Kinds[k.Name] = len(r.Changed[i])
	}
	if err := a.printJSON(counts); err != nil {
		return err
	}
	for _, list := range r.Changed {
		for _, c := range list {
			if err := a.printJSON(c); err != nil {
				return err
			}
		}
	}
	return nil
}
