// Package outlet tests what goes out besides: notifications, RabbitMQ, the ledger, hookd.
package outlet

import (
	"os"
	"testing"

	"assent/e2e/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }
