package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
)

// maxHeader is how long the text of a header may be, in bytes: an IPv6 address with its port needs 47.
const maxHeader = 64

// WriteHeader tells the broker, at the beginning of a stream, where the connection came from: one byte with
// the length, then ADDRESS:PORT. It is the relay's claim, and nothing confirms it.
func WriteHeader(w io.Writer, from netip.AddrPort) error {
	text := from.String()
	if !from.IsValid() || len(text) > maxHeader || from.Addr().Zone() != "" {
		return fmt.Errorf("the address %s cannot be told to the broker", text)
	}
	_, err := w.Write(append([]byte{byte(len(text))}, text...))
	return err
}

// ReadHeader reads what WriteHeader wrote, and not one byte more.
func ReadHeader(r io.Reader) (netip.AddrPort, error) {
	var b [1 + maxHeader]byte
	if _, err := io.ReadFull(r, b[:1]); err != nil {
		return netip.AddrPort{}, fmt.Errorf("read where a connection comes from: %w", err)
	}
	n := int(b[0])
	if n == 0 || n > maxHeader {
		return netip.AddrPort{}, fmt.Errorf("where a connection comes from has %d bytes; want 1 to %d", n, maxHeader)
	}
	if _, err := io.ReadFull(r, b[1:1+n]); err != nil {
		return netip.AddrPort{}, fmt.Errorf("read where a connection comes from: %w", err)
	}
	from, err := netip.ParseAddrPort(string(b[1 : 1+n]))
	if err != nil || from.Addr().Zone() != "" {
		return netip.AddrPort{}, errors.New("where a connection comes from is no address with a port")
	}
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), nil
}
