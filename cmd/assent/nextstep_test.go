package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestNextStep: where nothing can be written, the error says what to do.
func TestNextStep(t *testing.T) {
	write := func(why error) error {
		return fmt.Errorf("keep a key: %w", &os.PathError{Op: "write", Path: "/x/k", Err: why})
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{write(syscall.ENOSPC), "free some space"},
		{write(syscall.EDQUOT), "free some space"},
		{errors.New("make stream EVENTS: write /x/meta.inf: no space left on device"), "free some space"},
		{write(syscall.EROFS), "nothing can be written there"},
		{fmt.Errorf("the directory is read-only (%w); chmod u+w, or choose another --scope", syscall.EROFS), ""},
		{write(syscall.ENOENT), ""},
		{errors.New("no broker is running"), ""},
	} {
		if got := nextStep(c.err); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("after %q: %q, want %q", c.err, got, c.want)
		}
	}
}

// A broker that cannot start because the disk is full says that in one line, whatever its parts call it, and nothing else is
// taken for it.
func TestFullDisk(t *testing.T) {
	engine := errors.Join(
		fmt.Errorf("open stream: make stream EVENTS: %w", &jetstream.APIError{Code: 500, ErrorCode: 10049, Description: "error creating store for stream"}),
		errors.New("make bucket ASSENT_STATE: write /x/meta.inf.tmp: no space left on device"),
	)
	const kept = 16 << 20
	want := "no space left on device: 3 MiB are free in /x, and the broker starts with 16 MiB or more"
	for _, err := range []error{
		engine, fmt.Errorf("write the owner's pid: %w", &os.PathError{Op: "write", Path: "/x/lock", Err: syscall.ENOSPC}),
	} {
		got := fullDisk(err, "/x", 3<<20, kept)
		if got.Error() != want || !strings.HasPrefix(nextStep(got), "free some space") {
			t.Errorf("%v: %v; %s", err, got, nextStep(got))
		}
		if got := fullDisk(err, "/x", kept, kept); got != err {
			t.Errorf("with enough of it: %v", got)
		}
	}
	if other := errors.New("another broker has the record"); fullDisk(other, "/x", 0, kept) != other {
		t.Error("another error is hidden")
	}
}
