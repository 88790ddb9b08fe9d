package doctor

import (
	"strings"
	"testing"
	"time"

	"assent/internal/machines"
)

func TestMachines(t *testing.T) {
	now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	fine := machines.Machine{Submitter: "user:1@x", Host: "box", HookVersion: "0.2.0", Heard: now}
	if got := machineFindings([]machines.Machine{fine}, "0.2.0", now); len(got) != 1 || got[0].Status != OK || !strings.HasPrefix(got[0].Detail, "1 machine:") {
		t.Errorf("%+v", got)
	}
	if got := machineFindings(nil, "0.2.0", now); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for what, c := range map[string]struct {
		m           machines.Machine
		detail, fix string
	}{
		"older here":     {machines.Machine{Submitter: "user:1@x", Host: "box", HookVersion: "0.1.0", Differs: true, Heard: now}, "box: its hooks are 0.1.0, the broker is 0.2.0", "assent install"},
		"newer here":     {machines.Machine{Submitter: "user:1@x", Host: "box", HookVersion: "0.3.0", Differs: true, Heard: now}, "its hooks are 0.3.0", "restart the broker"},
		"older there":    {machines.Machine{Submitter: "token:1", Name: "laptop", Host: "mac", HookVersion: "0.1.0", Differs: true, Heard: now}, "laptop (calls itself mac): its hooks", "there: assent update"},
		"newer there":    {machines.Machine{Submitter: "token:1", Name: "laptop", Host: "laptop", HookVersion: "0.3.0", Differs: true, Heard: now}, "laptop: its hooks", "update the broker"},
		"not asking":     {machines.Machine{Submitter: "token:1", Name: "laptop", Heard: now, NotAsking: []machines.Session{{Mode: "dontAsk"}, {Mode: "auto"}, {Mode: "auto"}}}, "3 sessions in a mode that asks for nothing, or hardly anything: auto, dontAsk", "managed.md"},
		"never":          {machines.Machine{Submitter: "token:1", Name: "laptop"}, "was heard of never", "token revoke"},
		"long ago":       {machines.Machine{Submitter: "token:1", Name: "laptop", Used: now.Add(-8 * 24 * time.Hour)}, "was heard of not since 2026-01-12", "token revoke"},
		"without a name": {machines.Machine{Submitter: "token:1", HookVersion: "0.1.0", Differs: true, Heard: now}, "a machine without a name", "update"},
	} {
		got := machineFindings([]machines.Machine{c.m}, "0.2.0", now)
		if len(got) != 1 || got[0].Status != Warn || !strings.Contains(got[0].Detail, c.detail) || !strings.Contains(got[0].Fix, c.fix) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
