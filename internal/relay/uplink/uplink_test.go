package uplink

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/relay/tunnel"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

func token(t testing.TB) string {
	t.Helper()
	tok, err := tunnel.NewToken("box")
	if err != nil {
		t.Fatal(err)
	}
	return tok.Text()
}

func TestKnown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	k := Known{URL: "wss://relay.example.org", Token: token(t), ACME: "https://acme.example/dir"}
	if err := Save(dir, k); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(dir); err != nil || got != k {
		t.Errorf("%+v, %v", got, err)
	}
	if fi, err := os.Stat(Path(dir)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := os.Chmod(Path(dir), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others read: %v", err)
	}
	for url, page := range map[string]string{
		"wss://relay.example.org": "https://box.relay.example.org", "wss://Relay.Example.org/": "https://box.relay.example.org",
		"wss://relay.example.org:443": "https://box.relay.example.org", "wss://relay.example.org:8443": "https://box.relay.example.org:8443",
		"ws://relay.example.org": "", "https://relay.example.org": "", "wss://relay": "", "wss://u:p@relay.example.org": "", "wss://relay.example.org/x": "", "wss://relay.example.org?x": "", "": "", "wss://[::1]": "",
	} {
		got, err := Known{URL: url, Token: k.Token}.Page()
		if got != page || (err == nil) != (page != "") {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	if err := Save(dir, Known{URL: k.URL, Token: "x"}); err == nil {
		t.Error("a token that is none is saved")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# x\nurl = wss://relay.example.org\ntoken = " + token(f) + "\n")
	f.Add("url = \nurl = x")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := parse(text)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := Save(dir, k); err != nil {
			t.Fatal(err)
		}
		if again, err := Load(dir); err != nil || again != k {
			t.Fatalf("%+v became %+v: %v", k, again, err)
		}
	})
}

// TestNextWait: ever longer, within bounds; longer where the relay refuses; anew after it held.
func TestNextWait(t *testing.T) {
	away, refused := errors.New("away"), error(&tunnel.RefusedError{Status: 401})
	for _, c := range []struct {
		last, took time.Duration
		err        error
		want       time.Duration
	}{
		{0, 0, away, time.Second},
		{time.Second, 0, away, 2 * time.Second},
		{40 * time.Second, 0, away, time.Minute},
		{time.Minute, time.Hour, away, time.Second},
		{0, 0, refused, 15 * time.Second},
		{4 * time.Minute, 0, refused, 5 * time.Minute},
		{5 * time.Minute, 0, away, time.Minute},
	} {
		if got := nextWait(c.last, c.took, c.err); got != c.want {
			t.Errorf("after %s, %s and %v: %s, want %s", c.last, c.took, c.err, got, c.want)
		}
	}
}

// TestOpenWaitsForNobody: a stream whose header does not come is closed, and so is one that nobody accepts.
func TestOpenWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, err := New(Config{Known: Known{URL: "wss://relay.example.org", Token: token(t)}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, sent := range []string{"", "\x0d192.0.2.1:443", "\xff"} {
			here, there := net.Pipe()
			go u.open(here)
			go func() { _, _ = there.Write([]byte(sent)) }()
			if _, err := there.Read(make([]byte, 1)); err == nil {
				t.Error("something is answered")
			}
			_ = there.Close()
		}
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		go u.open(here)
		go func() { _, _ = there.Write([]byte("\x0d192.0.2.1:443")) }()
		c, err := u.Listener().Accept()
		if err != nil || c.RemoteAddr().String() != AddrPrefix+"192.0.2.1:443" {
			t.Errorf("%v, %v", c.RemoteAddr(), err)
		}
		_ = c.Close()
	})
}

// TestRunEnds although nobody is there.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	said := make(chan struct{}, 100)
	u, err := New(Config{
		Known: Known{URL: "wss://relay.example.org", Token: token(t)}, Dir: t.TempDir(), Address: "127.0.0.1:1",
		Warnf: func(string, ...any) { said <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }()
	<-said
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := u.Listener().Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
