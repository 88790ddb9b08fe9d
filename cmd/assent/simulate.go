package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func (a *app) simulateCmd() *cobra.Command {
	var timeout time.Duration
	var socket string
	c := &cobra.Command{
		Use:   "simulate [KIND]",
		Short: "Raise a sample request, without an agent, and print the answer",
		Long: `Raise a sample request through the same hook client an agent runs, as if an agent worked in
this directory, wait, and print what the agent would have been told. Nothing is ever executed.
With --url it goes to that broker, with a token of role submit in $ASSENT_TOKEN.
Kinds: ` + strings.Join(claude.SampleKinds, " ") + ` (default bash).`,
		Example: "  assent simulate\n  assent simulate question",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("want one kind, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := "bash"
			if len(args) == 1 {
				kind = args[0]
			}
			if !slices.Contains(claude.SampleKinds, kind) {
				return usagef("unknown kind %q; want one of: %s", kind, strings.Join(claude.SampleKinds, " "))
			}
			cfg, err := a.simulated(cmd.Context(), socket)
			if err != nil {
				return err
			}
			cfg.Timeout = timeout
			return a.simulate(kind, cfg)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the answer")
	c.Flags().StringVar(&socket, "socket", "", "the broker's hook socket (default: the running broker's)")
	return c
}

// simulated is the hook client's configuration. The hook client would be silent about a broker
// that is gone; a person should know.
func (a *app) simulated(ctx context.Context, socket string) (hookclient.Config, error) {
	cfg := hookclient.Config{Agent: "claude", Socket: socket, OnTimeout: hook.Abstain, OnFailure: hook.Abstain}
	if a.url != "" {
		if socket != "" {
			return cfg, usagef("--url and --socket exclude each other; give one")
		}
		c, err := a.broker()
		if err != nil {
			return cfg, err
		}
		if _, err := c.Status(ctx, "/readyz"); err != nil {
			return cfg, noBroker(err)
		}
		cfg.URL, cfg.Token = a.url, c.token
		cfg.Dial = dialTLS(a.url, c.tls)
		cfg.Warn = func(line string) { fmt.Fprintln(a.err, "assent:", show.Line(line)) }
		return cfg, nil
	}
	if socket == "" {
		info, err := a.runtime()
		if err != nil {
			return cfg, err
		}
		cfg.Socket = info.Socket
	}
	conn, err := net.DialTimeout("unix", cfg.Socket, time.Second)
	if err != nil {
		return cfg, noBroker(fmt.Errorf("no broker answers on %s (%w); start it with: %s serve", cfg.Socket, err, typed()))
	}
	conn.Close()
	return cfg, nil
}

func (a *app) simulate(kind string, cfg hookclient.Config) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the directory we are in: %w", err)
	}
	event := claude.Sample(kind, "simulated-"+uuid.NewString(), dir, os.Getenv("HOME"))
	payload, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode the sample: %w", err)
	}
	in, err := pipeWith(payload)
	if err != nil {
		return err
	}
	defer in.Close()
	answer, err := os.CreateTemp("", "assent-simulate-*")
	if err != nil {
		return fmt.Errorf("file for the answer: %w", err)
	}
	defer os.Remove(answer.Name())
	defer answer.Close()
	asked := cfg
	asked.Asking = func(id string) {
		if kind == "form" {
			fmt.Fprintln(a.err, "A sample form of an MCP server waits, for two minutes, if the page of a paired device is open. Answer it there.")
			return
		}
		fmt.Fprintf(a.err, "A sample %s request waits. Answer it on the page, in %s watch, or with:\n  %[2]s allow %[3]s\n  %[2]s deny %[3]s -m WORDS\n", kind, typed(), id)
	}
	hookclient.Run(asked, in, answer)
	if err := sampleOver(cfg, event); err != nil {
		return err
	}
	b, err := os.ReadFile(answer.Name())
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(b) == 0 {
		fmt.Fprintln(a.err, "No answer: an agent would now show its own prompt.")
		return nil
	}
	fmt.Fprintf(a.out, "%s\n", show.JSON(b))
	return nil
}

// sampleOver says that the sample's session is over: nothing else would, and it would seem to
// work for ever.
func sampleOver(cfg hookclient.Config, sample map[string]any) error {
	payload, err := json.Marshal(map[string]any{
		"session_id": sample["session_id"], "transcript_path": sample["transcript_path"], "cwd": sample["cwd"],
		"hook_event_name": hook.EventSessionEnd, "reason": "other",
	})
	if err != nil {
		return fmt.Errorf("encode the end of the sample: %w", err)
	}
	in, err := pipeWith(payload)
	if err != nil {
		return err
	}
	defer in.Close()
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("end the sample: %w", err)
	}
	defer nothing.Close()
	hookclient.Run(cfg, in, nothing)
	return nil
}

// pipeWith returns the reading end of a pipe that holds b, which must fit its buffer.
func pipeWith(b []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	defer w.Close()
	if _, err := w.Write(b); err != nil {
		r.Close()
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return r, nil
}
