package policy

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

var (
	withoutLinks = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}                      // read-only
	listing      = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS} // read-only
)

// linkless has the kernel walk a path and stop at the first symbolic link: one question instead of a readlink for each
// part. none is certain: no part of the path, as far as it is there, is a link. Where it is false nothing is known.
func linkless(at string) (none, there bool) {
	fd, err := unix.Openat2(unix.AT_FDCWD, at, &withoutLinks)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil || err == unix.ENOENT, err == nil
}

// noLinkIn says for certain that no name in a directory is that of a symbolic link: its file system lists every name
// that it has and what it is, and the list is short. A name is not looked for in the list, as some file systems take
// several spellings for one.
func noLinkIn(dir string) bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &listing)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default: // of others a name may be there that is not listed
		return false
	}
	var list [8 << 10]byte
	for range 4 {
		n, err := unix.ReadDirent(fd, list[:])
		if n == 0 || err != nil {
			return err == nil
		}
		for at := list[:n]; len(at) > 0; { // ino and off, 8 bytes each, the length of the entry, and what it is
			if at[18] == unix.DT_LNK || at[18] == unix.DT_UNKNOWN {
				return false
			}
			at = at[binary.NativeEndian.Uint16(at[16:]):]
		}
	}
	return false
}
