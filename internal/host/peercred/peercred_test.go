package peercred_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"assent/internal/host/peercred"
)

// ends connects to a listener and returns both ends.
func ends(t *testing.T, network, address string) (here, there net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func TestUID(t *testing.T) {
	here, there := ends(t, "unix", filepath.Join(t.TempDir(), "s"))
	for name, c := range map[string]net.Conn{"who connected": here, "who listened": there} {
		uid, err := peercred.UID(c)
		if runtime.GOOS != "linux" {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %d, %v; this system does not tell", name, uid, err)
			}
			continue
		}
		if err != nil || uid != uint32(os.Getuid()) {
			t.Errorf("%s: %d, %v; want %d", name, uid, err, os.Getuid())
		}
	}
	here.Close()
	if uid, err := peercred.UID(here); err == nil {
		t.Errorf("of a closed connection it says %d", uid)
	}
}

func TestOtherConnectionsHaveNoUser(t *testing.T) {
	tcp, _ := ends(t, "tcp", "127.0.0.1:0")
	pipe, _ := net.Pipe()
	defer pipe.Close()
	for _, c := range []net.Conn{tcp, pipe} {
		if uid, err := peercred.UID(c); err == nil {
			t.Errorf("%T has the user %d", c, uid)
		}
	}
}
