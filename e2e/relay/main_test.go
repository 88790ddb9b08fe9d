// Package relay tests assent relay with an ACME authority, brokers and browsers.
package relay

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
