package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/install"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/host/gitrepo"
	"assent/internal/host/optin"
	"assent/internal/text/show"
)

func (a *app) agentExampleCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "example [NAME]",
		Short: "Print an agents.yaml for the project in this directory",
		Long: `Print an agents.yaml with one agent, called coder or NAME. Its project is the git work tree around
the current directory, or else that directory; its program is the installed Claude Code; and the
paired devices may start it. Nothing is changed. Look at the text, remove the devices that should
not start agents, and save it as agents.yaml.`,
		Example: "  cd ~/app && (umask 077; assent agent example > ~/.config/assent/agents.yaml)\n  assent agent doctor",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("want one NAME at most")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := optin.Agent{Name: "coder"}
			if len(args) > 0 {
				agent.Name = args[0]
			}
			if !optin.ValidName(agent.Name) {
				return fmt.Errorf("%s is no name of an agent; want up to 63 of a-z, 0-9, - and _, such as coder", show.Line(agent.Name))
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			agent.Project = dir
			if root := gitrepo.Find(dir).Root; root != "" {
				agent.Project, agent.Worktree = root, true
			}
			home := a.agentSurroundings().Home
			if agent.Project == home || agent.Project == "/" {
				return fmt.Errorf("%s is no project; change into the directory that the agent is to work in", show.Line(agent.Project))
			}
			if agent.CLI, err = agentProgram(cmd.Context(), home); err != nil {
				return err
			}
			devices, err := a.operators(cmd.Context())
			if err != nil {
				fmt.Fprintf(a.err, "note: which devices are paired is not known, so accept is empty: %v\n", err)
			}
			fmt.Fprint(a.out, optin.Example(agent, devices))
			return nil
		},
	}
	return c
}

// agentProgram is the first Claude Code of the search path that is new enough.
func agentProgram(ctx context.Context, home string) (string, error) {
	var old []string
	for _, c := range install.Clients(ctx, os.Getenv("PATH"), home) {
		if c.Err == nil && !install.Older(c.Version, optin.Started) {
			return c.Path, nil
		}
		if c.Err == nil {
			old = append(old, c.Path+" is "+c.Version)
		}
	}
	if len(old) > 0 {
		return "", fmt.Errorf("agents need Claude Code %s or newer, and %s: update it", optin.Started, show.Line(strings.Join(old, ", ")))
	}
	return "", fmt.Errorf("there is no claude on PATH; agents need Claude Code %s or newer", optin.Started)
}

// operators are the paired devices that may start agents.
func (a *app) operators(ctx context.Context) (found []optin.Device, err error) {
	b, err := a.broker()
	if err != nil {
		return nil, err
	}
	var all []api.Device
	if err := b.call(ctx, "GET", "/v1/devices", nil, &all); err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.Role.Includes(auth.RoleOperate) && d.Thumbprint != "" {
			found = append(found, optin.Device{Name: d.Name, Thumbprint: d.Thumbprint})
		}
	}
	return found, nil
}
