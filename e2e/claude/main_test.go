// Package claude tests the real Claude Code client against a scripted model: hooks, prompt tool, plugin, settings.
package claude

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
