package main

import (
	"context"
	"os"

	"assent/internal/fleet"
	"assent/internal/host/inbox"
)

// inbox connects to the inbox of a session of this user on this machine.
func (a *app) inbox(ctx context.Context, session string) (fleet.Line, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	s, err := inbox.Find(inbox.Dir(home, os.Getenv("CLAUDE_CONFIG_DIR")), session)
	if err != nil {
		return nil, err
	}
	line, err := inbox.Dial(ctx, s)
	if err != nil {
		return nil, err
	}
	return line, nil
}
