package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

func (a *app) agentListCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the agents that hosts offer, and their sessions",
		Long: `List the agents that hosts offer: the name of each, whether it can take work, its host, its
project, and its sessions with the state of each.`,
		Example: "  assent agent list\n  assent agent list --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.Context(), a, "/v1/agents", "No host offers an agent. On the machine where one is to work: assent agent example, then assent agent serve (docs/hosts.md)",
				[]string{"NAME", "STATUS", "HOST", "PROJECT", "SESSIONS"}, func(x *api.Agent) []string {
					project := ""
					if x.Project != nil {
						project = x.Project.Path
					}
					var sessions []string
					for _, s := range x.Sessions {
						sessions = append(sessions, s.SessionID+" ("+terminal.Standing(x, &s)+")")
					}
					return []string{show.Line(x.Name), show.Line(x.Status), show.Line(x.Hostname), show.Line(project), show.Line(strings.Join(sessions, ", "))}
				})
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// agentFlags are those of commands that send a message to an agent.
type agentFlags struct {
	options       hook.MessageOptions
	timeout       time.Duration
	wait, expires time.Duration
	agent         string
	settled       func(hook.Message) bool  // it need not be waited for any more; nil: once it has a receipt
	print         func(hook.Message) error // says what became of it, for people; nil: in a line
}

func (f *agentFlags) add(a *app, c *cobra.Command, options bool) {
	f.wait, f.expires = cmp.Or(f.wait, 10*time.Second), 10*time.Minute
	if options {
		c.Flags().Float64Var(&f.options.BudgetUSD, "budget", 0, "what the session may cost, in USD (0: the agent's ceiling)")
		c.Flags().DurationVar(&f.timeout, "timeout", 0, "how long the session may take, such as 30m (0: the agent's ceiling)")
		c.Flags().BoolVar(&f.options.AutoPR, "pr", false, "ask for a pull request at its end")
	}
	c.Flags().DurationVar(&f.wait, "wait", f.wait, "how long to wait for the receipt; 0: not at all")
	c.Flags().DurationVar(&f.expires, "expires", f.expires, "how long it may wait for the host, at most 24h")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the message, with its state and steps")
}

func (a *app) agentStartCmd() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "start AGENT TEXT...",
		Short: "Start a session of an agent with a prompt",
		Long: `Start a session of an agent with a prompt. If TEXT is -, the prompt is read from standard input.
The prompt is signed with this terminal's key (assent agent key), recorded before it is sent, and
run at most once, even if the broker or the host is killed meanwhile. The session asks for
permission like any other.

The command prints the session's id, which assent agent prompt, resume and cancel take.`,
		Example: "  assent agent start coder 'fix the flaky test in internal/auth' --budget 2\n  assent agent start coder - --json < task.md",
		Args:    wantWords("want an AGENT and a TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := textOf(args[1:])
			if err != nil {
				return err
			}
			return a.toAgent(cmd.Context(), f, hook.Message{Agent: args[0], SessionID: uuid.NewString(), Kind: hook.MessagePrompt, Prompt: text})
		},
	}
	f.add(a, c, true)
	return c
}

func (a *app) agentPromptCmd() *cobra.Command {
	return a.agentSessionCmd("prompt", hook.MessagePrompt, "Send a prompt to a session of an agent",
		`Send a prompt to a session of an agent. If a turn is running, the prompt comes after it.`,
		"  assent agent prompt 25e5a0e9 'now the same for internal/feed'")
}

func (a *app) agentResumeCmd() *cobra.Command {
	return a.agentSessionCmd("resume", hook.MessageResume, "Continue an ended session of an agent with a prompt",
		`Continue an ended session of an agent with a prompt. A session that another program has open is not
continued, because its turns would be lost.`,
		"  assent agent resume 25e5a0e9 'the review asks for a test' --budget 3")
}

func (a *app) agentCancelCmd() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "cancel SESSION",
		Short: "Cancel what a session of an agent is doing",
		Long: `Cancel what a session of an agent is doing, and the prompts that wait for the session. The session
stays, and takes further prompts. SESSION is the session's id, or a beginning of it that no other
session shares.`,
		Example: "  assent agent cancel 25e5a0e9\n  assent agent cancel 25e5a0e9 --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want a SESSION")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.toSession(cmd.Context(), f, args[0], hook.Message{Kind: hook.MessageCancel})
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that has the session; needed while its host is away")
	f.add(a, c, false)
	return c
}

// agentSessionCmd is prompt or resume.
func (a *app) agentSessionCmd(use, kind, short, long, example string) *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   use + " SESSION TEXT...",
		Short: short,
		Long: long + `

If TEXT is -, the prompt is read from standard input. SESSION is the session's id, or a beginning of it
that no other session shares. The prompt is signed and sent as by assent agent start.`,
		Example: example + "\n" + strings.TrimSuffix(example[:strings.LastIndex(example, " '")], " ") + " - --json < words.md",
		Args:    wantWords("want a SESSION and a TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := textOf(args[1:])
			if err != nil {
				return err
			}
			return a.toSession(cmd.Context(), f, args[0], hook.Message{Kind: kind, Prompt: text})
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that has the session; needed while its host is away")
	f.add(a, c, kind == hook.MessageResume)
	return c
}

func wantWords(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < 2 {
			return errors.New(what)
		}
		return nil
	}
}

// textOf is the text that words are, or that standard input holds.
func textOf(words []string) (string, error) {
	text := strings.Join(words, " ")
	if text != "-" {
		return text, nil
	}
	b, err := io.ReadAll(io.LimitReader(os.Stdin, hook.MaxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// toSession sends a message to the agent that has a session.
func (a *app) toSession(ctx context.Context, f agentFlags, session string, m hook.Message) error {
	to, _, err := a.addressee(ctx, f, session)
	if err != nil {
		return err
	}
	m.Agent, m.SessionID = to.Agent, to.SessionID
	return a.toAgent(ctx, f, m)
}

// addressee finds the agent of a session, and all of the session's id; runs says that it has a process.
func (a *app) addressee(ctx context.Context, f agentFlags, session string) (m hook.Message, runs bool, err error) {
	b, _, err := a.asDevice(ctx)
	if err != nil {
		return m, false, err
	}
	var agents []api.Agent
	if err := b.call(ctx, "GET", "/v1/agents", nil, &agents); err != nil {
		return m, false, err
	}
	found := 0
	for _, x := range agents {
		for _, s := range x.Sessions {
			if strings.HasPrefix(s.SessionID, session) {
				m.Agent, m.SessionID = x.Name, s.SessionID
				found++
			}
		}
	}
	if found == 0 { // one that has ended
		if s, err := b.session(ctx, session, false); err == nil {
			session = s.SessionID
		}
		m.SessionID, m.Agent = session, f.agent
		var before []hook.Message
		if err := b.call(ctx, "GET", "/v1/sessions/"+url.PathEscape(session)+"/messages", nil, &before); err != nil {
			return m, false, err
		}
		for _, x := range before {
			if x.Way == hook.WayHost && f.agent == "" {
				m.Agent = x.Agent
			}
		}
	}
	switch {
	case found > 1:
		return m, false, fmt.Errorf("%d sessions begin with %s; write more of the id", found, show.Line(session))
	case m.Agent == "":
		return m, false, fmt.Errorf("no agent has a session %s now: write its whole id, and its agent with --agent; %s agent list shows those that run", show.Line(session), typed())
	}
	return m, found > 0, nil
}

// post signs a message to an agent and sends it. path is where what becomes of it is read with b.
func (a *app) post(ctx context.Context, f agentFlags, m hook.Message) (b *client, path string, sent hook.Message, err error) {
	b, key, err := a.asDevice(ctx)
	if err != nil {
		return nil, "", m, err
	}
	var to api.Agent
	if err := b.call(ctx, "GET", "/v1/agents/"+url.PathEscape(m.Agent), nil, &to); err != nil {
		return nil, "", m, err
	}
	m.HostID = to.HostID
	f.options.TimeoutSeconds = int64(f.timeout.Seconds())
	if f.options != (hook.MessageOptions{}) {
		m.Options = &f.options
	}
	m.ID, m.ExpiresAt = uuid.NewString(), time.Now().UTC().Add(f.expires).Format(time.RFC3339)
	signature, err := key.Sign(auth.MessageText(m))
	if err != nil {
		return nil, "", m, err
	}
	in := api.NewAgentMessage{ID: m.ID, SessionID: m.SessionID, HostID: m.HostID, Kind: m.Kind, Prompt: m.Prompt, Options: m.Options, ExpiresAt: m.ExpiresAt, Signature: signature}
	path = "/v1/agents/" + url.PathEscape(m.Agent) + "/messages"
	err = b.call(ctx, "POST", path, in, &m)
	return b, path + "/" + url.PathEscape(m.ID), m, err
}

// toAgent signs a message and sends it, waits for its receipt and prints what became of it.
func (a *app) toAgent(ctx context.Context, f agentFlags, m hook.Message) error {
	b, path, m, err := a.post(ctx, f, m)
	if err != nil {
		return err
	}
	settled := f.settled
	if settled == nil {
		settled = func(m hook.Message) bool { return m.State != hook.MessageSent && m.State != hook.MessageTaken }
	}
	end := time.Now().Add(f.wait)
	for pause := 50 * time.Millisecond; !settled(m); pause = min(2*pause, time.Second) {
		if time.Now().Add(pause).After(end) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if err := b.call(ctx, "GET", path, nil, &m); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		if err := a.printJSON(m); err != nil {
			return err
		}
	case f.print != nil:
		return f.print(m)
	default:
		fmt.Fprintf(a.out, "%s: %s\n", show.Line(m.SessionID), terminal.MessageOutcome(m))
	}
	if m.State == hook.MessageLost || m.State == hook.MessageExpired || m.State == hook.MessageRefused || m.Outcome == hook.OutcomeFailed {
		return &exitError{exitFailed, nil}
	}
	return nil
}
