package statedir

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assent/internal/host/wholefile"
	"assent/internal/text/digest"
)

// Broker is where the running broker of a state directory is to be found, as the directory's runtime.json says.
type Broker struct {
	PID     int    `json:"pid"`
	HTTPURL string `json:"http_url"`
	Socket  string `json:"socket"`
	Version string `json:"version"`
	// CertSHA256 is the broker's certificate, by which the commands know it: its names may
	// not include the address they use. Empty without TLS.
	CertSHA256 string `json:"cert_sha256,omitempty"`
}

// maxRuntime bounds runtime.json, in bytes.
const maxRuntime = 1 << 20

func runtimeFile(dir string) string { return filepath.Join(dir, "runtime.json") }

// ReadBroker finds the broker of a state directory. It returns fs.ErrNotExist if none runs.
func ReadBroker(dir string) (b Broker, err error) {
	path := runtimeFile(dir)
	text, err := ReadFile(path, maxRuntime)
	if err != nil {
		return b, fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("read %s: %w; restart the broker", path, err)
	}
	return b, nil
}

// Write tells the commands where the broker is. It comes last: who finds it, finds a
// broker that is ready.
func (b Broker) Write(dir string) error {
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode runtime.json: %w", err)
	}
	path := runtimeFile(dir)
	if err := wholefile.WriteVolatile(path, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// RemoveBroker takes back what Write said.
func RemoveBroker(dir string) { _ = os.Remove(runtimeFile(dir)) }

// TLS accepts the one certificate that the broker named.
func (b Broker) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection checks the certificate itself instead of its names
		VerifyConnection: func(s tls.ConnectionState) error {
			if digest.Of(s.PeerCertificates[0].Raw) != b.CertSHA256 {
				return errors.New("the certificate is not the one the broker wrote to runtime.json")
			}
			return nil
		},
	}
}
