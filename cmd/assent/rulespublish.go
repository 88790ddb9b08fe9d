package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy/files"
	"assent/internal/policy/published"
	"assent/internal/policy/signing"
	"assent/internal/store/stream"
	"assent/internal/text/show"
)

// openPublished keeps the rules that are in force for all brokers, and says what this one follows.
func openPublished(ctx context.Context, stateDir, host string, streams *stream.Stream, logf func(string, ...any)) (*published.Store, error) {
	id, err := brokerID(stateDir)
	if err != nil {
		return nil, err
	}
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	return published.Open(ctx, published.Config{KV: streams, Self: id, Host: host, Now: streams.Now, Logf: logf})
}

// following is what others are told of which rules this broker follows.
func following(f files.Follows) hook.RulesFollowing {
	switch version := published.VersionOf(f.Published); {
	case f.File != "":
		own := hook.RulesFollowing{Follows: hook.FollowsOwn, File: f.File}
		if f.Signed != nil {
			own.SignedBy, own.SignedUntil = signed.Thumbprint(f.Signed.PublicKey), f.Signed.Until
		}
		return own
	case version > 0 || f.Problem != "":
		return hook.RulesFollowing{Follows: hook.FollowsPublished, Version: version, Problem: f.Problem}
	}
	return hook.RulesFollowing{Follows: hook.FollowsNone}
}

func (a *app) rulesPublishCmd() *cobra.Command {
	var after int
	var none bool
	signatureFrom := ""
	c := &cobra.Command{
		Use:   "publish FILE",
		Short: "Put a file of rules in force for all brokers",
		Long: `Put FILE in force as the next version of the rules for all brokers of a cluster. FILE is checked
first, with its tests, both here and by the broker. A broker that has a rules file of its own
keeps using that file; assent rules status shows which broker does so. Each answer by rule names
the version. The signature in FILE.sig, made by assent rules sign, is published too; without a
signature, hooks that require one accept no allow from these rules.

Needs the owner's token, or a token of role admin. With --after N, the new version is published
only if it follows version N, so that nobody overwrites another version unseen.`,
		Example: `  assent rules publish team.yaml
  assent rules publish team.yaml --after 7
  assent rules publish team.yaml --signed /media/usb/team.yaml.sig
  assent rules publish --none
  assent rules status`,
		Args: func(_ *cobra.Command, args []string) error {
			if want := 1; none && len(args) != 0 || !none && len(args) != want {
				return usagef("name one file of rules, or say --none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			var signature *hook.RulesSignature
			if !none {
				if _, _, err := a.loadedRules(args[0], ""); err != nil {
					return err
				}
				data, err := files.ReadNamed(args[0])
				if err != nil {
					return err
				}
				text = string(data)
				if signature, err = signing.Of(text, args[0], signatureFrom, a.in); err != nil {
					return err
				}
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("after") {
				var now api.PublishedRules
				if err := b.call(cmd.Context(), "GET", "/v1/published-rules", nil, &now); err != nil {
					return err
				}
				after = now.Version
			}
			var made api.PublishedRules
			if err := b.call(cmd.Context(), "PUT", "/v1/published-rules", api.PublishRules{Text: text, After: after, Signed: signature}, &made); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(made)
			}
			if none {
				fmt.Fprintf(a.out, "Version %d: no rules are published any more.\n", made.Version)
				return nil
			}
			fmt.Fprintf(a.out, "Version %d is published. Where it is in force: %s rules status\n", made.Version, typed())
			if made.Signed != nil {
				fmt.Fprintln(a.out, signing.Words(made.Text, made.Signed))
			}
			return nil
		},
	}
	c.Flags().IntVar(&after, "after", 0, "the version that this one follows")
	c.Flags().BoolVar(&none, "none", false, "withdraw the published rules")
	c.Flags().StringVar(&signatureFrom, "signed", "", "where the signature is, - for standard input (default: FILE.sig, if that is there)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) rulesStatusCmd() *cobra.Command {
	var version int
	c := &cobra.Command{
		Use:   "status",
		Short: "Show which version of the published rules is in force where",
		Long: `Show which version of the rules for all brokers is published, and which rules each broker uses:
the published ones, or a file of its own, which takes precedence. With --version, print the text
of that version.`,
		Example: "  assent rules status\n  assent rules status --version 7 > rules-7.yaml\n  assent rules status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			path := "/v1/published-rules"
			if version > 0 {
				path += "?version=" + strconv.Itoa(version)
			}
			var p api.PublishedRules
			if err := b.call(cmd.Context(), "GET", path, nil, &p); err != nil {
				return err
			}
			switch {
			case a.json:
				return a.printJSON(p)
			case version > 0:
				fmt.Fprint(a.out, readable(p.Text))
				if words := signing.Words(p.Text, p.Signed); words != "" {
					fmt.Fprintln(a.err, words) // apart from the text, which may go into a file
				}
				return nil
			}
			a.printPublished(&p)
			return nil
		},
	}
	c.Flags().IntVar(&version, "version", 0, "print the text of this version, one of the last 50")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) printPublished(p *api.PublishedRules) {
	switch {
	case p.Version == 0:
		fmt.Fprintln(a.out, "No rules are published. Publish some with:", typed(), "rules publish FILE")
	case p.Text == "":
		fmt.Fprintf(a.out, "No rules are published any more (version %d, by %s, %s).\n", p.Version, show.Line(p.By.Who()), p.At.Local().Format("2006-01-02 15:04"))
	default:
		fmt.Fprintf(a.out, "Version %d is published (by %s, %s).\n", p.Version, show.Line(p.By.Who()), p.At.Local().Format("2006-01-02 15:04"))
		fmt.Fprintln(a.out, signing.Words(p.Text, p.Signed))
	}
	var rows [][]string
	for _, f := range p.Brokers {
		what := map[string]string{hook.FollowsNone: "no rules for all", hook.FollowsOwn: "its own file " + shortPath(f.File)}[f.Follows]
		if f.SignedBy != "" {
			what += ", signed with device:" + f.SignedBy
			switch until, err := time.Parse(time.RFC3339, f.SignedUntil); {
			case err != nil: // always
			case time.Now().Before(until):
				what += ", until " + f.SignedUntil
			default:
				what += ", which counts no more since " + f.SignedUntil
			}
		}
		if f.Follows == hook.FollowsPublished {
			what = "version " + strconv.Itoa(f.Version)
			if f.Version == 0 {
				what = "no version"
			}
			if f.Problem != "" {
				what += "; the newer one is not usable there: " + f.Problem
			}
		}
		rows = append(rows, []string{show.Line(f.Host), show.Line(f.Broker), show.Line(what)})
	}
	a.printTable([]string{"HOST", "BROKER", "FOLLOWS"}, rows)
}
