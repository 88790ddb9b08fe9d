package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/host/hooksocket"
	"assent/internal/store/stream"
)

// readiness says whether a hook that comes now would find the socket, and whether its event and
// its request could be recorded. It asks the streams, rather than to remember how the last write
// fared.
type readiness struct {
	streams *stream.Stream
	socket  *hooksocket.Socket

	mu        sync.Mutex
	checkedAt time.Time // guarded by mu
	err       error     // guarded by mu; what was seen
}

const (
	// readyFor is how long the result of one check is reused: anybody may ask, as often as they like.
	readyFor = 500 * time.Millisecond
	// readyTime bounds one check. A caller that finds one under way waits for its result.
	readyTime = 2 * time.Second
)

// check is nil if hooks can be served.
func (r *readiness) check() error {
	r.mu.Lock() // a second caller waits for the result of the check under way
	defer r.mu.Unlock()
	// What the streams know by themselves costs nothing, and may be news.
	if err := r.streams.Healthy(); err != nil {
		return err
	}
	if time.Since(r.checkedAt) < readyFor {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	r.err = errors.Join(r.socket.There(), r.streams.Probe(ctx))
	r.checkedAt = time.Now()
	return r.err
}

// collector shows it as a metric.
func (r *readiness) collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assent_ready", Help: "1 while hooks can be served, as GET /readyz says."}, func() float64 {
		if r.check() != nil {
			return 0
		}
		return 1
	})
}
