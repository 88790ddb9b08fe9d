package rabbit_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"assent/internal/tool/leaktest"
)

// atOnce is how many tests run side by side, if -parallel does not say it: they wait most of the time.
const atOnce = 8

// TestMain also finds goroutines that outlive their connection.
func TestMain(m *testing.M) {
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Value.Set(strconv.Itoa(atOnce))
	}
	os.Exit(leaktest.Main(tests{m}))
}

// tests ends the shared node behind the last test.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer func() {
		if s := sharedNow.Load(); s != nil {
			s.close()
		}
	}()
	return m.M.Run()
}
