package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// giveBackMemory returns what a burst needed to the system once it is over: a broker idles for
// hours, and without traffic nothing else would make the collector run.
func giveBackMemory(ctx context.Context) error {
	t := time.NewTicker(10 * time.Second)
	defer t.Stop()
	var seen, done uint32 // collections at the last look, and after the last return
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.NumGC == seen && m.NumGC != done { // quiet since the last look
			runtime.GC() // pools give up what they hold at the second collection only
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
			done = m.NumGC
		}
		seen = m.NumGC
	}
}
