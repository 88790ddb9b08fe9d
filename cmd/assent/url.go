package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assent/internal/api"
)

// localOnly reports whether a command works with this machine's files only. --url is none of those,
// and what the environment says about hooks does not concern them.
func localOnly(c *cobra.Command) bool {
	if c.HasParent() && c.Parent().Name() == "rules" {
		return c.Name() != "explain" && c.Name() != "replay" // these ask the broker about the past
	}
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent()
	}
	switch c.Name() {
	case "up", "phone", "install", "notices", "uninstall", "serve", "service", "update", "join", "relay", "repair", "hook", "events", "nats-info", "ledger":
		return true
	}
	return false
}

// locate settles which broker a command means: that of --url, else that of --state-dir, else
// that of ASSENT_URL, else that of the default state directory.
func (a *app) locate(c *cobra.Command, env func(string) string) error {
	switch {
	case c.GroupID == aboutGroup, c.Name() == cobra.ShellCompRequestCmd, c.Name() == cobra.ShellCompNoDescRequestCmd:
		return nil // these know no broker; whoever completes ids locates it
	case c.CommandPath() == "assent acp":
		return nil // it finds the broker as a hook does: an agent must start whatever is wrong with that
	case localOnly(c) && (a.url != "" || a.caCert != "" && c.Name() != "join"):
		return usagef("%s works with the broker of this machine; it takes neither --url nor --cacert", c.CommandPath())
	case a.url != "" && a.stateDir != "":
		return usagef("--url and --state-dir exclude each other; give one")
	}
	if !localOnly(c) {
		from := "--url"
		if a.url == "" && a.stateDir == "" {
			a.url, from = env("ASSENT_URL"), "ASSENT_URL"
		}
		if a.url != "" {
			u, err := api.BrokerURL(a.url)
			if err != nil {
				return usagef("%s: %w", from, err)
			}
			a.url = u
			return nil
		}
		if a.caCert != "" {
			return usagef("--cacert goes with --url; the broker of a state directory is known by its runtime.json")
		}
	}
	if a.stateDir == "" {
		dir, err := defaultStateDir(env)
		if err != nil && c.CommandPath() == "assent ci run" {
			return nil // its broker's state lies in a directory of the run
		}
		a.stateDir = dir
		return err
	}
	abs, err := filepath.Abs(a.stateDir)
	if err != nil {
		return fmt.Errorf("state directory %s: %w", a.stateDir, err)
	}
	a.stateDir = abs
	return nil
}

// remoteTLS verifies the broker of --url, by the system's roots or by those of --cacert alone.
func (a *app) remoteTLS() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.caCert == "" {
		return c, nil
	}
	var err error
	if c.RootCAs, err = trusted(a.caCert); errors.Is(err, errNoPEM) {
		return nil, usagef("--cacert %s: %w", a.caCert, err)
	} else if err != nil {
		return nil, fmt.Errorf("--cacert: %w", err)
	}
	return c, nil
}

var errNoPEM = errors.New("holds no certificate in PEM")

// trusted are the certificates of a file; nil, which means the system's, for no file.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, errNoPEM
	}
	return pool, nil
}
