// Package release tests what make release makes: archives, packages, the install script.
package release

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
