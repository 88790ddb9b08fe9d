// Package agents tests real coding agents other than Claude Code, each in the version that it was measured
// with, against a scripted model: what assent install writes for them, and what becomes of their requests.
package agents

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

// forRelease skips what takes minutes and repeats, with another agent or around another, what is run on every
// change, unless ASSENT_E2E_AGENTS is all, as it is each night and before a release.
func forRelease(t *testing.T) {
	t.Helper()
	if os.Getenv("ASSENT_E2E_AGENTS") != "all" {
		t.Skip("set ASSENT_E2E_AGENTS=all")
	}
}
