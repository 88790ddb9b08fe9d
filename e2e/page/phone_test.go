package page

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"assent/e2e/rig"
	"assent/internal/setup/phone"
)

// command is assent phone while somebody holds the phone.
type command struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  rig.Output
	ended chan error
}

func phoneCommand(t *testing.T, d *rig.Daemon, path string, args ...string) *command {
	t.Helper()
	c := &command{t: t, ended: make(chan error, 1)}
	c.cmd = exec.Command(rig.Program("assent"), append([]string{"phone", "--state-dir", d.State}, args...)...)
	c.cmd.Env = append(d.Env(), "PATH="+path)
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.ended <- c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended already
		if t.Failed() {
			t.Logf("assent phone said:\n%s", c.said.Tail(8000))
		}
	})
	return c
}

// says waits until the command has said something, and returns the first group of it, or all.
func (c *command) says(pattern string) string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	var m []string
	rig.Eventually(c.t, rig.Soon, "assent phone says "+pattern, func() bool {
		m = re.FindStringSubmatch(c.said.Tail(1 << 20))
		return m != nil
	})
	return m[len(m)-1]
}

func (c *command) end() {
	c.t.Helper()
	select {
	case err := <-c.ended:
		if err != nil {
			c.t.Errorf("assent phone: %v", err)
		}
	case <-time.After(rig.Soon):
		c.t.Fatal("assent phone does not end")
	}
}

