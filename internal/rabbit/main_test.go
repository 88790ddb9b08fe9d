package rabbit_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain also finds goroutines that outlive their connection.
func TestMain(m *testing.M) {
	code := m.Run()
	// On a machine that others load it may take a while until the last ones have ended.
	for end := time.Now().Add(time.Minute); code == 0; {
		err := goleak.Find()
		if err == nil {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
