package broker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// diskLog writes one record at a time and takes a fixed time for it, as a disk that syncs each
// record does.
type diskLog struct {
	*logtest.Log
	mu   sync.Mutex
	sync time.Duration
}

func (l *diskLog) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sync > 0 {
		// A sleep of the system, not of the Go scheduler: as a sync, it holds a thread and no
		// processor, and is exact enough.
		ts := syscall.NsecToTimespec(int64(l.sync))
		syscall.Nanosleep(&ts, nil)
	}
	return l.Log.Append(ctx, rec, after)
}

func benchBroker(tb testing.TB, log broker.Log) *broker.Broker {
	b, err := broker.New(tb.Context(), broker.Config{Log: log, SingleReplica: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.Close() })
	return b
}

// BenchmarkAskDecide is one request from Ask to its answer on a log that costs nothing.
func BenchmarkAskDecide(b *testing.B) {
	br := benchBroker(b, logtest.New())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q := newRequest(uuid.NewString(), "s", "x", uint64(i))
		w := br.Watch("", 0)
		w.Next(b.Context())
		done := make(chan broker.Answer)
		go func() {
			a, _ := askAndWait(context.Background(), br, q)
			br.Delivered(q.ID)
			done <- a
		}()
		for shown := false; !shown; {
			batch, err := w.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range batch.Changes {
				shown = shown || c.View.ID == q.ID
			}
		}
		w.Close()
		if _, err := br.Decide(b.Context(), q.ID, allow(q), phone); err != nil {
			b.Fatal(err)
		}
		if a := <-done; a.Outcome != hook.Allowed {
			b.Fatalf("%+v", a)
		}
		if i%100 == 0 { // the turn is over
			br.Observe(hook.Event{Type: "Stop", Seq: uint64(i + 1), Time: time.Now()}, hook.Payload{SessionID: "s"})
		}
	}
}

// BenchmarkAnswer10000 answers 10,000 waiting requests on a log that takes 0.15 ms a record,
// and reports the time as a multiple of what that log needs for 10,000 records (target 1.5).
func BenchmarkAnswer10000(b *testing.B) {
	const n, per = 10_000, 150 * time.Microsecond
	for _, approvers := range []int{1, 8} {
		b.Run(fmt.Sprint("approvers=", approvers), func(b *testing.B) {
			for b.Loop() {
				log := &diskLog{Log: logtest.New()}
				br := benchBroker(b, log)
				queue, hooks := askMany(b, br, n)
				log.mu.Lock()
				log.sync = per
				log.mu.Unlock()
				bare := &diskLog{Log: logtest.New(), sync: per}
				before := time.Now()
				for range n {
					bare.Append(b.Context(), logtest.Asked(), 0)
				}
				base := time.Since(before)

				before = time.Now()
				var wg sync.WaitGroup
				for k := range approvers {
					wg.Go(func() {
						for i := k; i < n; i += approvers {
							if _, err := br.Decide(b.Context(), queue[i].ID, allow(queue[i]), phone); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				hooks.Wait()
				b.ReportMetric(float64(time.Since(before))/float64(base), "x-log")
				br.Close()
			}
		})
	}
}

func askMany(tb testing.TB, br *broker.Broker, n int) ([]hook.Request, *sync.WaitGroup) {
	var hooks sync.WaitGroup
	queue := make([]hook.Request, n)
	for i := range n {
		q := newRequest(uuid.NewString(), fmt.Sprint("s", i%100), "x", uint64(i+1))
		queue[i] = q
		hooks.Go(func() {
			_, err := askAndWait(context.Background(), br, q)
			if err == nil {
				br.Delivered(q.ID)
			} else if !errors.Is(err, broker.ErrStopping) {
				tb.Errorf("Ask: %v", err)
			}
		})
	}
	for len(br.Pending()) < n {
		if tb.Failed() { // a stalled machine used up the broker's patience
			tb.Fatal("not every request is waiting")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return queue, &hooks
}

// BenchmarkWaitingMemory reports what 10,000 waiting requests cost the broker, each, beyond its
// payload and what the log in memory and the waiting goroutine keep.
func BenchmarkWaitingMemory(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		log := logtest.New()
		br := benchBroker(b, log)
		idle := inUse()
		_, hooks := askMany(b, br, n)
		busy := inUse()
		recs := log.All()
		bare := logtest.New()
		empty := inUse()
		for _, rec := range recs {
			q := *rec.Request
			rec.Request = &q
			bare.Append(b.Context(), rec, 0)
		}
		logged := inUse()
		b.ReportMetric(float64(busy.heap-idle.heap-(logged.heap-empty.heap))/n, "heapB/request")
		b.ReportMetric(float64(busy.stack-idle.stack)/n, "stackB/request")
		runtime.KeepAlive(bare)
		br.Close()
		hooks.Wait()
	}
}

type usage struct{ heap, stack int64 }

func inUse() usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int64(m.HeapAlloc), int64(m.StackInuse)}
}

// BenchmarkWatchers is a burst of 1,000 changes to 200 watchers (target 1 s).
func BenchmarkWatchers(b *testing.B) {
	const watchers, changes = 200, 1000
	for b.Loop() {
		b.StopTimer()
		br, err := broker.New(b.Context(), broker.Config{Log: logtest.New(), SingleReplica: true,
			Encode: func(v broker.View) []byte { return []byte(strings.Repeat(v.ID, 20)) }})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for range watchers {
			w := br.Watch("", 0)
			w.Next(b.Context())
			wg.Go(func() {
				defer w.Close()
				for seen := 0; seen < changes; {
					batch, err := w.Next(b.Context())
					if err != nil || batch.Snapshot != nil {
						b.Errorf("healthy watcher dropped: %v", err)
						return
					}
					for _, c := range batch.Changes {
						seen++
						_ = c.JSON()
					}
				}
			})
		}
		b.StartTimer()
		_, hooks := askMany(b, br, changes)
		wg.Wait()
		b.StopTimer()
		br.Close()
		hooks.Wait()
		b.StartTimer()
	}
}

// BenchmarkObserve is one tool's end in a session with 1,000 waiting requests.
func BenchmarkObserve(b *testing.B) {
	br := benchBroker(b, logtest.New())
	_, hooks := askMany(b, br, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		br.Observe(hook.Event{Type: "PostToolUse", Seq: uint64(i + 1e6), Time: time.Now()},
			hook.Payload{SessionID: fmt.Sprint("s", i%100), CallKey: "Bash other"})
	}
	br.Close()
	hooks.Wait()
}
