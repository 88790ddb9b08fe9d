package broker

import (
	"net/http"
	"os/exec"
	"testing"

	"assent/e2e/rig"
)

// TestRemoteHookWaitsOverHTTPS runs `assent hook` against a broker with a certificate: the
// token of role submit may ask and nothing else, a killed hook leaves the request detached for
// a while, and without trust in the certificate nothing is asked.
func TestRemoteHookWaitsOverHTTPS(t *testing.T) {
	dir := rig.TempDir(t)
	cert, key := rig.Certificate(t, dir)
	d := rig.NewDaemon(t, "--tls-cert", cert, "--tls-key", key)
	d.Client = rig.Trusting(t, cert)
	d.Start()
	token := d.CreateToken("submit", "build server")
	url, _ := d.Owner()

	hook := func(env ...string) *rig.HookRun {
		h := &rig.HookRun{T: t, Cmd: exec.Command(rig.Program("assent"), "hook", "--url", url, "--timeout", "60s")}
		h.Cmd.Env = append(append(d.Env(), "ASSENT_TOKEN="+token), env...)
		h.Cmd.Dir = dir
		h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
		in, err := h.Cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cmd.Process.Kill() })
		if _, err := in.Write(rig.Bash("remote", "touch x")); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		return h
	}

	h := hook("SSL_CERT_FILE=" + cert)
	d.Deny(d.WaitPending(1)[0], "not on a Friday")
	if out := h.Wait(); out != rig.Denied("not on a Friday") {
		t.Errorf("the hook printed %q, %s", out, h.Stderr.String())
	}
	if status, _, err := d.As(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusForbidden {
		t.Errorf("a submit token lists requests: %d, %v", status, err)
	}

	gone := hook("SSL_CERT_FILE=" + cert)
	r := d.WaitPending(1)[0]
	if err := gone.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.Until(r.ID, "detached", func(r rig.Request) bool { return r.State == "pending" && r.Detached })

	if out := hook("SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR=/nonexistent").Wait(); out != "" {
		t.Errorf("without trust in the certificate the hook printed %q", out)
	}
}
