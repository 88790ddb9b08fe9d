package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assent/internal/auth"
	"assent/internal/fleet"
	"assent/internal/hook"
	"assent/internal/host/executor"
	"assent/internal/host/inbox"
	"assent/internal/host/process"
	"assent/internal/host/transcript"
)

// inbox connects to the inbox of a session of this user on this machine, unless a host of agents started it: what is for
// that goes through its host.
func (a *app) inbox(ctx context.Context, session string) (fleet.Line, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	s, err := inbox.Find(inbox.Dir(home, os.Getenv("CLAUDE_CONFIG_DIR")), session)
	if err != nil {
		return nil, err
	}
	if executor.Started(s.PID, session) {
		return nil, fmt.Errorf("process %d of the session was started by a host of agents", s.PID)
	}
	line, err := inbox.Dial(ctx, s)
	if err != nil {
		return nil, err
	}
	return line, nil
}

// standing is where the text is that the inbox of a session of this user was handed.
func (a *app) standing(_ context.Context, session, content string) (transcript.Standing, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return transcript.Unknown, err
	}
	dir := inbox.Dir(home, os.Getenv("CLAUDE_CONFIG_DIR"))
	var p transcript.Process
	live, err := inbox.Live(dir, session, 0)
	for _, s := range live {
		if began := time.UnixMilli(s.StartedAt); !p.Live || began.Before(p.Began) {
			p = transcript.Process{Live: true, Began: began}
		}
	}
	if err == nil {
		return transcript.Look(filepath.Dir(dir), session, content, p)
	}
	// There may be a process, and since when is not known.
	where, failed := transcript.Look(filepath.Dir(dir), session, content, transcript.Process{Live: true})
	if failed == nil && where == transcript.Absent {
		return transcript.Unknown, err
	}
	return where, failed
}

// maySend says whether a device or token still may send messages. The owner of this machine may.
func maySend(who *auth.Auth) func(hook.Approver) bool {
	return func(by hook.Approver) bool {
		switch by.Kind {
		case "device":
			d, ok := who.Device(by.ID)
			return ok && d.Role.Includes(auth.RoleOperate)
		case "token":
			return slices.ContainsFunc(who.Tokens(), func(t auth.Token) bool { return t.ID == by.ID && t.Role.Includes(auth.RoleOperate) })
		}
		return by.Kind == hook.KindOwner
	}
}

// processGone reports whether it is certain that the process of an event's hook has ended.
func processGone(o hook.Origin) bool {
	return o.PID > 0 && process.Look(o.PID, o.Process) == process.Gone
}

// knownHost says whether a host's token still holds: the agents of one that was revoked are no more.
func knownHost(who *auth.Auth) func(string) bool {
	return func(id string) bool {
		return slices.ContainsFunc(who.Tokens(), func(t auth.Token) bool { return t.ID == id && t.Role == auth.RoleHost })
	}
}
