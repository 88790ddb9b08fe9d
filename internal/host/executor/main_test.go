package executor

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testJournal opens a journal, and makes it where there is none.
func testJournal(path string, each func(entry)) (*journal, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeJournal(path); err != nil {
			return nil, err
		}
	}
	return openJournal(path, each)
}
