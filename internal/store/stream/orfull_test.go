package stream

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A broker that cannot start because the disk is full says that in one line, whatever its parts call it, and nothing else is
// taken for it.
func TestOrFull(t *testing.T) {
	engine := errors.Join(
		fmt.Errorf("open stream: make stream EVENTS: %w", &jetstream.APIError{Code: 500, ErrorCode: 10049, Description: "error creating store for stream"}),
		errors.New("make bucket ASSENT_STATE: write /x/meta.inf.tmp: no space left on device"),
	)
	want := "no space left on device: 3 MiB are free in /x, and the broker starts with 16 MiB or more"
	for _, err := range []error{
		engine, fmt.Errorf("write the owner's pid: %w", &os.PathError{Op: "write", Path: "/x/lock", Err: syscall.ENOSPC}),
	} {
		got := orFull(err, "/x", 3<<20)
		if got.Error() != want || !errors.Is(got, syscall.ENOSPC) {
			t.Errorf("%v: %v", err, got)
		}
		if got := orFull(err, "/x", diskReserve); got != err {
			t.Errorf("with enough of it: %v", got)
		}
	}
	if other := errors.New("another broker has the record"); orFull(other, "/x", 0) != other {
		t.Error("another error is hidden")
	}
}
