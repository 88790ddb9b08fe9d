package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// keepFlags say what assent allow has assent remember.
type keepFlags struct {
	grant     time.Duration
	times     int
	rule, yes bool
	proposal  int
}

func (k *keepFlags) add(c *cobra.Command) {
	c.Flags().DurationVar(&k.grant, "grant", 0, "also allow requests like it, for this long (at most 2160h)")
	c.Flags().IntVar(&k.times, "times", 0, "also allow this many further requests like it (at most 100)")
	c.Flags().BoolVar(&k.rule, "rule", false, "also allow requests like it, until revoked")
	c.Flags().IntVar(&k.proposal, "proposal", 1, "which rule, counted as assent proposals ID does")
	c.Flags().BoolVar(&k.yes, "yes", false, "with --rule: do not ask")
}

func (k *keepFlags) wanted() bool { return k.rule || k.grant != 0 || k.times != 0 }

func (k *keepFlags) check(c *cobra.Command, edited bool) error {
	switch {
	case c.Flags().Changed("grant") && k.grant <= 0:
		return usagef("--grant: want a duration such as 15m")
	case c.Flags().Changed("times") && k.times <= 0:
		return usagef("--times: want a number of requests, such as 3")
	case !k.wanted():
		if c.Flags().Changed("proposal") || k.yes {
			return usagef("--proposal and --yes go with --grant, --times or --rule")
		}
		return nil
	case k.rule && (k.grant != 0 || k.times != 0):
		return usagef("--rule has no end; say either --rule, or --grant and --times")
	case k.proposal < 1:
		return usagef("--proposal: want a number from 1")
	case edited || c.Flags().Changed("always"):
		return usagef("--grant, --times and --rule are about the request as it is: they do not go with --input, --answer or --always")
	}
	return nil
}

func (c *client) proposals(ctx context.Context, id string) (p api.Proposals, err error) {
	err = c.call(ctx, "GET", "/v1/requests/"+url.PathEscape(id)+"/proposals", nil, &p)
	return p, err
}

// keep saves the rule that the flags choose, before the request is allowed: if that
// fails, nothing has been allowed.
func (a *app) keep(ctx context.Context, r *api.Request, k keepFlags) error {
	b, err := a.broker()
	if err != nil {
		return err
	}
	p, err := b.proposals(ctx, r.ID)
	if err != nil {
		return err
	}
	if len(p.Proposals) == 0 {
		return &exitError{exitRefused, fmt.Errorf("no rule can be made of this request: %s. Nothing was allowed; to allow it once: assent allow %s", show.Line(strings.TrimSuffix(p.Reason, ".")), r.ID)}
	}
	if k.proposal > len(p.Proposals) {
		return usagef("--proposal: there are %d, see: assent proposals %s", len(p.Proposals), r.ID)
	}
	chosen := p.Proposals[k.proposal-1]
	if k.rule && !k.yes {
		fmt.Fprintf(a.out, "%s\n", terminal.ProposalText(k.proposal, &chosen))
		ok, err := a.confirm(ctx, "Save this rule?", false)
		if err != nil {
			return fmt.Errorf("nothing was allowed or saved: %w; to save it without a question: --yes", err)
		}
		if !ok {
			return &exitError{exitFailed, fmt.Errorf("nothing was allowed or saved")}
		}
	}
	s, err := b.save(ctx, r, &chosen, terminal.Bound{For: k.grant, Times: k.times})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(newSavedRow(&s))
	}
	fmt.Fprintf(a.out, "Saved %s, %s: %s\n", show.Line(s.ID), terminal.InForce(&s), readable(s.Sentence))
	for _, w := range chosen.Warnings {
		fmt.Fprintln(a.out, "Warning:", readable(w))
	}
	if chosen.Past.Denied > 0 {
		fmt.Fprintf(a.out, "Warning: of the past requests that it would have allowed, %d were denied. See: assent proposals %s\n", chosen.Past.Denied, r.ID)
	}
	return nil
}

// save saves a proposal made of r, as a rule where it has no bound.
func (c *client) save(ctx context.Context, r *api.Request, p *hook.Proposal, bound terminal.Bound) (s api.Saved, err error) {
	body := api.NewSaved{RequestID: r.ID, InputSHA256: r.InputSHA256, Proposal: p.Digest, Count: bound.Times}
	path := "/v1/grants"
	if bound.For > 0 {
		body.ExpiresAt = time.Now().Add(bound.For).UTC().Format(time.RFC3339Nano)
	}
	if bound == (terminal.Bound{}) {
		path = "/v1/rules"
	}
	kind := hook.SavedGrant
	if path == "/v1/rules" {
		kind = hook.SavedRule
	}
	if body.Signature, err = c.sign(auth.AlwaysText(r.ID, r.InputSHA256, p.Digest, kind, body.ExpiresAt, bound.Times)); err != nil {
		return s, err
	}
	err = c.call(ctx, "POST", path, body, &s)
	return s, err
}

func (a *app) proposalsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "proposals NUMBER|ID",
		Short: "Show the rules that a request could become",
		Long: `Show the rules that a request could become, the narrowest first, and which past requests each of
them would have allowed without a person. Nothing is saved.`,
		Example: "  assent proposals 417\n  assent proposals 4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1\n  assent allow ID --rule --proposal 2",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, r, err := a.found(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err := b.proposals(cmd.Context(), r.ID)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(p)
			}
			if len(p.Proposals) == 0 {
				fmt.Fprintln(a.out, "No rule can be made of this request:", readable(p.Reason))
				return nil
			}
			for i := range p.Proposals {
				fmt.Fprintln(a.out, terminal.ProposalText(i+1, &p.Proposals[i]))
			}
			fmt.Fprintf(a.out, "To save one, and allow the request if it waits: assent allow %s --rule (or --grant 15m, --times 3)\n", show.Line(r.ID))
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "the API's JSON")
	return c
}
