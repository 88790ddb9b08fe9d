// Package docs tests what the documentation says: its links, commands and examples, and the ways to https of phone.md.
package docs

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
