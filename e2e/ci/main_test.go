// Package ci tests assent ci run: what it hands on, reports and refuses, alone and around the real client.
package ci

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
