package policy

import "golang.org/x/sys/unix"

var withoutLinks = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS} // read-only

// linkless has the kernel walk a path and stop at the first symbolic link: one question instead of a readlink for each
// part. none is certain: no part of the path, as far as it is there, is a link. Where it is false nothing is known.
func linkless(at string) (none, there bool) {
	fd, err := unix.Openat2(unix.AT_FDCWD, at, &withoutLinks)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil || err == unix.ENOENT, err == nil
}
