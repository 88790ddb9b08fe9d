package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/setup/doctor"
	"assent/internal/store/stream"
	"assent/internal/text/show"
)

// windowsTime bounds making the windows, and checkTime a check.
const (
	windowsTime = time.Minute
	checkTime   = 2 * time.Minute
)

func (a *app) natsAccountsCmd() *cobra.Command {
	var dir, servers string
	c := &cobra.Command{
		Use:   "nats-accounts",
		Short: "Write accounts and permissions for a NATS cluster of your own",
		Long: `Write the files that separate the events, the record and the readers of events on a NATS cluster
of your own: accounts.conf for each nats-server, and for each user a file with the addresses and a
password, for --nats-url, --record-url and readers. Each run makes new passwords; no existing file
is overwritten.

Readers of events cannot touch the record, and cannot publish, list, change or delete anything.
Afterwards, once a broker has run, windows creates the readers' view of the events. check tries
each permitted and each forbidden operation on the cluster, and so does assent doctor
--nats-accounts DIR.`,
		Example: `  assent nats-accounts --dir cluster --servers n1:4222,n2:4222,n3:4222
  assent serve --nats-url file:cluster/assent --record-url file:cluster/record --nats-replicas 3
  assent nats-accounts windows --dir cluster --replicas 3
  assent nats-accounts check --dir cluster`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" || servers == "" {
				return usagef("say where the files go and which servers there are: --dir DIR --servers n1:4222,n2:4222,n3:4222")
			}
			files, err := stream.AccountFiles(servers, stream.NewPassword)
			if err != nil {
				return usagef("--servers: %w", err)
			}
			if err := stream.WriteAccounts(dir, files); err != nil {
				return err
			}
			fmt.Fprintf(a.out, `Written to %s, readable by you alone:
  %-14s for each nats-server: include it in its configuration, outside of any block
  %-14s for assent serve --nats-url file:…
  %-14s for assent serve --record-url file:…
  %-14s for %s nats-accounts windows --dir %s, once, when a broker has run
  %-14s for readers of events, and nobody else
`, show.Line(dir), stream.AccountsFile, stream.UserEvents, stream.UserRecord, stream.UserKeeper, typed(), show.Line(dir), stream.UserReader)
			return nil
		},
	}
	c.Flags().StringVar(&servers, "servers", "", "HOST:PORT of each nats-server, with commas between them; tls://HOST:PORT with TLS")
	c.PersistentFlags().StringVar(&dir, "dir", "", "the directory of the files")
	var replicas int
	windows := &cobra.Command{
		Use:   "windows",
		Short: "Create the readers' view of the events",
		Long: `Create HOOK_EVENTS and AGENT_EVENTS in the readers' account: mirrors of the latest events. A
broker must have run on the cluster before. Running the command again does no harm.`,
		Example: "  assent nats-accounts windows --dir cluster --replicas 3",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			urls, err := readAccounts(dir)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), windowsTime)
			defer cancel()
			return stream.MakeWindows(ctx, urls[stream.UserKeeper], replicas)
		},
	}
	windows.Flags().IntVar(&replicas, "replicas", 1, "how many servers keep each window")
	check := &cobra.Command{
		Use:   "check",
		Short: "Try each permitted and each forbidden operation on the cluster",
		Long: `Try on the cluster what each user may do, and what each must not be able to do. Nothing is
changed. Exits 1 if one of the results is wrong.`,
		Example: "  assent nats-accounts check --dir cluster\n  assent nats-accounts check --dir cluster --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, err := checkAccounts(cmd.Context(), dir)
			if err != nil {
				return err
			}
			return a.printAccountFindings(findings)
		},
	}
	check.Flags().BoolVar(&a.json, "json", false, "print JSON: user, what, may, ok, problem")
	c.AddCommand(windows, check)
	return c
}

func readAccounts(dir string) (map[string]string, error) {
	if dir == "" {
		return nil, usagef("say where the files are that assent nats-accounts wrote: --dir DIR")
	}
	return stream.ReadAccounts(dir)
}

func checkAccounts(ctx context.Context, dir string) ([]stream.AccountFinding, error) {
	urls, err := readAccounts(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return stream.CheckAccounts(ctx, urls), nil
}

func (a *app) printAccountFindings(findings []stream.AccountFinding) error {
	wrong := 0
	for _, f := range findings {
		if !f.OK {
			wrong++
		}
	}
	if a.json {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintln(a.out, accountLine(f))
		}
	}
	if wrong > 0 {
		return errors.New("the accounts are not as they should be; docs/nats.md says how")
	}
	return nil
}

func accountLine(f stream.AccountFinding) string {
	may := "may not"
	if f.May {
		may = "may"
	}
	line := fmt.Sprintf("%s %s %s", f.User, may, f.What)
	if f.OK {
		return "ok     " + line
	}
	return "WRONG  " + line + ": " + show.Line(f.Problem)
}

// accountFindings is the same for assent doctor.
func accountFindings(ctx context.Context, dir string) (list []doctor.Finding) {
	findings, err := checkAccounts(ctx, dir)
	if err != nil {
		return []doctor.Finding{{Name: "nats accounts", Status: doctor.Fail, Detail: show.Line(err.Error()), Fix: "write them with: assent nats-accounts --dir DIR --servers …"}}
	}
	for _, f := range findings {
		if !f.OK {
			list = append(list, doctor.Finding{Name: "nats accounts", Status: doctor.Fail, Detail: strings.TrimPrefix(accountLine(f), "WRONG  "), Fix: "docs/nats.md says which accounts and permissions a cluster needs"})
		}
	}
	if list == nil {
		list = []doctor.Finding{{Name: "nats accounts", Status: doctor.OK, Detail: fmt.Sprintf("%d things that users may or may not do, as they should be", len(findings))}}
	}
	return list
}
