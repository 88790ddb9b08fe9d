package history

import (
	"encoding/json"
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assent/internal/feed"
)

var liveSeconds = flag.Int("live-seconds", 2, "for how long BenchmarkLive publishes")

// BenchmarkLive publishes 2,000 events a second to real streams, while 200 Watches follow, and
// reports how long after its hook a feed event is with them.
func BenchmarkLive(b *testing.B) {
	const rate, watches = 2000, 200
	for b.Loop() {
		r := newRig(b)
		h := r.start()
		r.event("warm", "Stop", "")
		r.catchUp()
		var got atomic.Int64
		var ended atomic.Int64
		var mu sync.Mutex
		var late []time.Duration // guarded by mu
		var wg sync.WaitGroup
		var open []func()
		for i := range watches {
			batches, stop := h.Watch("")
			open = append(open, stop)
			wg.Go(func() {
				for news := range batches {
					got.Add(int64(len(news)))
					if i > 0 {
						continue
					}
					var last feed.Event // of this transaction, and so the youngest
					if json.Unmarshal(news[len(news)-1].Event.JSON, &last) == nil {
						mu.Lock()
						late = append(late, time.Since(time.UnixMilli(last.TS)))
						mu.Unlock()
					}
				}
				ended.Add(1)
			})
		}
		s := newSample()
		cpu := cpuTime()
		n := rate * *liveSeconds
		tick := time.NewTicker(time.Second / 100)
		begun := time.Now()
		for i := 0; i < n; {
			<-tick.C
			for due := int(time.Since(begun).Seconds() * rate); i < min(due, n); i++ {
				e := s.event(uint64(i + 1))
				e.Seq, e.Time = 0, time.Now()
				r.publish(e)
			}
		}
		tick.Stop()
		sending := time.Since(begun)
		r.catchUp()
		lag := time.Since(begun) - sending
		slow := ended.Load()
		for _, stop := range open {
			stop()
		}
		wg.Wait()
		slices.Sort(late)
		b.ReportMetric(float64(n)/sending.Seconds(), "events/s")
		b.ReportMetric(float64(lag.Microseconds())/1000, "lag-ms")
		b.ReportMetric(float64(slow), "watches-dropped")
		b.ReportMetric(float64(got.Load())/watches/float64(n), "feed/event")
		b.ReportMetric((cpuTime()-cpu).Seconds()/sending.Seconds(), "cpus")
		if len(late) > 0 {
			b.ReportMetric(float64(late[len(late)*95/100].Microseconds())/1000, "p95-ms")
		}
		r.halt()
	}
}

// BenchmarkCatchUp makes the file anew from real streams.
func BenchmarkCatchUp(b *testing.B) {
	r := newRig(b)
	s := newSample()
	n := int(*feedEvents)
	for i := range n {
		e := s.event(uint64(i + 1))
		e.Seq = 0
		r.publish(e)
	}
	for b.Loop() {
		r.removeFile()
		begun := time.Now()
		r.start()
		r.catchUp()
		took := time.Since(begun)
		r.halt()
		b.ReportMetric(float64(n)/took.Seconds(), "events/s")
		b.ReportMetric(rss(b), "rssMiB")
	}
	r.start()
	r.catchUp()
	begun := time.Now()
	if err := r.h.Forget(b.Context(), "long"); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n/10)/time.Since(begun).Seconds(), "forgotten/s")
}

// BenchmarkForget forgets a session of 1,000 events among 10,000 others, and reports what it does
// to the events of the others meanwhile.
func BenchmarkForget(b *testing.B) {
	for b.Loop() {
		r := newRig(b)
		s := newSample()
		for i := range 11_000 {
			e := s.event(uint64(i + 1))
			e.Seq = 0
			r.publish(e)
		}
		r.start()
		r.catchUp()
		done := make(chan time.Duration)
		go func() {
			begun := time.Now()
			if err := r.h.Forget(b.Context(), "long"); err != nil {
				b.Error(err)
			}
			done <- time.Since(begun)
		}()
		var took []time.Duration
		var forgot time.Duration
		for forgot == 0 {
			begun := time.Now()
			r.event("other", "Stop", "")
			took = append(took, time.Since(begun))
			select {
			case forgot = <-done:
			default:
			}
		}
		slices.Sort(took)
		b.ReportMetric(1100/forgot.Seconds(), "forgotten/s")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "publish-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "publish-p99-ms")
		b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "publish-max-ms")
		r.halt()
	}
}
