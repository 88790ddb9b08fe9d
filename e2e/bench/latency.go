package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// latency measures from an approver's POST to the exit of the waiting hook process, against
// one fsync of a file plus one run of an empty program, both at their 99th percentile.
func (b *bench) latency() ([]row, error) {
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	const runs = 300
	var ours, base []time.Duration
	f, err := os.Create(filepath.Join(s.dir, "fsync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for i := range runs + 10 {
		cmd := exec.Command(filepath.Join(b.bin, "assent-hook"), "--socket", s.socket, "--timeout", "60s")
		cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "xdg")}
		cmd.Stdin = bytes.NewReader(payload("PermissionRequest", "bench", i))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		ps, err := s.waitPending(1, 10*time.Second)
		if err != nil {
			return nil, err
		}
		exited := make(chan time.Time, 1)
		go func() { cmd.Wait(); exited <- time.Now() }()
		start := time.Now()
		if err := s.allow(ps[0]); err != nil {
			return nil, err
		}
		d := (<-exited).Sub(start)
		if out.Len() == 0 {
			return nil, fmt.Errorf("a hook got no answer")
		}
		start = time.Now()
		if _, err := f.Write(payload("decided", "bench", i)); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		fsync := time.Since(start)
		run, err := b.time(nil, b.empty)
		if err != nil {
			return nil, err
		}
		if i >= 10 {
			ours, base = append(ours, d), append(base, fsync+run)
		}
	}
	r99, r50 := ratio(quantile(ours, .99), quantile(base, .99)), ratio(quantile(ours, .5), quantile(base, .5))
	return []row{{"decision taken → hook exited, in the record and its mark, p99 (against one fsync and one empty program, p99)", fmt.Sprintf("%.2f× (median %.2f×)", r99, r50), "≤ 1.5×", r99 <= 1.5}}, nil
}
