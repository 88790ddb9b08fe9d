package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
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
