package rabbit_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain also finds goroutines that outlive their connection.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
