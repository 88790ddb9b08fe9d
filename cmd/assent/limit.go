package main

import "syscall"

// maxConns is how many TCP connections may be open at once: as many as hooks may wait and pages
// be open, but a quarter of the descriptors this process may have. Anybody on the machine can
// connect, and streams that cannot open their files are worse than a page that cannot be opened.
func maxConns() int {
	const most = 22_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most / 4
	}
	return int(max(16, min(most, files.Cur/4)))
}
