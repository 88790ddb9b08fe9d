// Package inbox hands text to a live session of Claude Code on this machine, through the inbox socket
// that the session listens on: "when you want a script or hook to post into a session", since 2.1.224.
//
// Which socket that is stands in ~/.claude/sessions/PID.json. Nothing there is believed that the
// kernel does not confirm: the file and the socket belong to this user and are no links, the process runs
// since the time that the file says, and is the one that listens.
//
// That the session took the line means nothing yet: it may be held, or dropped. The receipt is the
// UserPromptSubmit hook of the session.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"assent/internal/host/peercred"
)

// Session is a live session as its file describes it.
type Session struct {
	PID       int    `json:"pid"`
	SessionID string `json:"sessionId"`
	ProcStart string `json:"procStart"`
	Kind      string `json:"kind"`   // interactive, bg
	Status    string `json:"status"` // busy, idle, waiting
	Socket    string `json:"messagingSocketPath"`
	StartedAt int64  `json:"startedAt"` // ms since 1970, by the client
}

// ErrNone says that no live session of this user with that id has an inbox here.
var ErrNone = errors.New("the session has no inbox on this machine")

const sendTimeout = 3 * time.Second

// Conn is a connection to a session's inbox on which nothing was sent yet.
type Conn struct{ c *net.UnixConn }

// Dial connects to the session's inbox and makes sure who listens there.
func Dial(ctx context.Context, s Session) (*Conn, error) {
	info, err := os.Lstat(s.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if info.Mode().Type() != os.ModeSocket || !ours(info) {
		return nil, fmt.Errorf("%w: %s is no socket of this user", ErrNone, s.Socket)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	uid, pid, err := peercred.Process(c)
	if err == nil && (uid != uint32(os.Getuid()) || pid != s.PID) {
		err = fmt.Errorf("process %d of user %d listens on %s, not the session's", pid, uid, s.Socket)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return &Conn{c.(*net.UnixConn)}, nil
}

// Close closes a connection, if Send has not.
func (c *Conn) Close() { c.c.Close() }

// Send writes one message and waits until the session has read it: content is what the agent is
// shown. An error after the first byte leaves open whether the session has it.
func (c *Conn) Send(id, content string) error {
	defer c.c.Close()
	line, err := json.Marshal(frame{Version: 1, ID: id, Type: "user", Message: text{"user", content}, Priority: "next"})
	if err != nil {
		return err
	}
	if err := c.c.SetDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if _, err := c.c.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to the session's inbox: %w", err)
	}
	if err := c.c.CloseWrite(); err != nil {
		return fmt.Errorf("write to the session's inbox: %w", err)
	}
	// The session closes when the line is in its inbox. What it says before that is not for us.
	if _, err := io.Copy(io.Discard, io.LimitReader(c.c, maxFile)); err != nil {
		return fmt.Errorf("wait for the session's inbox: %w", err)
	}
	return nil
}

// frame is one line to the socket.
type frame struct {
	Version  int    `json:"msgV"`
	ID       string `json:"msg_id"`
	Type     string `json:"type"`
	Message  text   `json:"message"`
	Priority string `json:"priority"`
}

type text struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
