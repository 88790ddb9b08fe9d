package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assent/internal/host/hooksocket"
)

// defaultSocket is where hooks look when they are told nothing.
func defaultSocket(stateDir string, env func(string) string) string {
	if d := env("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		return filepath.Join(d, "assent", "hook.sock")
	}
	return filepath.Join(stateDir, "hook.sock")
}

// socketPath is where this broker listens for hooks, absolute as hooks name it: spooled events
// are filed under this path.
func (f *serveFlags) socketPath(stateDir string) (string, error) {
	if f.socket == "" {
		return defaultSocket(stateDir, os.Getenv), nil
	}
	socket, err := filepath.Abs(f.socket)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	return socket, nil
}

// listenUnix is hooksocket.Listen with the exit code for a group that is none.
func listenUnix(flag, path, group string) (*hooksocket.Socket, error) {
	s, err := hooksocket.Listen(flag, path, group)
	if g := (*hooksocket.GroupError)(nil); errors.As(err, &g) {
		err = usagef("%w", err)
	}
	return s, err
}
