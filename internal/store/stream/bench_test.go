package stream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// ratio reports how often the time of bare fits into the time of ours. Both are measured in
// turns of the same run.
func ratio(b *testing.B, bare, ours func()) {
	b.Helper()
	var bareTime, ourTime time.Duration
	for b.Loop() {
		start := time.Now()
		bare()
		middle := time.Now()
		ours()
		bareTime += middle.Sub(start)
		ourTime += time.Since(middle)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64(ourTime)/float64(bareTime), "ratio")
	b.ReportMetric(float64((ourTime / n).Microseconds()), "µs/ours")
	b.ReportMetric(float64((bareTime / n).Microseconds()), "µs/bare")
}

// A record against a write and an fsync of as many bytes.
func BenchmarkAppend(b *testing.B) {
	s := open(b, Config{})
	f, err := os.Create(filepath.Join(s.cfg.Dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	msg, err := recordMessage(asked(b))
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, msg.Size())
	ratio(b, func() {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}, func() { mustAppend(b, s, asked(b), 0) })
}

// 32 at a time: what the record engine can do.
func BenchmarkAppendParallel(b *testing.B) {
	s := open(b, Config{})
	b.SetParallelism(32 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Append(context.Background(), asked(b), 0); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// An event against the same message through a bare nats.go connection to the same stream.
func BenchmarkPublish(b *testing.B) {
	s := open(b, Config{})
	e := fullEvent()
	e.Raw = make([]byte, 2048)
	ratio(b, func() {
		m := eventMessage(e, hook.MaxEvent)
		m.Header.Set(jetstream.MsgIDHeader, uuid.NewString())
		if _, err := s.events.js.PublishMsg(context.Background(), m); err != nil {
			b.Fatal(err)
		}
	}, func() {
		e.ID = uuid.NewString()
		mustPublish(b, s, e)
	})
}

// Replay of a log by Tail.
func BenchmarkReplay(b *testing.B) {
	s := open(b, Config{})
	const n = 50_000
	rec := asked(b)
	for i := range n {
		rec.RequestID = fmt.Sprint("r", i)
		msg, err := recordMessage(rec)
		if err != nil {
			b.Fatal(err)
		}
		msg.Subject = "hooks.Stop"
		if _, err := s.events.js.PublishMsgAsync(msg, jetstream.WithStallWait(20*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
	<-s.events.js.PublishAsyncComplete()
	for _, decode := range []bool{false, true} {
		b.Run(fmt.Sprintf("decode=%v", decode), func(b *testing.B) {
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				seen := 0
				f := follower{engine: s.events, js: s.events.js, stream: EventsStream, caughtUp: cancel,
					apply: func(d *delivery) {
						if decode {
							if _, err := d.record(); err != nil {
								b.Fatal(err)
							}
						}
						seen++
					}}
				_ = f.run(ctx)
				if seen != n {
					b.Fatal(seen)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// From Append to the tail's apply, next to the Append itself.
func BenchmarkLive(b *testing.B) {
	s := open(b, Config{})
	ctx, cancel := context.WithCancel(b.Context())
	seen := make(chan uint64, 1)
	done := make(chan error)
	go func() { done <- s.Events(ctx, 1, func(e hook.Event) { seen <- e.Seq }) }()
	for b.Loop() {
		mustPublish(b, s, hook.Event{ID: uuid.NewString(), Type: "Stop", Raw: []byte("{}")})
		<-seen
	}
	cancel()
	<-done
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.Context(), Config{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkEnded reads pages of 1,000 ended requests with four records each: the newest and one
// further down.
func BenchmarkEnded(b *testing.B) {
	s := open(b, Config{})
	const all, page = 3000, 1000
	for range all {
		a := asked(b)
		seq := mustAppend(b, s, decided(a.RequestID), mustAppend(b, s, a, 0))
		for _, step := range []hook.Step{hook.StepDelivered, hook.StepConfirmed} {
			rec := hook.Record{ID: uuid.NewString(), RequestID: a.RequestID, Step: step, Time: time.Now()}
			seq = mustAppend(b, s, rec, seq)
		}
	}
	for _, x := range []struct {
		name   string
		before uint64
	}{{"Newest", 0}, {"Second", 4*2000 + 1}} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if got, err := s.Ended(b.Context(), x.before, page); err != nil || len(got) != page || len(got[0]) != 4 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
