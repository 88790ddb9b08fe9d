package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/host/executor"
	"assent/internal/host/optin"
	"assent/internal/setup/doctor"
	"assent/internal/text/show"
)

func (a *app) agentCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "agent",
		Short: "List the agents of hosts, start sessions, send prompts, cancel",
		Long: `Work with agents on a host, a machine that runs assent agent serve: list the agents, start
sessions, send prompts, and cancel what a session is doing. On the host itself, example, doctor,
accept and serve set the agents up. The agents that may be started there are listed in
agents.yaml, beside assent's other configuration files; without that file nothing can be started.`,
		Example: "  assent agent list\n  assent agent start coder 'fix the flaky test'\n  assent agent doctor",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	c.AddCommand(a.agentExampleCmd(), a.agentDoctorCmd(), a.agentAcceptCmd(), a.agentServeCmd())
	c.AddCommand(a.agentListCmd(), a.agentStartCmd(), a.agentPromptCmd(), a.agentResumeCmd(), a.agentCancelCmd(), a.agentHandoverCmd(), a.agentAttachCmd(), a.agentKeyCmd())
	return c
}

func (a *app) agentDoctorCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check agents.yaml and each agent in it",
		Long: `Check agents.yaml, and for each agent in it: whether anybody else can write to its project or
replace its program, whether what the project brings for Claude Code was accepted in its present
form, and whether settings keep Claude Code from asking. Nothing is changed. Exits 1 if the file
cannot be used or an agent would not be started.`,
		Example: "  assent agent doctor\n  assent agent doctor --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examineAgents(cmd)
			if a.json {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			if doctor.Broken(findings) {
				return errors.New("not all agents could be started; see above")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: name, status (ok, warn, fail), detail, fix")
	return c
}

// examineAgents makes a finding of each thing that was looked at. Their names are agents.yaml, or that of
// the agent and of what was looked at.
func (a *app) examineAgents(cmd *cobra.Command) []doctor.Finding {
	const name = "agents.yaml"
	file, path, err := agentsFile()
	var mistakes *optin.Mistakes
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []doctor.Finding{{Name: name, Status: doctor.OK, Detail: "there is no " + path + ", so no agent can be started here", Fix: "to allow some: assent agent example, and docs/hosts.md"}}
	case errors.As(err, &mistakes):
		var all []doctor.Finding
		for _, p := range mistakes.Problems {
			all = append(all, doctor.Finding{Name: name, Status: doctor.Fail, Detail: fmt.Sprintf("%s:%d:%d: %s", path, p.Line, p.Column, p.Message), Fix: "correct it; nothing of the file counts before"})
		}
		return all
	case err != nil:
		return []doctor.Finding{{Name: name, Status: doctor.Fail, Detail: err.Error(), Fix: "only a file that is yours alone is read"}}
	}
	all := []doctor.Finding{{Name: name, Status: doctor.OK, Detail: path + ": " + show.Count(len(file.Agents), "agent")}}
	if len(file.Accept) == 0 {
		all = append(all, doctor.Finding{Name: "accept", Status: doctor.Warn, Detail: "agents.yaml accepts no device, so nobody can start these agents", Fix: "add accept: [device:…]; assent device list prints that for each device, of which the role has to be operate or admin"})
	}
	for _, agent := range file.Agents {
		around := a.agentSurroundings()
		found := around.Look(cmd.Context(), agent)
		if optin.Startable(found) {
			found = append(found, around.Login(cmd.Context(), agent, executor.OwnEnv(os.Environ())))
		}
		for _, f := range found {
			status := doctor.OK
			switch {
			case f.Refused:
				status = doctor.Fail
			case f.Warning:
				status = doctor.Warn
			}
			all = append(all, doctor.Finding{Name: agent.Name + " " + f.Name, Status: status, Detail: f.Detail, Fix: f.Fix})
		}
	}
	return all
}

