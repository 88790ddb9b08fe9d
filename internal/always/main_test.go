package always

import (
	"os"
	"testing"

	"assent/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
