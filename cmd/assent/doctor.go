package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/setup/doctor"
	"assent/internal/text/show"
)

func (a *app) doctorCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, what is broken, and how to fix it",
		Long: `Look at the broker, its socket, its rules, whom it rings, the Claude Codes on this machine, the hooks in their settings
(yours, and those of the project in the current directory), and the permission mode. Changes
nothing. Exits 1 when something is broken. With --url it looks at that broker, and at the
settings here.`,
		Example: "  assent doctor\n  assent doctor --json\n  assent doctor --url https://box.example.net",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := doctor.Examine(cmd.Context(), a.doctorConfig())
			if a.json {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				for _, f := range findings {
					fmt.Fprintf(a.out, "%-4s  %-14s %s\n", f.Status, f.Name, show.Line(f.Detail))
					if f.Fix != "" {
						fmt.Fprintf(a.out, "      %-14s → %s\n", "", show.Line(f.Fix))
					}
				}
			}
			if doctor.Broken(findings) {
				return errors.New("something is broken; see above")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: name, status (ok, warn, fail), detail, fix")
	return c
}

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
		Refused: func(err error) bool {
			var p *api.Problem
			return errors.As(err, &p) && p.Status == http.StatusForbidden
		},
		RuleProblem: ruleTrouble,
		Service:     a.serviceStatus,
	}
}