func (a *app) agentAcceptCmd() *cobra.Command {
	seen := ""
	c := &cobra.Command{
		Use:   "accept AGENT",
		Short: "Accept what an agent's project brings for Claude Code",
		Long: `Show what an agent's project brings for Claude Code: everything in .claude, and .mcp.json, in the
project and in those directories above it that count. Claude Code started without a terminal does
not ask whether to trust a project, so no agent is started before you have accepted these files.
Look at them, then run the printed command: it accepts the files exactly as they were shown. When
one of them changes, they have to be accepted again.`,
		Example: "  assent agent accept coder\n  assent agent accept coder --seen 5f0c2a...",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want the name of an AGENT; see assent agent doctor")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			agent, err := agentNamed(args[0])
			if err != nil {
				return err
			}
			b, err := optin.Bring(agent.Project, a.agentSurroundings().Home)
			if err != nil {
				return fmt.Errorf("%w; only what was looked at can be accepted", err)
			}
			accepted := a.agentSurroundings().Accepted
			ok, err := accepted.Has(agent.Project, b)
			if err != nil {
				return err
			}
			report := acceptance{Agent: agent.Name, Project: agent.Project, Files: append([]string{}, b.Files...), Settings: append([]string{}, b.Says...), Digest: b.Digest, Accepted: ok}
			switch {
			case ok || seen == "": // nothing to do, or to be shown only
			case seen != b.Digest:
				return fmt.Errorf("what %s brings is not what --seen was given for: look again (assent agent accept %s)", show.Line(agent.Project), agent.Name)
			default:
				if err := accepted.Add(agent.Project, b, time.Now()); err != nil {
					return err
				}
				report.Accepted = true
			}
			if a.json {
				return a.printJSON(report)
			}
			report.print(a)
			return nil
		},
	}
	c.Flags().StringVar(&seen, "seen", "", "accept the files that were shown with this digest, if they are unchanged")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: agent, project, files, settings, digest, accepted")
	return c
}

// acceptance is what assent agent accept prints. Digest is empty where there is nothing to accept.
type acceptance struct {
	Agent    string   `json:"agent"`
	Project  string   `json:"project"`
	Files    []string `json:"files"`    // relative to the project
	Settings []string `json:"settings"` // what settings say of hooks and permissions, and which others there are, a line each
	Digest   string   `json:"digest"`
	Accepted bool     `json:"accepted"`
}

func (r acceptance) print(a *app) {
	if r.Digest == "" {
		fmt.Fprintf(a.out, "%s has no settings for Claude Code; there is nothing to accept.\n", show.Line(r.Project))
		return
	}
	fmt.Fprintf(a.out, "%s brings for Claude Code:\n", show.Line(r.Project))
	for _, name := range r.Files {
		fmt.Fprintf(a.out, "  %s\n", show.Line(name))
	}
	if len(r.Settings) > 0 {
		fmt.Fprintln(a.out, "\nIts settings say:")
		for _, line := range r.Settings {
			fmt.Fprintf(a.out, "  %s\n", show.Line(line))
		}
	}
	if r.Accepted {
		fmt.Fprintln(a.out, "\nAccepted, as it is now.")
		return
	}
	fmt.Fprintf(a.out, "\nNothing is accepted yet. Look at these files; to accept them as they are:\n  assent agent accept %s --seen %s\n", r.Agent, r.Digest)
}

// agentsFile reads the agents of this machine; path is where they stand.
func agentsFile() (file optin.File, path string, err error) {
	dir := configDir(os.Getenv)
	if dir == "" {
		return file, "", errors.New("there is no home directory, and so no place for agents.yaml: set HOME")
	}
	path = filepath.Join(dir, "agents.yaml")
	file, err = optin.Read(path)
	return file, path, err
}

func agentNamed(name string) (optin.Agent, error) {
	file, path, err := agentsFile()
	if errors.Is(err, fs.ErrNotExist) {
		return optin.Agent{}, fmt.Errorf("there is no %s, so there are no agents here; see docs/hosts.md", show.Line(path))
	}
	if err != nil {
		return optin.Agent{}, err
	}
	var names []string
	for _, agent := range file.Agents {
		if agent.Name == name {
			return agent, nil
		}
		names = append(names, agent.Name)
	}
	return optin.Agent{}, fmt.Errorf("no agent %s in %s; there are: %s", show.Line(name), show.Line(path), strings.Join(names, ", "))
}

// agentSurroundings is what agents are looked at in.
func (a *app) agentSurroundings() optin.Surroundings {
	return optin.Surroundings{
		Home:       os.Getenv("HOME"),
		SearchPath: os.Getenv("PATH"),
		Accepted:   optin.Accepted{Path: filepath.Join(a.stateDir, "agents", "accepted.json")},
	}
}
