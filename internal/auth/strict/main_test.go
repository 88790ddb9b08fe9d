package strict

import (
	"os"
	"testing"
	"time"
)

// What a verdict is does not depend on how busy the machine of the tests is.
func TestMain(m *testing.M) {
	evalTime = 10 * time.Minute
	os.Exit(m.Run())
}
