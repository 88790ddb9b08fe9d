package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/api"
	"assent/internal/audit"
	"assent/internal/audit/backup"
	"assent/internal/hook"
	"assent/internal/host/wholefile"
	"assent/internal/store/stream"
	"assent/internal/text/show"
)

func (a *app) auditCheckpointCmd() *cobra.Command {
	var key bool
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Show the newest signed checkpoint of the record",
		Long: `Show the newest checkpoint: a signed note (C2SP tlog-checkpoint) that covers the whole record up
to that point, including what no checkpoint covered before. Keep checkpoints somewhere else, in a
file or a git repository: then nobody, not even whoever runs the broker, can change, remove or
insert an earlier entry without being noticed. --key shows the public key that verifies
checkpoints; save the key on the day the broker is set up.`,
		Example: "  assent audit checkpoint >> kept.txt\n  assent audit checkpoint --key > broker.pub",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			c, err := b.checkpoint(cmd.Context(), 0)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(c)
			case key:
				fmt.Fprintln(a.out, show.Line(c.Key))
				return nil
			}
			fmt.Fprint(a.out, show.Text(c.Note))
			return stoppedTree(c)
		},
	}
	c.Flags().BoolVar(&key, "key", false, "print the broker's public key instead")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// stoppedTree is the error of a tree that takes nothing more.
func stoppedTree(c api.Checkpoint) error {
	if c.Stopped == "" {
		return nil
	}
	return fmt.Errorf("nothing is added to the tree any more: %s", show.Line(c.Stopped))
}

// checkpoint asks for the newest checkpoint, with the proof that it continues the tree of a size.
func (c *client) checkpoint(ctx context.Context, from int64) (got api.Checkpoint, err error) {
	path := "/v1/audit/checkpoint"
	if from > 0 {
		path += fmt.Sprintf("?from=%d", from)
	}
	return got, c.call(ctx, "GET", path, nil, &got)
}

func (a *app) auditProveCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "prove NUMBER|ID",
		Short: "Write the proof of one request",
		Long: `Write what was recorded about one request, as lines of JSON, with the proof that a signed checkpoint
covers it. Anybody who has the broker's public key can verify the proof with assent audit verify,
without a broker. A message to an agent is named msg- and its id. Entries without a proof are named
in it: those from before the tree began, and those that no checkpoint covers yet. After an error
nothing has been written.`,
		Example: "  assent audit prove 417 > proof.jsonl\n  assent audit verify proof.jsonl --key broker.pub",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.broker()
			if err != nil {
				return err
			}
			id, err := args[0], error(nil)
			if _, ok := hook.MessageOfRecord(id); !ok {
				id, err = b.anyRequest(cmd.Context(), id)
			}
			if err != nil {
				return err
			}
			body, err := b.lines(cmd.Context(), "/v1/requests/"+url.PathEscape(id)+"/proof")
			if err != nil {
				return err
			}
			defer body.Close()
			proof, err := readUpTo(body, maxProof) // all of it first: half would be taken for a proof
			if err != nil {
				return fmt.Errorf("read the broker's answer: %w; try again", err)
			}
			_, err = a.out.Write(proof)
			return err
		},
	}
}

// maxProof bounds the proof of one request, in bytes: it has the input that was asked for, and the one that was allowed.
const maxProof = 64 << 20

// copyLines copies an answer that is as long as it is.
func (a *app) copyLines(ctx context.Context, b *client, path string, to io.Writer) error {
	body, err := b.lines(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(to, body); err != nil {
		return fmt.Errorf("read the broker's answer: %w; try again", err)
	}
	return nil
}

func (a *app) auditExportCmd() *cobra.Command {
	since, output := "", ""
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the record with its proofs",
		Long: `Write the record as lines of JSON, all of it or from a time on, with the signed checkpoints that
prove it: every request with its input, who decided with which key, and when the answer was
delivered. The file shows what agents wanted to do, so keep it just as secret. assent audit verify
verifies it on any machine.`,
		Example: "  assent audit export --output record.jsonl\n  assent audit export --since 30d > november.jsonl",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/v1/audit/export"
			if since != "" {
				ago, err := longDuration(since)
				if err != nil {
					return usagef("--since %s: want a time that has passed, such as 24h or 30d", since)
				}
				path += "?since=" + url.QueryEscape(time.Now().Add(-ago).UTC().Format(time.RFC3339))
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			if output == "" {
				return a.copyLines(cmd.Context(), b, path, a.out)
			}
			return wholefile.Replace(output, nil, func(f *os.File) error { return a.copyLines(cmd.Context(), b, path, f) })
		},
	}
	c.Flags().StringVar(&since, "since", "", "how far back; all of it by default")
	c.Flags().StringVarP(&output, "output", "o", "", "write this file once the export is complete, readable by you only")
	return c
}

