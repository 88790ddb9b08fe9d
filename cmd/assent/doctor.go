package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/setup/doctor"
	"assent/internal/setup/hookconf"
	"assent/internal/setup/joined"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) doctorCmd() *cobra.Command {
	accounts := ""
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the setup and suggest fixes",
		Long: `Check the broker with its socket, rules, notifications and way to the phone; each Claude Code on
this machine, the hooks in its settings (yours, and those of the project in the current directory)
and its permission mode; the other agents; and whether commands can be contained. Each problem is
printed with its fix. Nothing is changed.

With --url, the broker at that address is checked, together with the settings on this machine. On
a machine that joined a broker elsewhere (assent join), that broker is checked.

Exits 3 if no broker can be reached, and 1 if something else is broken.`,
		Example: "  assent doctor\n  assent doctor --json\n  assent doctor --url https://box.example.net",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, unreachable := doctor.Examine(cmd.Context(), a.whereJoined().doctorConfig())
			if accounts != "" {
				findings = append(findings, accountFindings(cmd.Context(), accounts)...)
			}
			if a.json {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			switch {
			case unreachable:
				return noBroker(errors.New("no broker can be reached; see above"))
			case doctor.Broken(findings):
				return errors.New("something is broken; see above")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: name, status (ok, warn, danger, fail), detail, fix")
	c.Flags().StringVar(&accounts, "nats-accounts", "", "also check the accounts of NATS in this directory, see assent nats-accounts")
	return c
}

// whereJoined is a for the broker that this machine joined, if it joined one and none runs here.
func (a *app) whereJoined() *app {
	if _, err := a.runtime(); a.url != "" || err == nil {
		return a
	}
	j, err := joined.Load(a.stateDir)
	if err != nil || j.URL == "" {
		return a
	}
	far, dir := *a, configDir(os.Getenv)
	far.url = j.URL
	if _, err := os.Stat(joined.CAFile(dir)); err == nil {
		far.caCert = joined.CAFile(dir)
	}
	far.credential, _ = hookconf.Get(hookconf.Path(dir), "token") // without it the doctor says so
	return &far
}

// printFindings prints a line for each, and one for what would help.
func (a *app) printFindings(findings []doctor.Finding) {
	palette, width := a.palette(), columns(a.out)
	for _, f := range findings {
		sign, role := "✓", terminal.Calm
		switch f.Status {
		case doctor.Warn:
			sign, role = "!", terminal.Attention
		case doctor.Danger:
			sign, role = "!", terminal.Danger
		case doctor.Fail:
			sign, role = "✗", terminal.Danger
		}
		lines := []string{fmt.Sprintf("%s  %-14s %s", role.On(fmt.Sprintf("%s %-4s", sign, f.Status)), f.Name, callable(show.Line(f.Detail)))}
		if f.Fix != "" {
			lines = append(lines, strings.Repeat(" ", findingMargin)+terminal.Strong.On("→ "+callable(show.Line(f.Fix))))
		}
		for _, line := range lines {
			for _, row := range terminal.Wrap(line, width, findingMargin) {
				fmt.Fprintln(a.out, palette.Paint(row))
			}
		}
	}
}

// findingMargin is behind the name of a finding.
const findingMargin = 23

// doctorConfig is how the doctor finds the broker and speaks to it.
func (a *app) doctorConfig() doctor.Config {
	return doctor.Config{
		StateDir: a.stateDir, URL: a.url, Env: os.Getenv,
		Where: func() (dir, root string, err error) {
			w, err := here()
			return w.cwd, w.root, err
		},
		Runtime: func() (doctor.Broker, error) {
			info, err := a.runtime()
			return doctor.Broker{PID: info.PID, URL: info.HTTPURL, Socket: info.Socket, Version: info.Version}, err
		},
		Connect: func() (func(context.Context) (int, error), error) {
			c, err := a.reach()
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (int, error) { return c.Status(ctx, "/readyz") }, nil
		},
		Credential: func() error {
			_, err := a.broker()
			return err
		},
		Call: func(ctx context.Context, path string, out any) error {
			c, err := a.broker()
			if err != nil {
				return err
			}
			return c.call(ctx, "GET", path, nil, out)
		},
		NoBroker: func(err error) bool {
			var exit *exitError
			var away *api.UnreachableError
			return errors.As(err, &away) || errors.As(err, &exit) && exit.code == exitNoBroker
		},
		Refused: func(err error) bool {
			var p *api.Problem
			return errors.As(err, &p) && p.Status == http.StatusForbidden
		},
		RuleProblem: ruleTrouble,
		Contain:     containProgram,
		Phone:       a.phoneState,
		Service:     a.serviceStatus,
	}
}
