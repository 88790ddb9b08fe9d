package uplink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// maxConf bounds the file, in bytes.
const maxConf = 16 << 10

// Path is where a broker keeps the relay that it knows.
func Path(stateDir string) string { return filepath.Join(stateDir, "relay.conf") }

// CertificateDir is where it keeps the certificate.
func CertificateDir(stateDir string) string { return filepath.Join(stateDir, "relay") }

// Load reads the relay that the broker of a state directory knows. Where there is none the error is
// os.ErrNotExist.
func Load(stateDir string) (Known, error) {
	path := Path(stateDir)
	b, err := ReadSecret(path)
	if err != nil {
		return Known{}, err
	}
	k, err := parse(string(b))
	if err != nil {
		return Known{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// parse reads lines "key = value": url, token, acme. Lines that begin with # are comments.
func parse(text string) (k Known, err error) {
	fields := map[string]*string{"url": &k.URL, "token": &k.Token, "acme": &k.ACME}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		field := fields[strings.TrimSpace(name)]
		if !ok || field == nil || *field != "" {
			return Known{}, fmt.Errorf("line %d: want url, token or acme, once each, as in: url = wss://relay.example.org", n)
		}
		*field = strings.TrimSpace(value)
	}
	_, _, err = k.check()
	return k, err
}

// Save has the broker of a state directory know a relay from its next start on. The file is for its owner
// only.
func Save(stateDir string, k Known) error {
	if _, _, err := k.check(); err != nil {
		return err
	}
	text := fmt.Sprintf("# The relay through which phones reach this broker. Written by: assent relay join\nurl = %s\ntoken = %s\n", k.URL, k.Token)
	if k.ACME != "" {
		text += "acme = " + k.ACME + "\n"
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("save the relay: %w", err)
	}
	if err := wholefile.Write(Path(stateDir), []byte(text), 0o600); err != nil {
		return fmt.Errorf("save the relay: %w", err)
	}
	return nil
}

// Page is the address under which browsers reach the broker through the relay, and nothing is asked for it.
func (k Known) Page() (string, error) {
	u, err := New(Config{Known: k})
	if err != nil {
		return "", err
	}
	return u.URL(), nil
}

// ReadSecret reads a small file that holds a secret, and refuses one that others than its owner may read.
func ReadSecret(path string) ([]byte, error) {
	b, err := regular.Read(path, maxConf, regular.Private)
	switch {
	case errors.Is(err, regular.ErrRefused):
		err = fmt.Errorf("%s holds a secret and is open to others than its owner; chmod 600 it", path)
	case errors.Is(err, regular.ErrLarge):
		err = fmt.Errorf("%s has more than %d bytes", path, maxConf)
	}
	return b, err
}
