package hookclient

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestOwnerOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, []byte("# users\nroot:x:0:0:root:/root:/bin/sh\nassent:x:998:998::/:/usr/sbin/nologin\nbad:x:many:1::/:\nassent:x:7:7::/:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{"": uint32(os.Geteuid()), "assent": 998, "root": 0, "1234": 1234} {
		if got, err := ownerOf(name, file); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"nobody-here", "bad", "# users", "-1", "4294967296", "assent:x"} {
		if got, err := ownerOf(name, file); err == nil {
			t.Errorf("%q is user %d", name, got)
		}
	}
	if _, err := ownerOf("assent", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a name is known without a list of names")
	}
}

// Nothing at all is said to a socket on which another user listens.
func TestForeignSocketHearsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not say who listens")
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan int, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute)) // only there to stop it
			n, _ := c.Read(make([]byte, 100))
			heard <- n
			c.Close()
		}
	}()
	other := strconv.Itoa(os.Geteuid() + 1)
	cfg := Config{Socket: socket, SocketOwner: other, Timeout: time.Minute}
	a := Submit(t.Context(), cfg, submitted)
	if a.Answered || a.Expired || !strings.Contains(a.Why, "not "+other) || !strings.Contains(a.Why, "--socket-owner") {
		t.Errorf("%+v", a)
	}
	if why := Tell(t.Context(), cfg, submitted); !strings.Contains(why, "not "+other) {
		t.Errorf("an event: %q", why)
	}
	if err := Foreign(cfg); err == nil {
		t.Error("the socket is not called foreign")
	}
	for range 3 {
		select {
		case n := <-heard:
			if n != 0 {
				t.Errorf("it heard %d bytes", n)
			}
		case <-time.After(time.Minute):
			t.Fatal("nobody connected")
		}
	}
	for _, own := range []string{"", strconv.Itoa(os.Geteuid())} {
		if err := Foreign(Config{Socket: socket, SocketOwner: own}); err != nil {
			t.Errorf("our own: %v", err)
		}
	}
	for _, none := range []Config{{}, {Socket: socket + "x"}, {URL: "https://h"}} {
		if err := Foreign(none); err != nil {
			t.Errorf("%+v: %v", none, err)
		}
	}
}

// Each run has a secret of its own, the same in all its attempts.
func TestSecrets(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		s := newSecret()
		if len(s) != 64 || strings.Trim(s, hexDigits) != "" || seen[s] {
			t.Fatalf("%q", s)
		}
		seen[s] = true
	}
}
