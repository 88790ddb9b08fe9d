package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"assent/internal/hook"
	"assent/internal/store/reader"
	"assent/internal/store/stream"
)

// stored runs 2,000 hook processes, 200 at a time, and reads the stream back: every payload has
// to be there, byte for byte, once. It compares the time with as many runs of an empty program.
func (b *bench) stored() ([]row, error) {
	const n, atOnce = 2000, 200
	s, err := b.serve("", "--nats-listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	event := func(i int) []byte { return payload("PostToolUse", fmt.Sprintf("bench-%d", i%atOnce), i) }
	empty, err := b.herd(n, atOnce, event, b.empty)
	if err != nil {
		return nil, err
	}
	took, err := b.herd(n, atOnce, event, filepath.Join(b.bin, "assent-hook"), "--socket", s.socket)
	if err != nil {
		return nil, err
	}
	missing := make(map[string]bool, n)
	for i := range n {
		missing[string(event(i))] = true
	}
	late, odd := 0, 0
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = reader.Read(ctx, s.natsInfo, reader.Options{All: true, Count: n}, func(e hook.Event) error {
		if !missing[string(e.Raw)] {
			odd++
		}
		delete(missing, string(e.Raw))
		if e.Spooled {
			late++
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	measured := fmt.Sprintf("%d stored, %d of them late; %.2f×", n-len(missing), late, ratio(took, empty))
	return []row{{"2,000 hook processes, 200 at a time: every event stored, byte for byte, once (time against 2,000 empty Go programs)",
		measured, "all 2,000", len(missing) == 0 && odd == 0}}, nil
}

// herd runs a program n times, some at once, each with an input of its own.
func (b *bench) herd(n, atOnce int, input func(int) []byte, name string, args ...string) (time.Duration, error) {
	var wg sync.WaitGroup
	errs := make(chan error, n)
	slots := make(chan struct{}, atOnce)
	start := time.Now()
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := exec.Command(name, args...)
			cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "xdg"), "HOOKD_SOCKET=" + b.hookd()}
			cmd.Stdin = bytes.NewReader(input(i))
			if out, err := cmd.CombinedOutput(); (err != nil || len(out) > 0) && name != b.empty {
				errs <- fmt.Errorf("%s: %w, printed %q", name, err, out)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-errs:
		return 0, err
	default:
		return took, nil
	}
}

// natsInfo is how to read the broker's stream.
func (s *server) natsInfo() (info stream.NATSInfo, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, ".runtime", "nats-info.json"))
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(text, &info)
}
