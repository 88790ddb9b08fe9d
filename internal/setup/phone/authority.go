package phone

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Life is how long a certificate of ours is good for. Browsers take no more than 398 days of a public
// authority, and Apple no more than 825 of one that its owner trusts (support.apple.com/103769).
const Life = 397 * 24 * time.Hour

// nobody is a name that nobody has (RFC 2606). Where a kind of name is not constrained at all, an authority
// may speak for every name of that kind (RFC 5280, 4.2.1.10), so each kind is.
const nobody = "nobody.invalid"

// Authority is what is left of a certificate authority that signed one certificate: its own certificate,
// which phones trust, and the one that it signed, with the key of that. Its own key is gone.
type Authority struct {
	Root []byte // PEM
	Cert []byte // PEM: the leaf
	Key  []byte // PEM, of the leaf; a secret
	Ends time.Time
}

// NewAuthority makes a certificate authority that may speak for these names only, signs one certificate
// for all of them, and forgets its key, which was never anywhere but in memory. name is for people and
// stands in the phone's list of what it trusts. address is required, dnsName may be empty.
func NewAuthority(name string, address netip.Addr, dnsName string, now time.Time) (Authority, error) {
	if !address.IsValid() || address.IsUnspecified() {
		return Authority{}, errors.New("a certificate needs an address")
	}
	if dnsName != "" {
		if err := checkName(dnsName); err != nil {
			return Authority{}, err
		}
	}
	ip := net.IP(address.Unmap().WithZone("").AsSlice())
	// A phone's clock may be behind.
	begins := now.Add(-time.Hour).UTC().Truncate(time.Second)
	ends := begins.Add(Life - time.Second) // both ends count
	dns := []string{nobody}
	if dnsName != "" {
		dns = []string{dnsName}
	}
	rootSerial, err := serial()
	if err != nil {
		return Authority{}, err
	}
	root := &x509.Certificate{
		SerialNumber: rootSerial, Subject: pkix.Name{CommonName: name}, NotBefore: begins, NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: dns,
		PermittedIPRanges:       []*net.IPNet{{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}},
		PermittedEmailAddresses: []string{nobody}, PermittedURIDomains: []string{nobody},
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, fmt.Errorf("make a key: %w", err)
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return Authority{}, fmt.Errorf("make the root certificate: %w", err)
	}
	if root, err = x509.ParseCertificate(rootDER); err != nil {
		return Authority{}, fmt.Errorf("read the root certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, fmt.Errorf("make a key: %w", err)
	}
	leafSerial, err := serial()
	if err != nil {
		return Authority{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: leafSerial, Subject: pkix.Name{CommonName: "assent"}, NotBefore: begins, NotAfter: ends,
		IPAddresses: []net.IP{ip}, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if dnsName != "" {
		leaf.DNSNames = []string{dnsName}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, authorityKey)
	if err != nil {
		return Authority{}, fmt.Errorf("make the certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return Authority{}, fmt.Errorf("encode the key: %w", err)
	}
	return Authority{
		Root: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}),
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		Ends: ends,
	}, nil
}

func serial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}

// checkName takes a host name, in letters that need no further encoding.
func checkName(name string) error {
	labels := strings.Split(name, ".")
	if len(name) > 253 || len(labels) < 2 {
		return fmt.Errorf("%q is no host name with a dot, such as box.local", name)
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Errorf("%q is no host name in small letters, digits and -, such as box.local", name)
		}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("%q is an address, no name", name)
	}
	return nil
}
