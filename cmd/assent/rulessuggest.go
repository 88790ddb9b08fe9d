package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/replay"
	"assent/internal/policy/suggest"
	"assent/internal/text/layout"
	"assent/internal/text/show"
)

func (a *app) rulesSuggestCmd() *cobra.Command {
	var since string
	var least int
	c := &cobra.Command{
		Use:   "suggest",
		Short: "Suggest rules for what people allow again and again",
		Long: `Ask the running broker for past requests, and look for the smallest set of narrow rules that would
have answered the most requests that people allowed, and none that they denied or edited. The
rules are printed as a file, with what each rule would have answered. Nothing is changed: copy the
rules that you want into your rules file, and try them with assent rules replay.

A rule is suggested only if it works: together with the rules in force, it would have allowed
those requests without a person. No rule is suggested for shells, interpreters and programs that
start other programs.`,
		Example: `  assent rules suggest --since 30d
  assent rules suggest > new.yaml && assent rules replay --since 30d --rules new.yaml
  assent rules suggest --json | jq -r '.rules[].sentence'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ago, err := longDuration(since)
			if err != nil {
				return usagef("--since %s: want a time that has passed, such as 24h or 7d", since)
			}
			if least < 1 {
				return usagef("--least %d: want a number from 1", least)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			past, err := b.settled(cmd.Context(), time.Now().Add(-ago))
			if err != nil {
				return err
			}
			cfg, err := a.rulesConfig("")
			if err != nil {
				return err
			}
			set, err := suggest.NewProposer(files.Open(cfg), nil).Smallest(cmd.Context(), past, least)
			if err != nil {
				return err
			}
			text, err := set.File()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(struct {
					suggest.Set
					File string `json:"file"`
				}{set, text})
			}
			a.printSuggested(&set, text, since)
			return nil
		},
	}
	c.Flags().StringVar(&since, "since", "30d", "how far back")
	c.Flags().IntVar(&least, "least", 2, "how many requests a rule must answer that no other does")
	c.Flags().BoolVar(&a.json, "json", false, "the rules and what they would have answered, as JSON")
	return c
}

// settled returns the requests that ended since then, newest first.
func (c *client) settled(ctx context.Context, since time.Time) ([]suggest.Settled, error) {
	var all []suggest.Settled
	err := c.ended(ctx, since, func(p *replay.Past) error {
		p.ToolInput = hook.JSON(p.Call.Input) // in the API it stands beside the request
		if one, ok := suggest.Settle(&p.Request, p.Outcome, p.By, p.Edited); ok {
			all = append(all, one)
		}
		return nil
	})
	return all, err
}

// noneSuggested says why there is no rule to suggest.
func noneSuggested(s *suggest.Set, since string) string {
	text := fmt.Sprintf("No rule to suggest: of %s in the last %s, people allowed %d by hand.", counted(s.Examined, "request"), since, s.Allowed)
	switch {
	case s.Allowed == 0:
		return text
	case s.Allowed == s.Already:
		return text + " The rules allow all of those now."
	}
	return text + fmt.Sprintf(" The rules allow %d of those now, and no narrow rule would answer enough of the rest.", s.Already)
}

// printSuggested prints the file on standard output, and what it would have answered beside it.
func (a *app) printSuggested(s *suggest.Set, text, since string) {
	fmt.Fprint(a.out, text)
	say := func(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
	if len(s.Rules) == 0 {
		say("%s", fit(a.err, noneSuggested(s, since)))
		return
	}
	say("")
	for i := range s.Rules {
		r := &s.Rules[i]
		say("%s", layout.Wrap(fmt.Sprintf("%d times: %s", r.Answers, show.Line(r.Sentence)), "", "  "))
		for k, q := range r.Requests {
			if k == 5 {
				say("    … and %d more", len(r.Requests)-k)
				break
			}
			say("%s", layout.Wrap(elide(q.Text, 100), "    ", "      "))
		}
		for _, w := range r.Warnings {
			say("%s", layout.Wrap("Warning: "+show.Line(w), "    ", "      "))
		}
	}
	say("\n%s would have answered %d of %d that people allowed in %s, and none that they denied or edited.", counted(len(s.Rules), "rule"), s.Answered, s.Allowed, since)
}
