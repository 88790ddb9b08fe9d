package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// DocsBlock returns the first fenced block of a language after a heading of a page of docs/.
// Tests run what the page says, with other ports.
func DocsBlock(t *testing.T, page, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(section)
	if m == nil {
		t.Fatalf("%s has no %s block under %q", page, language, heading)
	}
	return m[1]
}

// trustRoots makes the browser of a profile trust certificates, as a person does on a phone.
func trustRoots(t *testing.T, profile string, files []string) {
	t.Helper()
	if len(files) == 0 {
		return
	}
	certutil := Need(t, "certutil")
	db := filepath.Join(profile, ".pki", "nssdb")
	if err := os.MkdirAll(db, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		cmd := exec.Command(certutil, "-d", "sql:"+db, "-A", "-t", "C,,", "-n", filepath.Base(file), "-i", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("certutil: %v\n%s", err, out)
		}
	}
}

// ApprovesOver pairs the browser at the page's address and allows a request there.
func (b *Browser) ApprovesOver(d *Daemon, page string) {
	b.t.Helper()
	var link struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(d.Command("pair", "--json")), &link); err != nil {
		b.t.Fatal(err)
	}
	if !strings.HasPrefix(link.URL, page+"/#") {
		b.t.Errorf("the pairing link is %s, want one to %s", link.URL, page)
	}
	b.Do(chromedp.Navigate(link.URL))
	b.See("main", Word("empty.head"))
	if !Value(b, chromedp.Evaluate[bool](`isSecureContext && location.protocol === "https:"`)) {
		b.t.Error("the page is in no secure context")
	}
	h := d.Hook(Bash("s", "touch over-tls"))
	b.See(Open, "touch over-tls")
	b.Tap(Open + " [data-action=allow]")
	if out := h.Wait(); out != Allowed {
		b.t.Errorf("the hook printed %q", out)
	}
	if r := d.Settled()[0]; r.DecidedBy == nil || r.DecidedBy.Kind != "device" {
		b.t.Errorf("decided by %+v, want the paired device", r.DecidedBy)
	}
	if said := b.said.Tail(2000); said != "" {
		b.t.Errorf("the page threw: %s", said)
	}
}

// Certificate makes a key and a self-signed certificate for 127.0.0.1.
func Certificate(t *testing.T, dir string) (certFile, keyFile string) {
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

// Trusting is a client that accepts the certificate.
func Trusting(t *testing.T, certFile string) *http.Client {
	t.Helper()
	b, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}

// Authority makes a certificate authority and a certificate of it for an address: files in dir.
func Authority(t *testing.T, dir string, address net.IP) (caFile, certFile, keyFile string) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	put := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "broker"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{address},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return put("ca.pem", "CERTIFICATE", caDER), put("cert.pem", "CERTIFICATE", der), put("key.pem", "PRIVATE KEY", keyDER)
}
