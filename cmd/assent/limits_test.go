package main

import "testing"

// Together all that others can open leaves the streams their files, and over TCP there are connections for
// approvers beside the hooks that wait and the WebSockets.
func TestLimitsOf(t *testing.T) {
	for _, files := range []uint64{128, 129, 200, 256, 1000, 1024, 4096, 20_000, 65_536, 1 << 20, 1 << 40} {
		r, err := limitsOf(files)
		if err != nil {
			t.Errorf("%d: %v", files, err)
		}
		if own := int64(files) - int64(r.unix+r.tcp+r.phone+r.readers+r.hookd); own < 32 {
			t.Errorf("%d files: %d are left, %+v", files, own, r)
		}
		for _, n := range []int{r.unix, r.tcp, r.phone, r.waiting, r.remote, r.sockets, r.readers, r.hookd} {
			if n < 5 {
				t.Errorf("%d files: %+v", files, r)
			}
		}
		if r.remote+r.sockets > r.tcp*3/4 || r.waiting > r.unix-r.unix/8 {
			t.Errorf("%d files: %+v", files, r)
		}
	}
	for _, files := range []uint64{0, 64, 127} {
		if r, err := limitsOf(files); err == nil {
			t.Errorf("%d files: %+v", files, r)
		}
	}
}
