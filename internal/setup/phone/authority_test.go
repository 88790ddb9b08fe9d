package phone

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestAuthoritySpeaksForItsNamesOnly signs certificates for other names of every kind with the
// authority's template: crypto/x509 must refuse each, and take the one that the authority made.
func TestAuthoritySpeaksForItsNamesOnly(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, name := range []string{"", "box.local"} {
		at := netip.MustParseAddr("192.168.1.20")
		a, err := NewAuthority("assent on box", at, name, now)
		if err != nil {
			t.Fatal(err)
		}
		root, leaf := parse(t, a.Root), parse(t, a.Cert)
		roots := x509.NewCertPool()
		roots.AddCert(root)
		for _, host := range []string{at.String(), name} {
			if host == "" {
				continue
			}
			if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
				t.Errorf("its own name %s: %v", host, err)
			}
		}
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "evil.example", Roots: roots}); err == nil {
			t.Error("the certificate is good for a name that is not in it")
		}
		for _, c := range []*x509.Certificate{root, leaf} {
			if life := c.NotAfter.Sub(c.NotBefore); life > 397*24*time.Hour || life < 396*24*time.Hour {
				t.Errorf("good for %v", life)
			}
			if !now.After(c.NotBefore) {
				t.Error("not good yet")
			}
		}
		if leaf.IsCA || !root.MaxPathLenZero || !root.PermittedDNSDomainsCritical || root.KeyUsage != x509.KeyUsageCertSign {
			t.Errorf("leaf CA %v, root %+v", leaf.IsCA, root.KeyUsage)
		}

		// The authority's own key is gone, so another stands in for it, under the same constraints.
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		again := *root
		again.PublicKey = nil
		der, err := x509.CreateCertificate(rand.Reader, &again, &again, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		same, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		roots = x509.NewCertPool()
		roots.AddCert(same)
		mail, link := []string{"me@evil.example"}, []*url.URL{{Scheme: "https", Host: "evil.example"}}
		for what, other := range map[string]*x509.Certificate{
			"a name":               {DNSNames: []string{"evil.example"}},
			"a name below":         {DNSNames: []string{"box.local.evil.example"}},
			"every name":           {DNSNames: []string{"*.example"}},
			"an address":           {IPAddresses: []net.IP{{192, 168, 1, 21}}},
			"a long address":       {IPAddresses: []net.IP{net.ParseIP("fd00::1")}},
			"its address, and one": {IPAddresses: []net.IP{{192, 168, 1, 20}, {8, 8, 8, 8}}},
			"mail":                 {IPAddresses: []net.IP{{192, 168, 1, 20}}, EmailAddresses: mail},
			"a link":               {IPAddresses: []net.IP{{192, 168, 1, 20}}, URIs: link},
			"an authority":         {IPAddresses: []net.IP{{192, 168, 1, 20}}, IsCA: true, BasicConstraintsValid: true},
			"its own":              {IPAddresses: []net.IP{{192, 168, 1, 20}}},
		} {
			other.SerialNumber, other.NotBefore, other.NotAfter = big.NewInt(2), now.Add(-time.Hour), now.Add(time.Hour)
			other.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			der, err := x509.CreateCertificate(rand.Reader, other, same, &key.PublicKey, key)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			chain := []*x509.Certificate{cert}
			if cert.IsCA { // it signs a certificate in turn
				below := &x509.Certificate{SerialNumber: big.NewInt(3), NotBefore: other.NotBefore, NotAfter: other.NotAfter, IPAddresses: other.IPAddresses, ExtKeyUsage: other.ExtKeyUsage}
				if der, err = x509.CreateCertificate(rand.Reader, below, cert, &key.PublicKey, key); err != nil {
					t.Fatal(err)
				}
				if cert, err = x509.ParseCertificate(der); err != nil {
					t.Fatal(err)
				}
				chain = append([]*x509.Certificate{cert}, chain...)
			}
			between := x509.NewCertPool()
			for _, c := range chain[1:] {
				between.AddCert(c)
			}
			_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			if good := err == nil; good != (what == "its own") {
				t.Errorf("named %q, a certificate for %s: %v", name, what, err)
			}
		}
		if _, err := tls.X509KeyPair(a.Cert, a.Key); err != nil {
			t.Error(err)
		}
	}
}

func TestAuthorityWantsNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"box", "Box.local", "*.local", "box..local", "-a.local", "192.168.1.20", "a b.local", strings.Repeat("a", 64) + ".local", strings.Repeat("a.", 130) + "local"} {
		if _, err := NewAuthority("x", netip.MustParseAddr("10.0.0.1"), name, time.Now()); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	if _, err := NewAuthority("x", netip.IPv4Unspecified(), "", time.Now()); err == nil {
		t.Error("an authority for every address")
	}
}

// home makes a door with a certificate.
func home(t *testing.T) *Door {
	t.Helper()
	a, err := NewAuthority("assent on box", netip.MustParseAddr("127.0.0.1"), "box.local", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &Door{Way: Home, URL: "https://box.local:7718", Listen: "127.0.0.1:7718", Root: string(a.Root), Cert: string(a.Cert), Key: string(a.Key)}
}

func TestDoorIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := home(t)
	if err := d.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil || *got != *d {
		t.Fatalf("%v %+v", err, got)
	}
	// Of keys there is one, that of the certificate; of the authority none.
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || strings.Count(string(text), "PRIVATE KEY-----") != 2 {
		t.Errorf("%v\n%s", err, text)
	}
	if pair, err := tls.X509KeyPair([]byte(d.Root), []byte(d.Key)); err == nil {
		t.Errorf("the key is the authority's: %v", pair.Leaf.Subject)
	}
	if fi, err := os.Stat(files[0]); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if urls := got.URLs(); len(urls) != 2 || urls[1] != "https://127.0.0.1:7718" {
		t.Errorf("%q", urls)
	}
	if err := os.Chmod(files[0], 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a key that others can read is used")
	}
	if err := Remove(dir); err != nil {
		t.Error(err)
	}
	if err := Remove(dir); err != nil {
		t.Errorf("twice: %v", err)
	}
}

func TestDoorIsChecked(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(d *Door){
		"no certificate":  func(d *Door) { d.Cert = "" },
		"no key":          func(d *Door) { d.Key = "" },
		"another name":    func(d *Door) { d.URL = "https://other.local:7718" },
		"another address": func(d *Door) { d.Listen = "127.0.0.2:7718" },
		"every address":   func(d *Door) { d.Listen = "0.0.0.0:7718" },
		"the internet":    func(d *Door) { d.Listen = "8.8.8.8:7718" },
		"another port":    func(d *Door) { d.URL = "https://box.local" },
		"plain http":      func(d *Door) { d.URL = "http://box.local:7718" },
		"a path":          func(d *Door) { d.URL += "/x" },
		"an unknown way":  func(d *Door) { d.Way = "relay" },
		"tailscale to anywhere": func(d *Door) {
			*d = Door{Way: Tailscale, URL: "https://a.ts.net", Port: 443, Target: "http://10.0.0.1:80"}
		},
		"tailscale that listens": func(d *Door) {
			d.Way, d.Port, d.Target = Tailscale, 443, "http://127.0.0.1:7717"
		},
	} {
		d, dir := home(t), t.TempDir()
		change(d)
		if err := d.Save(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"way":"tailscale","url":"https://a.ts.net","port":443,"target":"http://127.0.0.1:7717"}`))
	f.Add([]byte(`{"way":"home","url":"https://10.0.0.1:1","listen":"10.0.0.1:1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		if cert, err := d.Certificate(); err != nil || d.Listen != "" && cert == nil {
			t.Errorf("a door that listens without a certificate: %s", b)
		}
	})
}
