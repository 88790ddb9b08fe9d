package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRemoteHookWaitsOverHTTPS runs `assent hook` against a broker with a certificate: the
// token of role submit may ask and nothing else, a killed hook leaves the request detached for
// a while, and without trust in the certificate nothing is asked.
func TestRemoteHookWaitsOverHTTPS(t *testing.T) {
	dir := tempDir(t)
	cert, key := certificate(t, dir)
	d := newDaemon(t, "--tls-cert", cert, "--tls-key", key)
	d.client = trusting(t, cert)
	d.start()
	token := d.createToken("submit", "build server")
	url, _ := d.owner()

	hook := func(env ...string) *hookRun {
		h := &hookRun{t: t, cmd: exec.Command(program("assent"), "hook", "--url", url, "--timeout", "60s")}
		h.cmd.Env = append(append(d.env(), "ASSENT_TOKEN="+token), env...)
		h.cmd.Dir = dir
		h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
		in, err := h.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.cmd.Process.Kill() })
		if _, err := in.Write(bash("remote", "touch x")); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		return h
	}

	h := hook("SSL_CERT_FILE=" + cert)
	d.deny(d.waitPending(1)[0], "not on a Friday")
	if out := h.wait(); out != denied("not on a Friday") {
		t.Errorf("the hook printed %q, %s", out, h.stderr.String())
	}
	if status, _, err := d.as(token, "GET", "/v1/requests", nil); err != nil || status != http.StatusForbidden {
		t.Errorf("a submit token lists requests: %d, %v", status, err)
	}

	gone := hook("SSL_CERT_FILE=" + cert)
	r := d.waitPending(1)[0]
	if err := gone.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.until(r.ID, "detached", func(r request) bool { return r.State == "pending" && r.Detached })

	if out := hook("SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR=/nonexistent").wait(); out != "" {
		t.Errorf("without trust in the certificate the hook printed %q", out)
	}
}

// certificate makes a key and a self-signed certificate for 127.0.0.1.
func certificate(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "assent test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// trusting is a client that accepts the certificate.
func trusting(t *testing.T, certFile string) *http.Client {
	t.Helper()
	b, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}
