// Package powercut is a file system for tests that forgets what was not synced. It shows a
// directory at another place (FUSE), and remembers what each write and truncation replaced until the
// file is synced. A Cut puts that back: each file has the contents of its last fsync, a file that was
// never synced is empty. Names are durable at once, as on a journalling file system.
//
// # Concurrency
//
// The kernel calls from any goroutine. Mount, Cut and Close are for one goroutine, at a time when
// no process uses the files.
package powercut
