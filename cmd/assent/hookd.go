package main

import (
	"fmt"
	"os"
	"path/filepath"

	"assent/hookclient"
	"assent/internal/hook"
	"assent/internal/host/hooksocket"
	"assent/internal/outlet/hookd"
	"assent/internal/setup/statedir"
	"assent/internal/store/stream"
)

// newHookd opens the hookd socket and makes what serves it. Events that cannot be published go to
// the spool, under the name of the hooks' socket, whose events the broker takes in from there. conns bounds its connections. self is this user as a submitter: the socket is open to nobody else.
func newHookd(path, hooks, self string, conns int, streams *stream.Stream, logf func(string, ...any)) (*hookd.Receiver, *hooksocket.Socket, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("hookd socket: %w", err)
	}
	if path == filepath.Clean(hooks) {
		return nil, nil, usagef("--hookd-socket and --socket are both %s; they speak different languages, so choose another for one", path)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("find this machine's name for the hookd socket: %w", err)
	}
	if statedir.Shared(filepath.Dir(path)) {
		logf("everybody can make files beside the hookd socket %s: while no broker runs, another user could read your tool calls there", path)
	}
	l, err := listenUnix("--hookd-socket", path, "")
	if err != nil {
		return nil, nil, err
	}
	dir := hookclient.SpoolDir(os.Getenv)
	return hookd.New(hookd.Config{
		Path: path, Host: host, Submitter: self, Conns: conns, Publish: streams.Publish, Gone: l.Remove, Logf: logf,
		Keep: func(session string, e hook.Event, create bool) (bool, error) {
			return hookclient.Keep(dir, session, hookclient.SpoolRecord{Target: hooks, Event: e}, create)
		},
	}), l, nil
}
