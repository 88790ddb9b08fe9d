package main

import "syscall"

// limitMemory bounds the data of this process, for one that reads what strangers' servers answer.
func limitMemory() {
	const most = 512 << 20
	var now syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &now) != nil || now.Max < most {
		return // it is bounded already
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: now.Max}) // a help where there is one
}
