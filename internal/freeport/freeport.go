// Package freeport finds ports of loopback for servers that are started by their port, or come back on the
// one they had. The kernel hands out ports of its own range to every connection and to every listener
// without a wish; a port of that range may be gone before its server listens, or while it is down.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Below the ranges of Linux (32768 to 60999) and of RFC 6335 (49152 and up), above the ports of
// well-known services.
const first, last = 15000, 32000

// Find returns n different ports that nobody listens on.
func Find(n int) ([]int, error) {
	var ports []int
	var lasting []net.Listener // to the end, so that the ports differ
	defer func() {
		for _, l := range lasting {
			_ = l.Close() // nothing was sent
		}
	}()
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := first + rand.IntN(last-first)
		l, err := net.Listen("tcp", Address(port))
		if err != nil {
			continue
		}
		lasting = append(lasting, l)
		ports = append(ports, port)
	}
	return nil, errors.New("no free port of loopback between 15000 and 32000")
}

// Address is "127.0.0.1:port".
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
