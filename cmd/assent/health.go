package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) healthCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 if the broker is ready, else with 1",
		Long: `Ask the broker of this state directory whether it can take requests now. Exits 0 when it
is ready and 1 when it is not, or is not there. For health checks of containers and monitors,
where no shell and no other program is at hand. A person learns more from assent doctor.`,
		Example: "  assent health",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, broker := a.checkBroker(cmd.Context())
			if broker.Status != "ok" {
				return errors.New("broker: " + broker.Detail)
			}
			fmt.Fprintln(a.out, "ready")
			return nil
		},
	}
}
