package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/agent/acp"
	"assent/internal/agent/acp/proxy"
	"assent/internal/hook"
)

// acpFlags are the flags of assent acp.
type acpFlags struct {
	socket, owner string
	timeout       time.Duration
}

// acpCmd stands between an editor and an agent.
func (a *app) acpCmd() *cobra.Command {
	var f acpFlags
	c := &cobra.Command{
		Use:   "acp [flags] -- AGENT [ARGS...]",
		Short: "Answer the agent of an editor here too (Agent Client Protocol)",
		Long: `Start AGENT, and pass the Agent Client Protocol between the agent and the editor that started this
command, every line unchanged. What the agent asks its editor is also asked at the broker, and the
first answer counts; the editor's dialog stays open until then. In the editor's settings, put this
command before the agent's.

If something is wrong with assent, the editor's dialog decides alone. It also decides alone if the
agent does not state everything that would run, or offers no plain yes and no. The exit code is
the agent's, or 127 if the agent could not be started.

Without --socket, --url or --state-dir, the broker is the one in hook.conf, else the one of this
machine.`,
		Example: `  assent acp -- gemini --acp
  assent acp -- opencode acp
  assent acp --socket /run/user/1000/assent/hook.sock -- qwen --acp --approval-mode default`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("want the agent's command")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.timeout <= 0 {
				return usagef("--timeout %v: want a duration like 8h", f.timeout)
			}
			cfg, err := a.acpBroker(cmd, f)
			if err != nil {
				return err
			}
			return runACP(cmd.Context(), cfg, args, func(why string) { cmd.PrintErrln("assent acp:", readable(why)) })
		},
	}
	c.Flags().SetInterspersed(false) // what stands behind AGENT is the agent's
	c.Flags().StringVar(&f.socket, "socket", "", "the broker's socket")
	c.Flags().StringVar(&f.owner, "socket-owner", "", "user whose broker listens there, by name or number, if it is not you")
	c.Flags().DurationVar(&f.timeout, "timeout", 24*time.Hour, "how long a request waits here; the editor's dialog stays")
	return c
}

// acpBroker says whom to ask. Only wrong flags are an error: whatever else is wrong is told when there is
// something to ask, for the agent works without us.
func (a *app) acpBroker(cmd *cobra.Command, f acpFlags) (hookclient.Config, error) {
	var flags []string
	if f.socket != "" {
		flags = append(flags, "--socket", f.socket)
	}
	if f.owner != "" {
		flags = append(flags, "--socket-owner", f.owner)
	}
	url := a.url
	if url != "" {
		flags = append(flags, "--url", url)
	}
	if a.caCert != "" {
		file, err := filepath.Abs(a.caCert)
		if err != nil {
			return hookclient.Config{}, usagef("--cacert: %w", err)
		}
		flags = append(flags, "--cacert", file)
	}
	if a.stateDir != "" {
		if f.socket != "" || url != "" {
			return hookclient.Config{}, usagef("--state-dir, --socket and --url exclude each other; give one")
		}
		dir, err := filepath.Abs(a.stateDir)
		if err != nil {
			return hookclient.Config{}, usagef("--state-dir: %w", err)
		}
		a.stateDir = dir
		f.socket = a.hookSocket(filepath.Join(dir, "hook.sock"))
		flags = append(flags, "--socket", f.socket)
	}
	cfg, err := hookclient.ReadConfig(flags, os.Getenv)
	if err != nil {
		return cfg, usagef("%w", err)
	}
	cfg.Timeout, cfg.OnTimeout, cfg.OnFailure, cfg.Version = f.timeout, hook.Abstain, hook.Abstain, version()
	if cfg.URL != "" {
		roots, err := trusted(cfg.CACert)
		if err != nil && cfg.Fault == nil {
			cfg.Fault = fmt.Errorf("cacert: %w", err)
		}
		cfg.Dial = dialTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
	}
	return cfg, nil
}

// runACP runs the agent to its end. warn hears why nobody was asked, once for each reason in a row.
func runACP(ctx context.Context, cfg hookclient.Config, argv []string, warn func(string)) error {
	// An editor that has gone must not end us before the agent is told: written to, it is an error.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var mu sync.Mutex
	last := ""
	tell := func(why string) {
		mu.Lock()
		defer mu.Unlock()
		if why != "" && why != last {
			warn(why + "; the editor decides alone")
		}
		last = why
	}
	status, err := proxy.Run(ctx, proxy.Config{
		Argv: argv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Ask: func(ctx context.Context, q *acp.Question, pid int) acp.Decision {
			cfg := cfg
			cfg.Agent = q.Agent
			got := hookclient.Submit(ctx, cfg, hook.Event{
				Type: hook.EventPermissionRequest, Source: hook.SourceACP, Origin: hookclient.OriginAt(pid, q.CWD), Raw: q.Payload,
			})
			switch {
			case got.Answered:
				tell("")
				return acp.ReadDecision(got.Body)
			case ctx.Err() == nil && !got.Expired:
				tell(got.Why)
			}
			return acp.Undecided
		},
	})
	if err != nil {
		return &exitError{127, fmt.Errorf("%w; check its command", err)}
	}
	if status != 0 {
		return &exitError{status, nil}
	}
	return nil
}
