package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude/install"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/executor"
	"assent/internal/host/hostlink"
	"assent/internal/host/optin"
	"assent/internal/setup/statedir"
	"assent/internal/text/show"
)

// hostToken is the file, beside agents.yaml, in which a host keeps its token.
const hostToken = "host.token"

const maxHostToken = 4 << 10 // bytes of it

// hostTokenMade stands behind a token that nobody put there by hand.
const hostTokenMade = "\n# made by assent agent serve; assent uninstall removes this file\n"

func (a *app) agentServeCmd() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run this machine's agents for the devices that agents.yaml accepts",
		Long: `Run the agents of this machine. The command connects to the broker, announces the agents in
agents.yaml, and starts, prompts and cancels them when a device asks for it whose key agents.yaml
accepts. It verifies each message itself, and obeys neither the broker nor its owner.

The agents ask for permission like any others: through hooks and assent mcp, at the broker. They
outlive this command: when it ends or is killed, the agents carry on, and the next assent agent
serve takes them over. Ctrl-C and SIGTERM end the command.

The token comes from ASSENT_TOKEN, or from host.token beside agents.yaml. For the broker of this
state directory, a token is created if there is none. Its role is host: it can neither approve
requests nor send messages.`,
		Example: `  assent agent doctor && assent agent serve
  ASSENT_TOKEN=... assent agent serve --url https://box.example.net`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.agentServe(cmd, name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "what this machine is called (default its host name)")
	return c
}

func (a *app) agentServe(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	var lines sync.Mutex
	logf := func(format string, args ...any) {
		lines.Lock()
		defer lines.Unlock()
		cmd.PrintErrln("assent agent serve: " + show.Line(fmt.Sprintf(format, args...)))
	}
	file, path, err := hostFile()
	if err != nil {
		if path == "" || !executor.Working(a.sessionsDir()) {
			return err
		}
		logf("%v; until that is fixed, what works here can be cancelled, and takes no prompts", err)
		file = optin.File{}
	}
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("name of this machine: %w; say --name", err)
		}
	}
	config, info, err := a.address()
	if err != nil {
		return err
	}
	token, err := a.hostToken(ctx, filepath.Join(filepath.Dir(path), hostToken), name)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	surroundings := a.agentSurroundings()
	host, err := executor.Open(executor.Config{
		Dir: a.sessionsDir(), Home: surroundings.Home, Version: version(), Environ: os.Environ(),
		File:     func() (optin.File, error) { f, _, err := agentsFile(); return f, err },
		Look:     surroundings.Look,
		Again:    surroundings.Again,
		Ask:      surroundings.Version,
		Settings: func(agent optin.Agent) ([]byte, error) { return a.hostHooks(agent, info.Socket) },
		MCP: func() ([]byte, error) {
			return a.mcpConfig(mcpFlags{socket: info.Socket, timeout: hostPatience}, a.url)
		},
		Changed: func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
		Logf: logf,
	})
	if errors.Is(err, executor.ErrRuns) {
		return fmt.Errorf("%w, in %s; end that one first", err, a.sessionsDir())
	}
	if err != nil {
		return err
	}
	id, err := statedir.ID(filepath.Join(a.sessionsDir(), "host-id"), 16, "this host") // nobody else has the directory now
	if err == nil {
		id, err = hostlink.Identity(name, id)
	}
	if err != nil {
		return errors.Join(err, host.Close())
	}
	var names []string
	for _, agent := range file.Agents {
		names = append(names, agent.Name)
	}
	logf("offers %s on %s; connecting to %s", cmp.Or(strings.Join(names, ", "), "no agents"), name, config.URL)
	ctx, cancel := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() {
		worked <- host.Run(ctx)
		cancel() // also where another host has the directory
	}()
	find := func() (string, *tls.Config, error) {
		now, _, err := a.address()
		return now.URL, now.TLS, err
	}
	err = hostlink.Run(ctx, hostlink.Config{
		Find: find, URL: config.URL, Token: token, TLS: config.TLS, Proxy: config.Proxy, Name: name, ID: id, Version: version(), Executor: host,
		Accept:  func() ([]string, error) { f, _, err := agentsFile(); return f.Accept, err },
		Changed: changed, Logf: logf,
	})
	cancel()
	ended := <-worked
	err2 := host.Close()
	if errors.Is(ended, executor.ErrRuns) {
		return errors.Join(ended, err2)
	}
	if refused := (*hostlink.RefusedError)(nil); errors.As(err, &refused) {
		return &exitError{exitRefused, errors.Join(err, err2)}
	}
	logf("ended; agents that run go on")
	return err2
}

// hostPatience is how long the prompt tool of an agent waits for an answer.
const hostPatience = 24 * time.Hour

// hostToken is the token of this host: that of the environment or of the file, or a new one of the broker
// here.
func (a *app) hostToken(ctx context.Context, path, name string) (string, error) {
	if token := strings.TrimSpace(os.Getenv("ASSENT_TOKEN")); token != "" {
		return token, nil
	}
	text, err := optin.Own(path, maxHostToken)
	if token := strings.TrimSpace(strings.TrimSuffix(string(text), hostTokenMade)); err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if a.url != "" {
		return "", fmt.Errorf("no token: make one there (assent token create --role host --name %s) and put it into %s, chmod 600, or into ASSENT_TOKEN", show.Line(name), path)
	}
	b, err := a.broker()
	if err != nil {
		return "", err
	}
	var made api.CreatedToken
	if err := b.call(ctx, "POST", "/v1/tokens", api.NewToken{Role: "host", Name: cmp.Or(name, "host")}, &made); err != nil {
		return "", fmt.Errorf("make a token for this host: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(made.Secret + hostTokenMade)
	return made.Secret, errors.Join(err, f.Close())
}

// hostHooks are the settings with which an agent gets the hooks that are not installed; nil: they are.
func (a *app) hostHooks(agent optin.Agent, socket string) ([]byte, error) {
	for _, s := range install.Survey(install.Options{Home: a.agentSurroundings().Home}, agent.Project, "") {
		if rel, err := filepath.Rel(agent.Project, s.Path); agent.Worktree && err == nil && filepath.IsLocal(rel) {
			continue // the work tree holds what was committed of it, if anything
		}
		if slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.Ours && h.Event == hook.EventPermissionRequest }) {
			return nil, nil
		}
	}
	command, err := a.hookCommand(installFlags{socket: socket, url: a.url})
	if err != nil {
		return nil, err
	}
	return install.Apart(install.Options{Command: command, Versions: []string{optin.Started}}, "", nil)
}