// TestPhoneAtHome goes the way of a phone at home: it gets the root certificate over plain http, trusts it, is
// paired over https, and answers the sample. A request that waits all the time waits on, the way outlives
// the broker, and is gone after --off.
func TestPhoneAtHome(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t)
	desk := rig.NewBrowser(t)
	desk.Pair(d)
	desk.Tap("[data-action=settings]")
	desk.Tap(rig.Action("add-phone"))
	desk.See(rig.Part("add-phone"), "assent phone")
	desk.Looks("phone-add-none")
	waiting := d.Hook(rig.Bash("before", "touch before"))
	early := d.WaitPending(1)[0]
	at := rig.FreePort(t)
	_, port, _ := strings.Cut(at, ":")
	page := "https://" + at

	c := phoneCommand(t, d, "/usr/bin:/bin", "--address", "127.0.0.1", "--port", port, "--yes")
	guide := c.says(`(http://127\.0\.0\.1:\d+)\n`)
	c.says(`Phones reach the page at ` + regexp.QuoteMeta(page))
	get := func(path string) []byte {
		t.Helper()
		res, err := http.Get(guide + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, res.Status, err)
		}
		return body
	}

	// Before it trusts the root, the phone gets no further than this page.
	stranger := rig.NewBrowser(t)
	stranger.Do(chromedp.Navigate(guide))
	stranger.See("body", "Have this phone trust your assent")
	c.says(`opened`)
	stranger.Looks("phone-guide")
	if _, err := (&http.Client{Timeout: rig.Soon}).Get(page + "/healthz"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("the certificate is good for everybody: %v", err)
	}

	root := filepath.Join(rig.TempDir(t), "root.crt")
	if err := os.WriteFile(root, get("/assent-root.crt"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.says(`downloaded`)
	if shown := c.says(`the SHA-256 of the certificate:\s+([0-9A-F:]+)`); shown != phone.Fingerprint(get("/assent-root.crt")) {
		t.Errorf("the terminal shows the fingerprint %s", shown)
	}
	if strings.Contains(c.said.Tail(1<<20), "trusted:") {
		t.Fatal("a phone that trusts nothing is said to trust")
	}

	b := rig.NewBrowser(t, root)
	b.Do(chromedp.Navigate(guide))
	b.See("h1", "This phone trusts your assent") // the page went on by itself
	b.Looks("phone-trusted")
	c.says(`trusted: the phone speaks https`)
	link := c.says(`(` + regexp.QuoteMeta(page) + `/#pair=\S+)`)
	b.Do(chromedp.Navigate(link))
	name := c.says(`paired: (.+) \(approve\)`)
	number := c.says(`A sample request, number (\d+), waits on`)
	r := sampleOf(t, d, early.ID)
	if fmt.Sprint(r.Number) != number {
		t.Errorf("the sample is number %d, said is %s", r.Number, number)
	}
	b.See(rig.Open, "touch before") // the older one is first
	b.Tap(rig.Open + " [data-action=allow]")
	if out := waiting.Wait(); out != rig.Allowed {
		t.Errorf("what waited before got %q", out)
	}
	d.Until(early.ID, "answered by the phone", func(r rig.Request) bool {
		return r.DecidedBy != nil && r.DecidedBy.Kind == "device" && r.DecidedBy.Name == name
	})
	b.See(rig.Open, "npm install --save-dev vitest")
	b.Looks("phone-sample")
	b.Tap(rig.Open + " [data-action=allow]")
	c.says(`answered after [0-9.]+m?s: You allowed it from ` + regexp.QuoteMeta(name))
	c.end()
	if _, err := http.Get(guide); err == nil {
		t.Error("the page with the certificate outlives the command")
	}

	// A page says the same to who looks there: the address only, and no code that pairs.
	b.Tap("[data-action=settings]")
	b.Tap(rig.Action("add-phone"))
	b.See(rig.Part("add-phone"), "It opens "+page+".")
	b.See(rig.Part("add-phone"), "assent pair CODE")
	if !b.Has(rig.Part("add-phone") + " svg.qr path[d^=M]") {
		t.Error("there is no code to scan")
	}
	b.Accessible("add-phone")
	b.Looks("phone-add")

	// The way is there for the next broker, too.
	d.Kill()
	d.Start()
	b.Do(chromedp.Navigate(page))
	b.See("[data-ui=link]", rig.Word("link.live"))
	b.View(rig.Word("views.inbox")) // the page shows what it showed before it was loaded again
	h := d.Hook(rig.Bash("after", "touch after"))
	b.See(rig.Open, "touch after")
	b.Tap(rig.Open + " [data-action=allow]")
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("after a restart the hook printed %q", out)
	}
	if out := d.Command("phone", "--json"); !strings.Contains(out, `"url":"`+page+`"`) || strings.Contains(out, "PRIVATE") {
		t.Errorf("what is there already: %s", out)
	}
	if out := d.Command("doctor", "--json"); !strings.Contains(out, `"name":"phone","status":"ok"`) {
		t.Errorf("doctor: %s", out)
	}

	d.Command("phone", "--off")
	rig.Eventually(t, rig.Soon, "nobody listens any more", func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	b.See("[data-ui=link]", rig.Word("link.waiting"))
	if _, err := os.Stat(phone.File(d.State)); err == nil {
		t.Error("the key is still there")
	}
}

// sampleOf is the request that waits beside another.
func sampleOf(t *testing.T, d *rig.Daemon, but string) rig.Request {
	t.Helper()
	for _, r := range d.WaitPending(2) {
		if r.ID != but {
			return r
		}
	}
	t.Fatal("no sample")
	panic("unreachable")
}

// TestPhoneOverTailscale puts a stand-in for tailscale on the path, which notes how it is called, and a proxy
// that does what tailscale serve does.
func TestPhoneOverTailscale(t *testing.T) {
	t.Parallel()
	var front net.Listener
	var err error
	used := `"3":{}`
	for _, port := range []string{"9443", "7443", "8443", "443"} {
		if front == nil {
			if front, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
				continue
			}
		}
		used += `,"` + port + `":{"HTTPS":true}`
	}
	if front == nil {
		t.Skip("no port that tailscale would use is free here")
	}
	port := front.Addr().(*net.TCPAddr).Port
	page := fmt.Sprintf("https://box.example:%d", port)
	if port == 443 {
		page = "https://box.example"
	}
	dir := rig.TempDir(t)
	standIn := `#!/bin/sh
echo "$*" >> ` + dir + `/calls
case "$*" in
"status --json") echo '{"BackendState":"Running","Self":{"DNSName":"box.example."},"CertDomains":["box.example"]}';;
"serve status --json") if [ -f ` + dir + `/serving ]; then cat ` + dir + `/serving; else echo '{"TCP":{` + used + `}}'; fi;;
"serve --bg --https="*) echo '{"TCP":{` + used + `,"` + fmt.Sprint(port) + `":{"HTTPS":true}},"Web":{"box.example:` + fmt.Sprint(port) + `":{"Handlers":{"/":{"Proxy":"'"$4"'"}}}}}' > ` + dir + `/serving;;
"serve --https=` + fmt.Sprint(port) + ` off") rm ` + dir + `/serving;;
*) echo "not expected: $*" >&2; exit 1;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "tailscale"), []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	calls := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	authority, err := phone.NewAuthority("a stand-in for a public one", netip.MustParseAddr("127.0.0.1"), "box.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(authority.Cert, authority.Key)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root.pem")
	if err := os.WriteFile(root, authority.Root, 0o600); err != nil {
		t.Fatal(err)
	}
	d := rig.Serve(t)
	own, _ := d.Owner()
	target, err := url.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
		r.Out.Header.Set("X-Forwarded-Proto", "https")
		r.Out.Header.Set("X-Forwarded-For", "100.101.102.103")
	}})
	_ = proxy.Listener.Close()
	proxy.Listener = front
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)

	// Without a terminal and without --yes nothing is done.
	path := dir + ":/usr/bin:/bin"
	refused := phoneCommand(t, d, path)
	if err := <-refused.ended; err == nil || !strings.Contains(refused.said.Tail(4000), "--yes") {
		t.Errorf("%v: %s", err, refused.said.Tail(4000))
	}
	if strings.Contains(calls(), "--bg") {
		t.Errorf("something was changed:\n%s", calls())
	}

	c := phoneCommand(t, d, path, "--yes")
	runs := c.says(`assent would run\s+(\S.*)\n`)
	link := c.says(`(` + regexp.QuoteMeta(page) + `/#pair=\S+)`)
	if want := fmt.Sprintf("tailscale serve --bg --https=%d %s", port, own); !strings.HasSuffix(runs, want) || !strings.Contains(calls(), strings.TrimPrefix(want, "tailscale ")+"\n") {
		t.Errorf("it says %q and did\n%s", runs, calls())
	}
	b := rig.NewBrowser(t, root)
	b.Do(chromedp.Navigate(link))
	c.says(`A sample request, number \d+, waits on`)
	b.Tap(rig.Open + " [data-action=allow]")
	c.says(`answered after`)
	c.end()
	b.Quiet()

	// Whom the proxy names is believed now: the phone's own address is seen.
	door := b.Device()
	door.Do(chromedp.Navigate(page))
	door.Tap(rig.PairHere)
	door.Code("")
	if list := d.WaitingDevices(); len(list) != 1 || list[0].From != "100.101.102.103" {
		t.Errorf("waiting %+v", list)
	}

	off := phoneCommand(t, d, path, "--off")
	off.end()
	if want := fmt.Sprintf("serve --https=%d off\n", port); !strings.HasSuffix(calls(), want) {
		t.Errorf("undone by\n%s", calls())
	}
	rig.Eventually(t, rig.Soon, "the broker answers to the name no more", func() bool {
		r, err := http.NewRequest("GET", own+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = strings.TrimPrefix(page, "https://")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusMisdirectedRequest
	})
}
