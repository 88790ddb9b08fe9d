// Package relay tests assent relay with an ACME authority, brokers and browsers.
package relay

import (
	"fmt"
	"os"
	"testing"

	"assent/e2e/rig"
)

// toolDir holds the authority's programs. It ends with the tests.
var toolDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "assent-e2e-tools-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	toolDir = dir
	code := rig.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
