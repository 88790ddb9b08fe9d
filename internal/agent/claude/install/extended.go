package install

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// accessList is the one without which the mode means something else: its group bits are then
// those of the list's mask, and become the group's own.
const accessList = "system.posix_acl_access"

// maxExtended bounds the names, and each value, of a file's extended attributes, in bytes: what
// Linux allows.
const maxExtended = 64 << 10

// extended returns the extended attributes of a file, as far as they can be read.
func extended(f *os.File) map[string][]byte {
	names := make([]byte, maxExtended)
	n, err := unix.Flistxattr(int(f.Fd()), names)
	if err != nil || n == 0 {
		return nil
	}
	found := map[string][]byte{}
	value := make([]byte, maxExtended)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names[:n], []byte{0}), []byte{0}) {
		if n, err := unix.Fgetxattr(int(f.Fd()), string(name), value); err == nil {
			found[string(name)] = bytes.Clone(value[:n])
		}
	}
	return found
}

// extend gives a file these attributes. Only the access list has to be kept: labels are often the
// system's own, and nobody may write them.
func (a attributes) extend(f *os.File) error {
	for name, value := range a.extended {
		if err := unix.Fsetxattr(int(f.Fd()), name, value, 0); err != nil && name == accessList {
			return fmt.Errorf("keep its access list: %w", err)
		}
	}
	return nil
}
