package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"assent/internal/relay/tunnel"
	"assent/internal/relay/uplink"
	"assent/internal/server"
)

// The two packages do not know each other: what one writes the other reads.
func TestRelayedAddresses(t *testing.T) {
	if uplink.AddrPrefix != server.RelayedPrefix {
		t.Errorf("%q is not %q: a relay's claim would count as a peer's address", uplink.AddrPrefix, server.RelayedPrefix)
	}
}

// TestKnownRelay: flags win over what was joined, what was joined and is broken is told and keeps nobody from
// starting, and a flag that is wrong is an error.
func TestKnownRelay(t *testing.T) {
	dir := t.TempDir()
	token := func(name string) string {
		tok, err := tunnel.NewToken(name)
		if err != nil {
			t.Fatal(err)
		}
		return tok.Text()
	}
	file := filepath.Join(dir, "desk.token")
	if err := os.WriteFile(file, []byte(token("desk")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := func(f serveFlags) (string, int) {
		t.Helper()
		core, said := observer.New(zap.WarnLevel)
		k, err := f.knownRelay(dir, zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		if k == nil {
			return "", said.Len()
		}
		url, err := k.Page()
		if err != nil {
			t.Fatal(err)
		}
		return url, said.Len()
	}
	named := serveFlags{relay: "wss://other.example", relayTokenFile: file}
	if got, _ := page(serveFlags{}); got != "" {
		t.Errorf("without anything: %q", got)
	}
	if err := uplink.Save(dir, uplink.Known{URL: "wss://relay.example", Token: token("box")}); err != nil {
		t.Fatal(err)
	}
	if got, _ := page(serveFlags{}); got != "https://box.relay.example" {
		t.Errorf("joined: %q", got)
	}
	if got, _ := page(named); got != "https://desk.other.example" {
		t.Errorf("named by flags: %q", got)
	}
	if got, _ := page(serveFlags{relay: noRelay}); got != "" {
		t.Errorf("off: %q", got)
	}
	if err := os.WriteFile(uplink.Path(dir), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, said := page(serveFlags{}); got != "" || said != 1 {
		t.Errorf("broken: %q, and %d warnings", got, said)
	}
	for want, f := range map[string]serveFlags{
		"--relay-token-file": {relay: "wss://relay.example"},
		"go with --relay":    {relayTokenFile: file},
		"wss://":             {relay: "https://relay.example", relayTokenFile: file},
		"no such file":       {relay: "wss://relay.example", relayTokenFile: file + "x"},
	} {
		if _, err := f.namedRelay(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
