package install

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// Who may read and write the file is not in its mode alone: with an access list the bits of the
// group are those of the list's mask.
func TestExtendedAttributesStay(t *testing.T) {
	o := home(t, []byte("{}\n"))
	path := settingsPath(o)
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 6, 12345}, {4, 0, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	want := map[string][]byte{"user.note": []byte("mine"), "system.posix_acl_access": list}
	for name, value := range want {
		if err := unix.Setxattr(path, name, value, 0); err != nil {
			t.Skipf("this file system keeps no %s: %v", name, err)
		}
	}
	for _, plan := range []func(Options) (Plan, error){Install, Uninstall} {
		apply(t, plan, o)
		for name, value := range want {
			got := make([]byte, 256)
			n, err := unix.Getxattr(path, name, got)
			if err != nil || !bytes.Equal(got[:n], value) {
				t.Errorf("%s: %x, %v; want %x", name, got[:max(n, 0)], err, value)
			}
		}
	}
}
