package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) healthCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 if the broker is ready, else with 1",
		Long: `Ask the broker whether it can take requests now. Exits 0 if it is ready, and 1 if it is not ready
or cannot be reached. For health checks of containers and monitors, where no shell and no other
program is available. For people, assent doctor says more.`,
		Example: "  assent health\n  assent --url https://box.example health",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.health(cmd.Context()); err != nil {
				return &exitError{exitFailed, err} // Docker knows no other code
			}
			fmt.Fprintln(a.out, "ready")
			a.warnOfHalt(cmd.Context())
			a.warnOfRules(cmd.Context())
			a.warnOfTree(cmd.Context())
			return nil
		},
	}
}

// health is nil if the broker says that it is ready. It needs no credential.
func (a *app) health(ctx context.Context) error {
	c, err := a.reach()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	switch status, err := c.Status(ctx, "/readyz"); {
	case err != nil:
		return err
	case status == http.StatusServiceUnavailable:
		return errors.New("the broker runs but is not ready; its log says why: the disk may be full, or the NATS server away")
	case status != http.StatusNoContent:
		return fmt.Errorf("the broker at %s answers with %d %s", c.info.HTTPURL, status, http.StatusText(status))
	}
	return nil
}
