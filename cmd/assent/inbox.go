package main

import (
	"context"
	"os"

	"assent/internal/fleet"
	"assent/internal/hook"
	"assent/internal/host/inbox"
	"assent/internal/host/process"
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

// processGone reports whether it is certain that the process of an event's hook has ended.
func processGone(o hook.Origin) bool {
	return o.PID > 0 && process.Look(o.PID, o.Process) == process.Gone
}
