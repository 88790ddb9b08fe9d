// Package broker tests the broker as a whole: hooks that wait, approvers, rules, the event stream, and what happens when
// parts of it are killed, full or slow.
package broker

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
