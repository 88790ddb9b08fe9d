package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// hello is what a client sends first.
func hello(t testing.TB, cfg *tls.Config) []byte {
	t.Helper()
	var sent bytes.Buffer
	here, there := net.Pipe()
	go func() {
		c := tls.Client(here, cfg)
		_ = c.Handshake() // ends when the pipe closes
		_ = here.Close()
	}()
	b := make([]byte, 64<<10)
	head := make([]byte, 5)
	if _, err := io.ReadFull(there, head); err != nil {
		t.Fatal(err)
	}
	n := int(head[3])<<8 | int(head[4])
	if _, err := io.ReadFull(there, b[:n]); err != nil {
		t.Fatal(err)
	}
	_ = there.Close()
	sent.Write(head)
	sent.Write(b[:n])
	return sent.Bytes()
}

func TestReadHello(t *testing.T) {
	one := hello(t, &tls.Config{ServerName: "Box.Relay.example", NextProtos: []string{"h2", "http/1.1"}})
	old := hello(t, &tls.Config{ServerName: "box.relay.example", MaxVersion: tls.VersionTLS12})
	none := hello(t, &tls.Config{InsecureSkipVerify: true}) // no name is sent
	long := hello(t, &tls.Config{ServerName: "box.relay.example", NextProtos: strings.Split(strings.Repeat(strings.Repeat("x", 250)+",", 80), ",")[:80]})
	for what, c := range map[string]struct {
		sent []byte
		name string
		ok   bool
	}{
		"a name":           {one, "Box.Relay.example", true},
		"TLS 1.2":          {old, "box.relay.example", true},
		"no name":          {none, "", true},
		"data behind":      {append(bytes.Clone(one), "more"...), "Box.Relay.example", true},
		"cut":              {one[:len(one)-1], "", false},
		"nothing":          {nil, "", false},
		"too long":         {long, "", false},
		"HTTP":             {[]byte("GET / HTTP/1.1\r\nHost: box.relay.example\r\n\r\n"), "", false},
		"endless":          {bytes.Repeat([]byte{22, 3, 1, 0, 1, 1}, 10<<10), "", false},
		"another record":   {append([]byte{23}, one[1:]...), "", false},
		"another messages": {append(append(bytes.Clone(one[:5]), 2), one[6:]...), "", false},
	} {
		for way, r := range map[string]io.Reader{"at once": bytes.NewReader(c.sent), "byte by byte": iotest.OneByteReader(bytes.NewReader(c.sent))} {
			name, read, err := readHello(r)
			if (err == nil) != c.ok || name != c.name {
				t.Errorf("%s, %s: %q, %v", what, way, name, err)
			}
			if c.ok && !bytes.HasPrefix(c.sent, read) {
				t.Errorf("%s, %s: what was read is not what was sent", what, way)
			}
			if len(read) > maxHello {
				t.Errorf("%s: %d bytes were read", what, len(read))
			}
		}
	}
}

func FuzzReadHello(f *testing.F) {
	f.Add(hello(f, &tls.Config{ServerName: "box.relay.example"}))
	f.Add(hello(f, &tls.Config{ServerName: "box.relay.example", MaxVersion: tls.VersionTLS12}))
	f.Add([]byte{22, 3, 1, 0, 4, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		name, read, err := readHello(r)
		if err == nil && (!bytes.HasPrefix(b, read) || len(read)+r.Len() != len(b) || strings.ContainsAny(name, "\x00\n")) {
			t.Fatalf("%q, and %d bytes of %d", name, len(read), len(b))
		}
		if taken := len(b) - r.Len(); taken > maxHello {
			t.Fatalf("%d bytes were taken", taken)
		}
	})
}

func TestTokensFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "d", "relay.tokens")
	one, replaced, err := AddToken(file, "box")
	if err != nil || replaced {
		t.Fatal(replaced, err)
	}
	fi, err := os.Stat(file)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", fi.Mode(), err)
	}
	two, replaced, err := AddToken(file, "box")
	if err != nil || !replaced {
		t.Fatal(replaced, err)
	}
	other, _, err := AddToken(file, "desk")
	if err != nil {
		t.Fatal(err)
	}
	ts, err := readTokens(file)
	if err != nil || ts.has(one) || !ts.has(two) || !ts.has(other) {
		t.Errorf("%v, %v", ts, err)
	}
	b, err := os.ReadFile(file)
	if err != nil || bytes.Contains(b, []byte(two.Text()[20:])) {
		t.Errorf("the file holds the secret: %s, %v", b, err)
	}
	forged := other
	forged.Name = "box"
	if ts.has(forged) {
		t.Error("the token of one name is taken for another")
	}
	if err := RemoveToken(file, "box"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveToken(file, "box"); err == nil {
		t.Error("a token is removed twice")
	}
	if names, err := Names(file); err != nil || len(names) != 1 || names[0] != "desk" {
		t.Errorf("%v, %v", names, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Names(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others read: %v", err)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("# x\nbox " + strings.Repeat("0", 64) + "\n"))
	f.Add([]byte("box\n"))
	f.Add([]byte("box x\nbox y"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, err := parseTokens(b)
		for name, hash := range ts {
			if err != nil || len(hash) != 64 || name == "" || strings.ToLower(name) != name {
				t.Fatalf("%q: %q %q %v", b, name, hash, err)
			}
		}
	})
}

// TestGate: a source gets so many and no more, and among many sources the oldest makes room.
func TestGate(t *testing.T) {
	g := gate{max: 4, perSource: 2}
	conns := map[string]net.Conn{}
	enter := func(id string) *visitor {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
		conns[id] = there
		var n byte
		if id != "" {
			n = id[0]
		}
		return g.enter(here, network(addr(n)))
	}
	closed := func(id string) bool {
		_ = conns[id].SetReadDeadline(time.Unix(1, 0)) // a pipe has that
		_, err := conns[id].Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	first := enter("a1")
	if first == nil || enter("a2") == nil || enter("a3") != nil {
		t.Error("a source gets other than two")
	}
	if enter("b1") == nil || enter("c1") == nil || g.len() != 4 || closed("a1") {
		t.Errorf("%d are in", g.len())
	}
	if enter("d1") == nil || g.len() != 4 || !closed("a1") || closed("a2") {
		t.Error("the oldest did not make room")
	}
	if first.leave() {
		t.Error("who was pushed out leaves once more")
	}
	if enter("a4") == nil || g.takePushed() != 2 || g.takePushed() != 0 {
		t.Error("a source that lost one gets no other")
	}
}

func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, n}) }
