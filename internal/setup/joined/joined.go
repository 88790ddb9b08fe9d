// Package joined keeps what a machine knows of the broker elsewhere that its agents ask.
package joined

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assent/internal/api"
	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
	"assent/internal/setup/hookconf"
	"assent/internal/setup/statedir"
)

// Broker is what a machine remembers of the broker that it joined, to leave it again. It holds no secret.
type Broker struct {
	URL     string    `json:"url"`
	Name    string    `json:"name"` // what the broker calls this machine
	TokenID string    `json:"tokenId"`
	Scope   string    `json:"scope"` // of the hooks
	Hooks   bool      `json:"hooks"` // they are written
	Answers bool      `json:"answers"`
	At      time.Time `json:"at"`
}

// ParseLink is the broker and the code of a link.
func ParseLink(text string) (broker, code string, err error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return "", "", errors.New("this is no link")
	}
	code, ok := strings.CutPrefix(u.Fragment, "join=")
	if !ok || code == "" {
		if strings.HasPrefix(u.Fragment, "pair=") {
			return "", "", errors.New("this link pairs a browser; for a machine: assent pair --join --name NAME")
		}
		return "", "", errors.New("the link has no #join=…: put it in quotes, and take all of it")
	}
	u.Fragment = ""
	broker, err = api.BrokerURL(u.String())
	return broker, code, err
}

// maxFile bounds the file, in bytes.
const maxFile = 1 << 20

// File is where a machine remembers that it joined.
func File(stateDir string) string { return filepath.Join(stateDir, "joined.json") }

// CAFile is a copy of the certificates that it trusts, in the directory of hook.conf.
func CAFile(confDir string) string { return filepath.Join(confDir, "broker-ca.pem") }

// Load is the broker that this machine joined, the zero value if it joined none.
func Load(stateDir string) (j Broker, err error) {
	b, err := regular.Read(File(stateDir), maxFile, 0)
	if errors.Is(err, os.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil {
		return j, fmt.Errorf("read %s: %w", File(stateDir), err)
	}
	return j, nil
}

// Save remembers that this machine joined.
func (j Broker) Save(stateDir string) error {
	if err := statedir.Make(stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return wholefile.Write(File(stateDir), append(b, '\n'), 0o600)
}

// Keep writes what the hooks need into confDir, and before it what leaving needs. caCert is the file of certificates
// that was named, if one was.
func (j Broker) Keep(stateDir, confDir, secret, caCert string) error {
	if err := j.Save(stateDir); err != nil {
		return err
	}
	if err := os.MkdirAll(confDir, 0o700); err != nil {
		return err
	}
	ca := ""
	if caCert != "" {
		b, err := os.ReadFile(caCert)
		if err != nil {
			return fmt.Errorf("--cacert: %w", err)
		}
		ca = CAFile(confDir)
		if err := wholefile.Write(ca, b, 0o600); err != nil {
			return err
		}
	}
	_, err := hookconf.Set(hookconf.Path(confDir), hookconf.Setting{Name: "token", Value: secret}, hookconf.Setting{Name: "cacert", Value: ca})
	return err
}

// Forget takes away what Keep wrote.
func Forget(stateDir, confDir string) error {
	if _, err := hookconf.Set(hookconf.Path(confDir), hookconf.Setting{Name: "token"}, hookconf.Setting{Name: "cacert"}); err != nil {
		return err
	}
	for _, name := range []string{CAFile(confDir), File(stateDir)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
