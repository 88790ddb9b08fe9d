// Package phone makes the page reachable from a phone over https: by a tailscale that runs already, or, at
// home, by a certificate authority of its own that is gone once it has signed one certificate. What
// came of it is one small file in the state directory, the door, which the broker follows.
//
// Neither the broker nor a terminal is known here.
package phone

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// Way says how a phone reaches the page.
type Way string

// The ways.
const (
	Tailscale Way = "tailscale" // tailscale serve, on this machine, passes requests on to the broker
	Relay     Way = "relay"     // the broker is connected to a relay, which passes on what comes for its name; no file
	Home      Way = "home"      // the broker listens on an address of the network at home, with a certificate of its own
)

// Door is how phones reach the page: the file <state>/phone.json, which only its owner may read.
type Door struct {
	Way Way `json:"way"`
	// URL is what phones open: scheme, host and, unless it is 443, port.
	URL string `json:"url"`

	// Of Tailscale: the port of https, and where it passes requests on to.
	Port   int    `json:"port,omitempty"`
	Target string `json:"target,omitempty"`

	// Of Home: address and port to listen on, and the certificate in PEM.
	Listen string `json:"listen,omitempty"`
	Root   string `json:"root,omitempty"`
	Cert   string `json:"certificate,omitempty"`
	Key    string `json:"key,omitempty"` // a secret
}

// File is where the door of a state directory is kept.
func File(stateDir string) string { return filepath.Join(stateDir, "phone.json") }

// maxFile bounds the file, in bytes.
const maxFile = 64 << 10

// Load reads the door of a state directory; an error that is fs.ErrNotExist says that there is none. A file
// that others could read or that another user wrote is refused.
func Load(stateDir string) (*Door, error) {
	file := File(stateDir)
	b, err := regular.Read(file, maxFile, regular.Mine|regular.Private)
	switch {
	case errors.Is(err, regular.ErrRefused):
		return nil, fmt.Errorf("%s has to be a file of yours that nobody else can read: chmod 600", file)
	case errors.Is(err, regular.ErrLarge):
		return nil, fmt.Errorf("%s is too large", file)
	case err != nil:
		return nil, err
	}
	d, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; to begin anew: assent phone --off, then assent phone", file, err)
	}
	return d, nil
}

// Parse reads a door and checks it: a door beyond this machine has a certificate for its very address.
func Parse(b []byte) (*Door, error) {
	var d Door
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("not readable: %w", err)
	}
	u, err := url.Parse(d.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("url: want https://HOST or https://HOST:PORT")
	}
	switch d.Way {
	case Tailscale:
		if d.Listen != "" || d.Port < 1 || d.Port > 65535 || !strings.HasPrefix(d.Target, "http://127.0.0.1:") {
			return nil, errors.New("port and target: want those of tailscale serve")
		}
		return &d, nil
	case Home:
	default:
		return nil, fmt.Errorf("way %q: want tailscale or home", d.Way)
	}
	at, err := netip.ParseAddrPort(d.Listen)
	if err != nil || at.Port() == 0 {
		return nil, errors.New("listen: want ADDRESS:PORT")
	}
	if err := AtHome(at.Addr()); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	cert, err := d.certificate()
	if err != nil {
		return nil, err
	}
	for _, host := range []string{u.Hostname(), at.Addr().String()} {
		if err := cert.Leaf.VerifyHostname(host); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	if p := u.Port(); p != strconv.Itoa(int(at.Port())) {
		return nil, errors.New("url: its port is not that of listen")
	}
	return &d, nil
}

// Save writes the door of a state directory, as a whole or not at all.
func (d *Door) Save(stateDir string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the door: %w", err)
	}
	if err := wholefile.Write(File(stateDir), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the door: %w", err)
	}
	return nil
}

// Remove takes the door of a state directory away; that there is none is no error.
func Remove(stateDir string) error {
	if err := os.Remove(File(stateDir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// URLs are the addresses under which phones may call the broker, the one to open first.
func (d *Door) URLs() []string {
	urls := []string{d.URL}
	if other := "https://" + d.Listen; d.Way == Home && other != d.URL {
		urls = append(urls, other)
	}
	return urls
}

// Proxies are the addresses whose word about who calls is believed.
func (d *Door) Proxies() []netip.Prefix {
	if d.Way != Tailscale {
		return nil
	}
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 32)}
}

// Certificate is what the broker shows to phones; nil where somebody before it does.
func (d *Door) Certificate() (*tls.Certificate, error) {
	if d.Way != Home {
		return nil, nil
	}
	return d.certificate()
}

func (d *Door) certificate() (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair([]byte(d.Cert), []byte(d.Key))
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &cert, nil
}

// Ends is when the certificate does; the zero time where there is none.
func (d *Door) Ends() time.Time {
	cert, err := d.Certificate()
	if err != nil || cert == nil {
		return time.Time{}
	}
	return cert.Leaf.NotAfter
}

// Soon is how long before its end a certificate is to be renewed: a new one has to be put on each phone.
const Soon = 30 * 24 * time.Hour

// RootDER is the root certificate that phones trust, nil where there is none.
func (d *Door) RootDER() []byte {
	block, _ := pem.Decode([]byte(d.Root))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil
	}
	return block.Bytes
}

// Roots trusts the root of the door alone.
func (d *Door) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(d.Root))
	return pool
}

// Fingerprint is the SHA-256 of a certificate, as phones show it: pairs of digits with colons between.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}
