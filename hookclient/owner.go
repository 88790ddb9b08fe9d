package hookclient

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"assent/internal/host/peercred"
)

// A user who can replace the socket can answer for the broker, and reads every request. So the client
// sends nothing to a socket unless its own user listens there, or the one named by SocketOwner. The
// kernel says who listens; where it does not (see package peercred), the permissions of the socket's
// directory have to keep others out.

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

// Foreign returns an error if the process that listens on cfg's socket belongs to a user to whom a
// hook sends nothing. It is nil if a hook would send, if nobody listens, and without a socket.
func Foreign(cfg Config) error {
	if cfg.Socket == "" {
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
