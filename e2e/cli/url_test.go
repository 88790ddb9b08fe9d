package cli

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// TestCommandsOverTLS runs commands against a broker of which they know the URL, a token and the
// certificate, and which would have to be another's without each of them.
func TestCommandsOverTLS(t *testing.T) {
	t.Parallel()
	dir := rig.TempDir(t)
	cert, key := rig.Certificate(t, dir)
	d := rig.NewDaemon(t, "--tls-cert", cert, "--tls-key", key)
	d.Client = rig.Trusting(t, cert)
	d.Start()
	url, _ := d.Owner()
	admin := d.CreateToken("admin", "far away")
	view := d.CreateToken("view", "onlooker")

	// far runs a command that has nothing of the broker's but what it is given.
	far := func(token string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(rig.Program("assent"), args...)
		cmd.Env = []string{"HOME=" + dir, "ASSENT_TOKEN=" + token}
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // its code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	if _, said, code := far(admin, "pending", "--url", url); code != 3 || !strings.Contains(said, "--cacert") {
		t.Errorf("without trust in the certificate: %d %s", code, said)
	}
	if out, said, code := far(admin, "pending", "--url", url, "--cacert", cert); code != 0 || !strings.Contains(out, "Nothing waits") {
		t.Errorf("pending: %d %s%s", code, out, said)
	}
	if _, said, code := far("assent_admin_wrong", "pending", "--url", url, "--cacert", cert); code != 4 {
		t.Errorf("with a wrong token: %d %s", code, said)
	}
	if out, said, code := far(view, "doctor", "--url", url, "--cacert", cert, "--json"); code != 0 || !strings.Contains(out, `"name":"token","status":"ok"`) {
		t.Errorf("doctor: %d %s%s", code, out, said)
	}

	// watch follows over TLS, and allow answers.
	cmd := exec.Command(rig.Program("assent"), "watch", "--url", url, "--cacert", cert)
	cmd.Env = []string{"HOME=" + dir, "ASSENT_TOKEN=" + admin}
	var seen rig.Output
	cmd.Stdout, cmd.Stderr = &seen, &seen
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	h := d.Hook(rig.Bash("s", "touch far-away"))
	rig.Eventually(t, rig.Soon, "watch shows the request", func() bool { return strings.Contains(seen.Tail(1<<20), "touch far-away") })
	r := d.WaitPending(1)[0]
	if _, said, code := far(view, "allow", "--url", url, "--cacert", cert, r.ID); code != 4 {
		t.Errorf("an onlooker allows: %d %s", code, said)
	}
	if _, said, code := far(admin, "allow", "--url", url, "--cacert", cert, r.ID); code != 0 {
		t.Errorf("allow: %d %s", code, said)
	}
	if out := h.Wait(); out != rig.Allowed {
		t.Errorf("the hook printed %s", out)
	}
	if _, err := io.WriteString(in, "q\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch: %v\n%s", err, seen.Tail(2000))
	}
}

// A token is not carried on to where an impostor redirects.
func TestTokenIsNotRedirected(t *testing.T) {
	t.Parallel()
	asked := make(chan http.Header, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/requests", http.StatusTemporaryRedirect))
	t.Cleanup(first.Close)
	cmd := exec.Command(rig.Program("assent"), "pending", "--url", first.URL)
	cmd.Env = []string{"HOME=" + rig.TempDir(t), "ASSENT_TOKEN=assent_admin_secret"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("a redirect is taken for an answer: %s", out)
	}
	select {
	case h := <-asked:
		t.Errorf("the redirect was followed, with %q", h.Get("Authorization"))
	default:
	}
}

// In the clear and beyond loopback the broker serves the declared proxy and nobody else.
func TestServesTheProxyAlone(t *testing.T) {
	t.Parallel()
	own := needOwnAddress(t)
	port := func(d *rig.Daemon) string {
		url, _ := d.Owner()
		_, p, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// get asks from the machine's own address, as a proxy or a stranger on the network would.
	get := func(d *rig.Daemon, header ...string) (int, string, error) {
		req, err := http.NewRequest("GET", "http://"+net.JoinHostPort(own, port(d))+"/v1/requests", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "box.example.net"
		_, token := d.Owner()
		req.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := (&http.Client{Timeout: rig.Soon, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), err
	}

	trusting := rig.Serve(t, "--listen", "0.0.0.0:0", "--trusted-proxy", own, "--public-url", "https://box.example.net")
	if status, body, err := get(trusting, "X-Forwarded-Proto", "https", "X-Forwarded-For", "203.0.113.9"); err != nil || status != http.StatusOK {
		t.Errorf("the proxy gets %d %s, %v", status, body, err)
	}
	if status, body, err := get(trusting, "X-Forwarded-Proto", "http"); err != nil || status != http.StatusForbidden || !strings.Contains(body, "https") {
		t.Errorf("what came to the proxy in the clear gets %d %s, %v", status, body, err)
	}
	if out := trusting.Command("pending"); !strings.Contains(out, "Nothing waits") {
		t.Errorf("the commands here: %s", out)
	}

	strict := rig.Serve(t, "--listen", "0.0.0.0:0", "--trusted-proxy", "203.0.113.1", "--public-url", "https://box.example.net")
	if status, body, err := get(strict, "X-Forwarded-Proto", "https"); err == nil {
		t.Errorf("a stranger gets %d %s", status, body)
	}
	rig.Eventually(t, rig.Soon, "a line in the log", func() bool { return strings.Contains(strict.Out.Tail(1<<20), "no --trusted-proxy") })
}

// needOwnAddress is an address of this machine that is not loopback.
func needOwnAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this test needs a network address beside loopback")
	return ""
}

// A one-time link is not left where it is kept.
func TestServePrintsNoLinkWhereToldSo(t *testing.T) {
	t.Parallel()
	d := rig.Serve(t, "--no-link")
	rig.Eventually(t, rig.Soon, "serve says that it is ready", func() bool {
		return regexp.MustCompile(`To pair a browser: \S*assent pair`).MatchString(d.Out.Tail(1 << 20))
	})
	if said := d.Out.Tail(1 << 20); regexp.MustCompile(`#pair|/#`).MatchString(said) {
		t.Errorf("serve --no-link prints %s", said)
	}
}
