package tunnel

import (
	"errors"
	"net"
	"os"

	"github.com/hashicorp/yamux"
)

// Stream is a stream of a Session as crypto/tls wants a connection: what ends at a deadline is an error that
// passes, as with TCP. yamux's own error says that it is final, and net/http sets deadlines to interrupt reads.
type Stream struct{ net.Conn }

// Read is that of net.Conn.
func (s Stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	return n, passing(err)
}

// Write is that of net.Conn.
func (s Stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	return n, passing(err)
}

func passing(err error) error {
	if errors.Is(err, yamux.ErrTimeout) {
		return os.ErrDeadlineExceeded
	}
	return err
}
