package executor

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A shell that starts the tests in the background has them ignore an interrupt, and all that they start: nothing
	// would end by one. What a program handles, what it starts does not ignore.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	goleak.VerifyTestMain(m)
}

// testJournal opens a journal, and makes it where there is none.
func testJournal(path string, each func(entry)) (*journal, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeJournal(path); err != nil {
			return nil, err
		}
	}
	return openJournal(path, each)
}
