package hookclient

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"assent/internal/host/peercred"
)

// Whoever can take the socket's place can answer for the broker, and reads what is asked. So the
// client says nothing to a socket of another user than its own, or the one that it was told of.
// The kernel says who listens; where it does not (see package peercred), the socket's directory has
// to keep others away.

// passwd is where users' names are.
const passwd = "/etc/passwd"

// ownerOf returns the user id of a user's name or number; our own for "".
func ownerOf(name, passwd string) (uint32, error) {
	if name == "" {
		return uint32(os.Geteuid()), nil
	}
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(id), nil
	}
	// Package os/user would bring package fmt along.
	text, err := os.ReadFile(passwd)
	if err != nil {
		return 0, errors.New("socket-owner " + quote(name) + ": " + err.Error())
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[0] == name {
			if id, err := strconv.ParseUint(f[2], 10, 32); err == nil {
				return uint32(id), nil
			}
		}
	}
	return 0, errors.New("socket-owner " + quote(name) + ": no such user in " + passwd + "; give its number")
}

// checkOwner says whether want is who listens at the other end of c.
func checkOwner(c net.Conn, want uint32) error {
	uid, err := peercred.UID(c)
	switch {
	case errors.Is(err, errors.ErrUnsupported) || err == nil && uid == want:
		return nil
	case err != nil:
		return errors.New("the system does not say whose the socket is: " + err.Error())
	}
	id := strconv.FormatUint(uint64(uid), 10)
	return errors.New("user " + id + " listens there, not " + strconv.FormatUint(uint64(want), 10) +
		"; nothing was sent. If that is the broker's user, say --socket-owner " + id)
}

// Foreign says that somebody listens on cfg's socket to whom a hook would tell nothing; nil where
// it would, where nobody listens, and without a socket.
func Foreign(cfg Config) error {
	if cfg.URL != "" || cfg.Socket == "" {
		return nil
	}
	owner, err := ownerOf(cfg.SocketOwner, passwd)
	if err != nil {
		return err
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: cfg.Socket, Net: "unix"})
	if err != nil {
		return nil
	}
	defer c.Close()
	return checkOwner(c, owner)
}
