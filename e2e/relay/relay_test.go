package relay

import (
	"crypto/tls"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"assent/e2e/rig"
)

// TestRelay is the way of a phone: it opens NAME.DOMAIN, pairs, and allows a request, of which the relay sees
// nothing. The relay is killed, which the agent does not notice, and when it is back so is the page.
func TestRelay(t *testing.T) {
	w := newWorld(t)
	tap := w.tap()
	w.start()
	d := w.broker(w.token("box"))
	d.Start()
	w.served("box")
	b := rig.NewBrowser(t, w.root())
	b.ApprovesOver(d, w.page("box"))

	const secret = "plain-text-of-a-request-5c1e"
	h := d.Hook(rig.Bash("s", "echo "+secret))
	b.See(rig.Open, secret)
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
	const name = "box." + domain // in the clear, so that something is found
	inRelay, size := inMemory(t, w.relay.cmd.Process.Pid, secret, name)
	inBroker, _ := inMemory(t, d.Cmd.Process.Pid, secret)
	t.Logf("in %d bytes of the relay's memory: %v; in the broker's: %v", size, inRelay, inBroker)
	if inRelay[secret] != 0 {
		t.Errorf("a request's text stands %d times in the relay's memory", inRelay[secret])
	}
	if inRelay[name] == 0 || inBroker[secret] == 0 {
		t.Errorf("the search finds nothing: the name %d times in the relay, the text %d times in the broker", inRelay[name], inBroker[secret])
	}
	if saw, n := tap.saw(secret); saw {
		t.Errorf("a request's text passed the relay's sockets in the clear, in %d bytes", n)
	}
	if saw, n := tap.saw(name); !saw {
		t.Errorf("%d bytes passed the relay's sockets, and no server name in them", n)
	}

	w.relay.kill()
	b.See("[data-ui=link]", rig.Word("link.waiting"))
	h = d.Hook(rig.Bash("s", "touch while-away"))
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("while the relay is away the hook printed %q", out)
	}
	if !strings.Contains(d.Out.Tail(1<<20), "is away: ") {
		t.Error("the broker does not say that the relay is away")
	}
	w.start()
	b.See("[data-ui=link]", rig.Word("link.live"))
	h = d.Hook(rig.Bash("s", "touch back-again"))
	b.See(rig.Open, "back-again")
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %q", out)
	}
}

// TestRelayAwayFromTheStart: a broker whose relay nobody has seen yet starts and answers hooks; when the relay
// comes, the broker is reached there.
func TestRelayAwayFromTheStart(t *testing.T) {
	w := newWorld(t)
	d := w.broker(w.token("box"))
	d.Start()
	h := d.Hook(rig.Bash("s", "touch alone"))
	d.Allow(d.WaitPending(1)[0])
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("without its relay the hook printed %q", out)
	}
	w.start()
	w.served("box")
	if fi, err := os.Stat(d.State + "/relay/box." + domain); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the certificate's key: %v, %v", fi, err)
	}
}

// TestRelayRefuses: names that nobody owns, a token with another's name, a second broker with the same token,
// and connections that say nothing. All the while the first broker is served.
func TestRelayRefuses(t *testing.T) {
	w := newWorld(t)
	w.start()
	file := w.token("box")
	first := w.broker(file)
	first.Start()
	w.served("box")

	for _, name := range []string{"nobody." + domain, "a.box." + domain, "box.elsewhere.example", ""} {
		_, err := tls.Dial("tcp", w.listen, &tls.Config{ServerName: name, InsecureSkipVerify: true}) // who answers at all?
		if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.token("desk")
	forged := w.dir + "/forged.token"
	if err := os.WriteFile(forged, []byte(strings.Replace(string(text), "_box_", "_desk_", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, d := range map[string]*rig.Daemon{
		"the relay does not know the token":                        w.broker(forged),
		"another broker is connected to the relay with this token": w.broker(file),
	} {
		d.Start()
		rig.Eventually(t, rig.Soon, what, func() bool { return strings.Contains(d.Out.Tail(1<<20), what) })
		h := d.Hook(rig.Bash("s", "touch refused")) // the agent has no part in this
		d.Deny(d.WaitPending(1)[0], "no")
		if out := h.Wait(); !strings.Contains(out, `"deny"`) {
			t.Errorf("%s: the hook printed %q", what, out)
		}
	}

	pid := w.relay.cmd.Process.Pid
	idle := files(t, pid)
	for what, c := range map[string]struct {
		source func(i int) net.IP
		most   int // of them that the relay keeps
	}{
		"of one source":    {func(int) net.IP { return net.IPv4(127, 0, 0, 2) }, 16},
		"of a thousand":    {func(i int) net.IP { return net.IPv4(127, 1, byte(i>>8), byte(i)) }, 256},
		"of one, and slow": {func(int) net.IP { return net.IPv4(127, 0, 0, 3) }, 16},
	} {
		var over atomic.Int64
		most := 0
		for i := range 1000 {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.source(i)}}
			conn, err := d.Dial("tcp", w.listen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if strings.HasSuffix(what, "slow") {
				_, _ = conn.Write([]byte{22, 3, 1, 2}) // it may be closed already
			}
			go func() {
				_, _ = conn.Read(make([]byte, 1))
				over.Add(1)
			}()
			if i%50 == 0 {
				most = max(most, files(t, pid)-idle)
			}
		}
		w.served("box") // meanwhile
		rig.Eventually(t, rig.Soon, "all connections that say nothing are closed", func() bool {
			most = max(most, files(t, pid)-idle)
			return over.Load() == 1000
		})
		const others = 16 // of the broker, of served
		t.Logf("of 1,000 half-open connections %s the relay had %d files open at most, and %d bytes of memory in the end", what, most, resident(t, pid))
		if most > c.most+others {
			t.Errorf("of 1,000 half-open connections %s the relay had %d files open", what, most)
		}
	}
}
