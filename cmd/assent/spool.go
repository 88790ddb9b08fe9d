package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"assent/hookclient"
	"assent/internal/hook"
	"assent/internal/metrics"
)

// spool brings events that hooks wrote to files, while no broker answered, into the stream.
type spool struct {
	dir, target string
	self        string // the submitter of what lies in this user's spool
	publish     func(context.Context, hook.Event) (uint64, error)
	log         *zap.Logger
	taken       prometheus.Counter
}

func newSpool(dir, target, self string, publish func(context.Context, hook.Event) (uint64, error), log *zap.Logger) *spool {
	return &spool{dir: dir, target: target, self: self, publish: publish, log: log,
		taken: prometheus.NewCounter(prometheus.CounterOpts{Name: "assent_spool_taken_total", Help: "Events taken in from the spool."})}
}

// metrics are those of the spool, and of what was taken in from it.
func (s *spool) metrics() []prometheus.Collector { return append(metrics.Spool(s.dir), s.taken) }

// drain takes in what lies there now. What cannot be published stays.
func (s *spool) drain(ctx context.Context) {
	n, err := hookclient.Drain(s.dir, s.target, func(r hookclient.SpoolRecord) error {
		r.Event.Submitter = s.self
		_, err := s.publish(ctx, r.Event)
		return err
	})
	s.taken.Add(float64(n))
	if n > 0 {
		s.log.Info("took in spooled events", zap.Int("events", n))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("spooled events stay where they are", zap.String("dir", s.dir), zap.Error(err))
	}
}

// watch drains the spool once a second: hooks append to a spool file only while there is one,
// so the directory is empty but for the time after an outage.
func (s *spool) watch(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			s.drain(ctx)
		}
	}
}
