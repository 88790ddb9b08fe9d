package stream

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/torture/baddisk"
)

// TestSlowDisk writes to a disk on which each fsync takes longer than a silent one is waited for. What is refused
// meanwhile is to be tried again soon, and once the disk has shown how slow it is nothing is refused at all.
func TestSlowDisk(t *testing.T) {
	if !baddisk.Possible() {
		t.Skip("this user may not mount an image, or there is no mkfs.ext4")
	}
	disk, err := baddisk.New(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Skipf("no disk can be made here: %v", err)
	}
	defer disk.End()
	log := &testLog{}
	log.show(t)
	s, err := Open(t.Context(), Config{Dir: filepath.Join(disk.Dir, "state"), Logf: log.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	slow := make(chan error, 1)
	go func() { slow <- disk.Slow(ctx, 2*writeTimeout, time.Hour) }()
	defer func() {
		cancel()
		if err := <-slow; err != nil {
			t.Error(err)
		}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	insist := func(write func() error) {
		t.Helper()
		for {
			err := write()
			if err == nil {
				return
			}
			if !errors.Is(err, broker.ErrPassing) {
				t.Fatal(err)
			}
			<-tick.C
		}
	}
	record := func(a hook.Record) func() error {
		return func() error { _, err := s.Append(t.Context(), a, 0); return err }
	}
	publish := func(e hook.Event) func() error {
		return func() error { _, err := s.Publish(t.Context(), e); return err }
	}
	event := func() hook.Event { return hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: []byte("{}")} }
	for range 5 {
		insist(record(asked(t)))
		insist(publish(event()))
	}
	if !log.has("refusing") {
		t.Skip("the disk was not slow enough for anything to be refused: nothing is tried here")
	}
	if patience := s.record.patience(); patience <= writeTimeout {
		t.Errorf("the record is waited for %v", patience)
	}
	// On a machine that is busy besides, the silence may last longer than ever before; that is remembered, too.
	end := time.Now().Add(patience)
	for good := 0; good < 3; good++ {
		err := errors.Join(publish(event())(), record(asked(t))())
		if err == nil {
			continue
		}
		if !errors.Is(err, broker.ErrPassing) || time.Now().After(end) {
			t.Fatalf("a disk that is known to be slow: %v", err)
		}
		good = -1
		insist(record(asked(t)))
		insist(publish(event()))
	}
}
