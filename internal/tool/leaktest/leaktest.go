// Package leaktest finds goroutines that outlive the tests of a package.
package leaktest

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// waitLimit is how long the last ones may take to end. goleak.VerifyTestMain's 0.4 s are too few on
// a machine that others load.
const waitLimit = time.Minute

// Main runs the tests of a TestMain, which a *testing.M is, and returns the code to exit with: 1 also
// when goroutines are left, which then stand on standard error.
func Main(m interface{ Run() int }, ignore ...goleak.Option) int {
	code := m.Run()
	for end := time.Now().Add(waitLimit); code == 0; {
		err := goleak.Find(ignore...)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// NATS is what to ignore where nats-server is embedded: when it stops while its mirror asks for a
// consumer, a goroutine of it waits for the answer until its own timeout.
func NATS() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).tryDeleteSourcingConsumer.func1"),
	}
}
