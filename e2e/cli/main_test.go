// Package cli tests the commands, as a user types them (testdata/*.txtar), in terminals and under a service manager.
package cli

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
