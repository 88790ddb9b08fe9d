package policy

import (
	"errors"
	"fmt"
	"io/fs"
)

// WithoutPath returns what err says of a file without its path, for texts that name the file
// already: "cannot open it: permission denied". An error that holds no *fs.PathError, also nil, is
// returned as it is.
func WithoutPath(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return fmt.Errorf("cannot %s it: %w", at.Op, at.Err)
	}
	return err
}
