package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"assent/internal/relay/uplink"
	"assent/internal/setup/phone"
)

// A relay that the broker knows is the first way to a phone, and the only one with --way relay.
func TestPhoneByRelay(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	a := &app{stateDir: dir, out: &out, err: &out}
	if door, err := a.phoneState(t.Context()); door != nil || err != nil {
		t.Errorf("without a relay: %v, %v", door, err)
	}
	if _, err := a.relayDoor(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a relay: %v", err)
	}
	only := &phoning{app: a, f: phoneFlags{way: "relay", role: "approve", yes: true}}
	if _, err := only.ways(t.Context()); err == nil || !strings.Contains(err.Error(), "relay join") {
		t.Errorf("--way relay without one: %v", err)
	}

	token := "assent_relay_box_" + strings.Repeat("A", 43)
	if err := uplink.Save(dir, uplink.Known{URL: "wss://relay.invalid", Token: token}); err != nil {
		t.Fatal(err)
	}
	ways, err := only.ways(t.Context())
	if err != nil || len(ways) != 1 || ways[0].name != phone.Relay {
		t.Fatalf("%+v, %v", ways, err)
	}
	door, _, err := ways[0].make(t.Context())
	if err != nil || door.URL != "https://box.relay.invalid" {
		t.Errorf("%+v, %v", door, err)
	}
	if yes, err := ways[0].offer(t.Context()); !yes || err != nil || !strings.Contains(out.String(), "https://box.relay.invalid") {
		t.Errorf("offered as %q: %v, %v", out.String(), yes, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // nothing answers at a name that does not exist; it is not waited for here
	if err := only.enter(gone, ways[0], nil); err == nil || only.door != nil {
		t.Errorf("entered a relay that is away: %v", err)
	}
	if _, err := phone.Load(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a door was written: %v", err)
	}
	if door, err := a.phoneState(gone); door == nil || door.Way != phone.Relay || err == nil {
		t.Errorf("doctor is told %v, %v", door, err)
	}
	first := &phoning{app: a, f: phoneFlags{role: "approve", yes: true}}
	if ways, err := first.ways(t.Context()); err != nil || len(ways) < 2 || ways[0].name != phone.Relay {
		t.Errorf("%+v, %v", ways, err)
	}
}
