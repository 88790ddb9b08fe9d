// Package page tests the page in a real browser.
package page

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
