package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/setup/sample"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) simulateCmd() *cobra.Command {
	var timeout time.Duration
	var socket string
	c := &cobra.Command{
		Use:   "simulate [KIND]",
		Short: "Raise a sample request without an agent, and show the answer",
		Long: `Raise a sample request through the hook client that agents run, as if an agent worked in this
directory, wait for the answer, and print it. Nothing is ever executed. With --json, or if standard
output is not a terminal, the JSON that an agent would get is printed. With --url the request goes to
that broker, with a token of role submit in $ASSENT_TOKEN.

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
			return a.simulate(cmd.Context(), kind, cfg)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for the answer")
	c.Flags().BoolVar(&a.json, "json", false, "print what the agent would have been told")
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
		cfg.Dial = dialTLS(c.tls)
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

func (a *app) simulate(ctx context.Context, kind string, cfg hookclient.Config) error {
	id, b, err := sample.Raise(ctx, kind, cfg, func(ctx context.Context, id string) { a.announceSample(ctx, kind, id) })
	if err != nil {
		return err
	}
	if len(b) == 0 {
		fmt.Fprintln(a.err, "No answer: an agent would now show its own prompt.")
		return nil
	}
	raw := a.json || !terminal.IsTerminal(a.out)
	if raw {
		fmt.Fprintf(a.out, "%s\n", show.JSON(b))
	}
	if words := a.sampleAnswer(ctx, id, b); words != "" && !raw {
		fmt.Fprintln(a.out, words)
	} else if words != "" && !a.json {
		fmt.Fprintln(a.err, words)
	}
	return nil
}

// announceSample says that the sample waits, and how to answer it.
func (a *app) announceSample(ctx context.Context, kind, id string) {
	if kind == "form" {
		fmt.Fprintln(a.err, "A sample form of an MCP server waits, for two minutes, if the page of a paired device is open. Answer it there.")
		return
	}
	r := a.sampleRequest(ctx, id)
	if r == nil || r.Number == 0 {
		fmt.Fprintf(a.err, "A sample %s request waits. Answer it on the page, in %s watch, or with:\n  %[2]s allow %[3]s\n  %[2]s deny %[3]s -m WORDS\n", kind, typed(), id)
		return
	}
	a.keepShown(a.err, r)
	allow := ""
	if kind == "question" {
		allow = " --answer SQLite"
	}
	what := fmt.Sprintf("A sample %s request waits, number %d (%s): %s", kind, r.Number, terminal.RiskOf(r), terminal.Sentence(r))
	fmt.Fprintf(a.err, "%s\nAnswer it on the page, in %[3]s watch, or with:\n  %[3]s allow %[2]d%[5]s\n  %[3]s deny %[2]d -m WORDS\nBy its whole id:\n  %[3]s allow %[4]s%[5]s\n",
		strings.Join(terminal.Wrap(what, columns(a.err), 2), "\n"), r.Number, typed(), id, allow)
}

// sampleRequest is the sample as the broker has it; nil where it cannot be seen, for a token that
// submits may not read. It is recorded in a moment, and a rule may answer it at once.
func (a *app) sampleRequest(ctx context.Context, id string) *api.Request {
	b, err := a.broker()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		r, err := b.Request(ctx, id)
		switch {
		case err == nil:
			return r
		case !api.NotFound(err):
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// sampleAnswer is the answer to the sample in one sentence; empty where it is none.
func (a *app) sampleAnswer(ctx context.Context, id string, answer []byte) string {
	var said struct {
		Output struct {
			Decision struct {
				Behavior hook.Behavior `json:"behavior"`
				Message  string        `json:"message"`
				Input    hook.JSON     `json:"updatedInput"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	d := said.Output.Decision
	verb := map[hook.Behavior]string{hook.BehaviorAllow: "allowed", hook.BehaviorDeny: "denied"}[d.Behavior]
	if verb == "" {
		return ""
	}
	who := "You"
	r := a.sampleRequest(ctx, id)
	if r != nil && r.DecidedBy != nil && r.DecidedBy.Kind == hook.KindRule {
		who = "A rule (" + show.Line(r.DecidedBy.Name) + ")"
	}
	words := who + " " + verb + " it"
	if r != nil && r.DecidedBy != nil && r.DecidedBy.Kind != hook.KindRule && r.DecidedBy.Kind != hook.KindOwner {
		words += " from " + show.Line(r.DecidedBy.Name)
	}
	switch {
	case d.Behavior == hook.BehaviorDeny && d.Message != "":
		return words + ". The agent was told: " + show.Short(d.Message, 400)
	case d.Behavior == hook.BehaviorDeny:
		return words + ". The agent was told no reason."
	case r != nil && r.Allowed != nil && len(r.Allowed.Answers) > 0:
		return words + ". The agent got the answers."
	case r != nil && r.Allowed != nil && len(r.Allowed.Changes) > 0:
		return words + " as edited. The agent would run what you wrote."
	}
	return words + ". The agent would go on."
}