// howToVerify is for who has not said what to verify, and with which key.
const howToVerify = "want the file to verify and the broker's public key. Where the broker runs: assent audit export --output record.jsonl, assent audit checkpoint --key > broker.pub; then: assent audit verify record.jsonl --key broker.pub"

func (a *app) auditVerifyCmd() *cobra.Command {
	var keys, kept, rulesKeys, revoked []string
	var skew time.Duration
	c := &cobra.Command{
		Use:   "verify FILE|DIR",
		Short: "Verify an export, a proof or a backup, without a broker",
		Long: `Verify a file that assent audit export or prove wrote, with nothing but the broker's public key:
that nothing was changed, left out or put in; that each device's signature fits and dates from the
time when its request waited; and that the file continues the checkpoints that were kept
elsewhere. FILE - is standard input; a state directory in which no broker runs, such as an unpacked
backup, is verified as its export would be, and not changed. --key is a key, or a file with one key
on each line; --kept is a file of checkpoints.

Anybody who writes rules can sign them with a key of their own. So an answer by signed rules counts
as signed only if --trust-rules names that key, and rules signed by any other key are then reported
as wrong. Without --trust-rules the report lists the keys as not named. Exits 1 if anything is
wrong, and says what, where, and what to do.

That a device was removed stands in the record, and with it where: what its key signed behind that is
reported. A broker refuses such signatures, but whoever has both the device and the broker could
record them. --revoked names a key and since when, where the record does not say it: the key was
lost before the device was removed, an earlier version of assent removed it, or the export begins
behind that.`,
		Example: "  assent audit export --output record.jsonl && assent audit checkpoint --key > broker.pub\n  assent audit verify record.jsonl --key broker.pub\n  assent audit verify record.jsonl --key broker.pub --trust-rules device:9cXw01bTq3PzQ0o1yR8d0mVb7n3cE5gH2iJ4kL6mN8a\n  assent audit verify record.jsonl --key broker.pub --kept kept.txt --json\n  assent audit verify assent-state/assent --key broker.pub --kept kept.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New(howToVerify)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(keys) == 0 {
				return usagef(howToVerify)
			}
			if skew < time.Second {
				return usagef("want --skew of a second or more, such as 5m")
			}
			opts := audit.VerifyOptions{Decode: stream.DecodeEntry, Skew: skew}
			var err error
			if opts.Keys, err = audit.ReadKeys(keys); err != nil {
				return err
			}
			if opts.TrustRules, err = keysSince("--trust-rules", rulesKeys); err != nil {
				return err
			}
			if opts.Revoked, err = keysSince("--revoked", revoked); err != nil {
				return err
			}
			for _, path := range kept {
				more, err := audit.ReadKept(path, opts.Keys)
				if err != nil {
					return err
				}
				opts.Kept = append(opts.Kept, more...)
			}
			rep, err := verifyNamed(cmd.Context(), args[0], opts)
			if err != nil {
				return err
			}
			if a.json {
				if err := a.printJSON(rep); err != nil {
					return err
				}
			} else {
				a.printVerified(&rep)
			}
			if !rep.OK() {
				return &exitError{exitFailed, fmt.Errorf("%s is not proved", args[0])}
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&keys, "key", nil, "a public key of the broker, or a file of them; may be repeated")
	c.Flags().StringArrayVar(&kept, "kept", nil, "a file of checkpoints that were kept elsewhere; may be repeated")
	c.Flags().StringArrayVar(&rulesKeys, "trust-rules", nil, "whose signature of rules counts: device:KEY as assent rules key prints it, optionally followed by since and a time; may be repeated (default: nobody's)")
	c.Flags().StringArrayVar(&revoked, "revoked", nil, "whose signature no longer counts, such as a lost phone's: device:KEY since TIME, as in hook.conf; may be repeated")
	c.Flags().DurationVar(&skew, "skew", audit.Skew, "how far the clocks of brokers and devices may have differed")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// verifyNamed verifies what a person named: an export, a proof, standard input or a directory.
func verifyNamed(ctx context.Context, name string, opts audit.VerifyOptions) (rep audit.Report, err error) {
	in := os.Stdin
	if fi, err := os.Stat(name); err == nil && fi.IsDir() {
		return backup.Verify(ctx, name, opts)
	}
	if name != "-" {
		if in, err = os.Open(name); err != nil {
			return rep, fmt.Errorf("%w; write one with: assent audit export --output %s", err, name)
		}
		defer in.Close()
	}
	if rep, err = audit.VerifyLines(in, opts); err != nil {
		return rep, fmt.Errorf("read %s: %w", name, err)
	}
	return rep, nil
}

func (a *app) printVerified(rep *audit.Report) {
	fmt.Fprintf(a.out, "Tree %s, leaves verified: %d, entries of the record: %d, decisions: %d, of them signed by a device: %d, by rules that a key signed which you named: %d\n", show.Line(rep.Origin),
		rep.Leaves, rep.Entries, rep.Decisions, rep.Signed, rep.SignedRules)
	if rep.Messages > 0 {
		fmt.Fprintf(a.out, "Messages to agents: %d, of them signed by a device: %d\n", rep.Messages, rep.MessagesSigned)
	}
	a.printRulesKeys(rep)
	a.printRevokedKeys(rep)
	if rep.From > 0 {
		fmt.Fprintf(a.out, "It begins at leaf %d: what stands before is not in it.\n", rep.From)
	}
	if n := rep.Forgotten + rep.Aged + rep.Gone; n > 0 {
		fmt.Fprintf(a.out, "Not there any more: %d forgotten, %d too old, %d gone before the tree came to them\n", rep.Forgotten, rep.Aged, rep.Gone)
	}
	if rep.Checkpoints > 0 {
		fmt.Fprintf(a.out, "Checkpoints: %d; the newest of %s has %d leaves, root %s\n", rep.Checkpoints, rep.Time.Local().Format(time.DateTime), rep.Size, rep.Root)
	}
	for _, u := range rep.Unproved {
		a.tell(fmt.Sprintf("Not proved: entry %d of the record: %s", u.Seq, unprovedWords(u)))
	}
	switch {
	case rep.OK() && rep.Proof:
		fmt.Fprintln(a.out, "Verified: of the entries that are proved, nothing was changed or put in. That none is left out, only an export proves.")
		return
	case rep.OK():
		fmt.Fprintln(a.out, "Verified: nothing was changed, left out or put in.")
		return
	}
	for _, f := range rep.Findings {
		where := fmt.Sprintf("line %d", f.Line)
		if f.Leaf != nil {
			where += fmt.Sprintf(", leaf %d", *f.Leaf)
		}
		if f.Seq != 0 {
			where += fmt.Sprintf(", entry %d", f.Seq)
		}
		if f.Request != "" {
			where += ", request " + show.Line(f.Request)
		}
		fmt.Fprintf(a.out, "WRONG  %s: %s\n       Do: %s\n", where, show.Line(f.What), f.Do)
	}
	if rep.More > 0 {
		fmt.Fprintf(a.out, "and %d more\n", rep.More)
	}
}

// printRulesKeys says who signed the rules that answered.
func (a *app) printRulesKeys(rep *audit.Report) {
	for _, k := range rep.RulesKeys {
		not := ""
		if !k.Named {
			not = ", which you did not name (--trust-rules, if you know whose it is)"
		}
		a.tell(show.Count(int(k.Answers), "decision") + " by rules signed with device:" + k.Key + not)
	}
	if rep.RulesOver > 0 {
		a.tell(show.Count(int(rep.RulesOver), "decision") + " by rules whose signature counted no more")
	}
}

// printRevokedKeys says which keys the record has as revoked.
func (a *app) printRevokedKeys(rep *audit.Report) {
	for _, k := range rep.RevokedKeys {
		text := "Revoked: device:" + k.Key + ", " + k.Time.Local().Format(time.DateTime) + fmt.Sprintf(", entry %d", k.Seq)
		if k.By != "" {
			text += ": " + k.Device + ", by " + k.By
		}
		a.tell(text)
	}
}

// keysSince reads the values of a flag, each a key and since when.
func keysSince(flag string, values []string) (map[string]time.Time, error) {
	keys := map[string]time.Time{}
	for _, value := range values {
		t, err := hookclient.ReadTrustedRules(value)
		if err != nil {
			if flag == "--revoked" {
				err = errors.New("want a key as assent device list prints it, and since when it counts no more, such as 'device:UOAy… since 2026-11-29T10:00:00Z'")
			}
			return nil, usagef("%s %s: %w", flag, value, err)
		}
		keys[t.Thumbprint] = t.Since
	}
	return keys, nil
}
