package rabbit_test

import (
	"os"
	"testing"

	"assent/internal/tool/leaktest"
)

// TestMain also finds goroutines that outlive their connection.
func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
