package main

import (
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
	"assent/internal/hook"
)

func (a *app) sayCmd() *cobra.Command {
	wait, expires := 10*time.Second, 10*time.Minute
	c := &cobra.Command{
		Use:   "say SESSION TEXT...",
		Short: "Send text to the agent of a live session",
		Long: `Send text to the agent of a live Claude Code session. If the session runs on the broker's machine,
the text goes through the session's inbox, and begins a turn or joins the running one; otherwise
it is delivered at the end of the running turn. A session with neither an inbox nor a running turn
cannot be reached. If TEXT is -, the text is read from standard input.

The text is recorded before it is sent, and enters the agent's context at most once. "In its
context" is printed only if the session's own hook or transcript confirms it. The text answers no
permission request. Text sent with this command is not signed, and the agent is told that it comes
from a terminal; text sent from a paired device is signed. Whether a model follows such text as
readily as typed text has not been measured.

SESSION is an id, the beginning or the end of one, or a title that only one session has. Needs the
role operate, which admin includes.`,
		Example: "  assent say 25e5a0e9 'run the tests once more'\n  git diff | assent say 25e5a0e9 - --wait 1m\n  assent say 25e5a0e9 'stop after this file' --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("want a SESSION and a TEXT")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if text == "-" {
				b, err := io.ReadAll(io.LimitReader(os.Stdin, hook.MaxMessage+1))
				if err != nil {
					return fmt.Errorf("read the text: %w", err)
				}
				text = strings.TrimRight(string(b), "\n")
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			s, err := b.session(cmd.Context(), args[0], true)
			if err != nil {
				return err
			}
			m, err := b.say(cmd.Context(), s.SessionID, text, expires)
			if err != nil {
				return err
			}
			m, err = b.receipt(cmd.Context(), m, wait)
			if err != nil {
				return err
			}
			if a.json {
				if err := a.printJSON(m); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(a.out, "%s: %s\n", s.Name(), outcomeOf(m))
			}
			if m.State == hook.MessageLost || m.State == hook.MessageExpired || m.State == hook.MessageRefused {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	c.Flags().DurationVar(&wait, "wait", wait, "how long to wait for the receipt; 0: not at all")
	c.Flags().DurationVar(&expires, "expires", expires, "how long it may wait to be handed over, at most 24h")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: the message, with its state and steps")
	return c
}

// say sends text to a session.
func (c *client) say(ctx context.Context, session, text string, expires time.Duration) (hook.Message, error) {
	var m hook.Message
	in := api.NewMessage{ID: uuid.NewString(), Kind: hook.MessagePrompt, Prompt: text, ExpiresAt: time.Now().UTC().Add(expires).Format(time.RFC3339)}
	err := c.call(ctx, "POST", "/v1/sessions/"+url.PathEscape(session)+"/messages", in, &m)
	return m, err
}

// receipt waits until the session has m, or it is over, but no longer than wait. It returns m as it is then.
func (c *client) receipt(ctx context.Context, m hook.Message, wait time.Duration) (hook.Message, error) {
	end := time.Now().Add(wait)
	for pause := 50 * time.Millisecond; m.State == hook.MessageSent || m.State == hook.MessageTaken; pause = min(2*pause, time.Second) {
		if time.Now().Add(pause).After(end) {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(pause):
		}
		if err := c.call(ctx, "GET", "/v1/sessions/"+url.PathEscape(m.SessionID)+"/messages/"+url.PathEscape(m.ID), nil, &m); err != nil {
			return m, err
		}
	}
	return m, nil
}

// outcomeOf says how far a message is.
func outcomeOf(m hook.Message) string {
	took := func() string {
		for _, s := range m.Steps {
			if s.State == hook.MessageStarted {
				return s.At.Sub(m.Steps[0].At).Round(10 * time.Millisecond).String()
			}
		}
		return ""
	}
	why := ""
	if last := m.Steps[len(m.Steps)-1].Why; last != "" {
		why = " (" + last + ")"
	}
	switch m.State {
	case hook.MessageSent:
		return "sent; it waits to be handed over"
	case hook.MessageTaken:
		return "handed over; no receipt yet"
	case hook.MessageStarted:
		return "in the agent's context after " + took()
	case hook.MessageEnded:
		return "in the agent's context after " + took() + "; the turn is over"
	case hook.MessageExpired:
		return "expired: nobody took it in time"
	case hook.MessageLost:
		return "handed over, but no receipt came" + why + "; look at the session's terminal"
	}
	return "not handed over" + why
}
