package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestWithoutPath(t *testing.T) {
	err := WithoutPath(fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "/x/rules.yaml", Err: fs.ErrPermission}))
	if err.Error() != "cannot open it: permission denied" || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	other := errors.New("it is no regular file")
	if WithoutPath(other) != other || WithoutPath(nil) != nil {
		t.Error("an error without a path is changed")
	}
}
