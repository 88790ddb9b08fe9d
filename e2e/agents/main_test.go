// Package agents tests real coding agents other than Claude Code, each in the version that it was measured
// with, against a scripted model: what assent install writes for them, and what becomes of their requests.
package agents

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
