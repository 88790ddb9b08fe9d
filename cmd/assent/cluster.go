package main

import (
	"context"
	"path/filepath"
	"time"

	"assent/broker"
	"assent/internal/setup/statedir"
	"assent/internal/store/forgotten"
	"assent/internal/store/lease"
	"assent/internal/store/presence"
	"assent/internal/store/stream"
)

// cluster is this broker among those that share its record; nil where none can.
type cluster struct {
	presence *presence.Presence
	streams  *stream.Stream
	logf     func(string, ...any)
	leases   []*lease.Lease
}

// joinCluster announces this broker to the others of its cluster. It returns nil for a broker with a record of
// its own.
func joinCluster(ctx context.Context, stateDir string, f *serveFlags, streams *stream.Stream, logf func(string, ...any)) (*cluster, error) {
	if f.natsURL == "" {
		return nil, nil
	}
	id, err := brokerID(stateDir)
	if err != nil {
		return nil, err
	}
	p, err := presence.Open(ctx, presence.Config{
		KV: streams, NotFound: stream.ErrKeyNotFound, ID: id, Format: stream.RecordFormat, Version: version(), Logf: logf,
	})
	if err != nil {
		return nil, err
	}
	return &cluster{presence: p, streams: streams, logf: logf}, nil
}

// replicas is what the broker knows of the others.
func (c *cluster) replicas() broker.Replicas {
	if c == nil {
		return nil
	}
	return c.presence
}

// forgotten keeps the list of sessions that all brokers forget, once forget can; nil without others.
func (c *cluster) forgotten(ctx context.Context, stateDir string, streams *stream.Stream, forget func(context.Context, string) error, logf func(string, ...any)) (*forgotten.List, error) {
	return forgotten.Open(ctx, forgotten.Config{KV: streams, Self: c.presence.Self(), File: filepath.Join(stateDir, "forgotten"), Forget: forget, Logf: logf})
}

// only reports whether this broker is the one, of all, that does what name says. It is nil where no other
// could. Call it before the broker runs.
func (c *cluster) only(name string) func() bool {
	if c == nil {
		return nil
	}
	l := lease.Open(lease.Config{KV: c.streams, NotFound: stream.ErrKeyNotFound, Name: name, Holder: c.presence.Self(), Logf: c.logf})
	c.leases = append(c.leases, l)
	return func() bool {
		_, held := l.Held()
		return held
	}
}

// sweepEvery is how often notes of hooks that went elsewhere are looked through.
const sweepEvery = 10 * time.Minute

// sweep has one broker of all forget what was noted of hooks whose requests are over, until ctx is done.
func (c *cluster) sweep(ctx context.Context, mine func() bool, waits func(requestID string) bool) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if mine() {
				_ = c.presence.Sweep(ctx, waits) // else the next one
			}
		}
	}
}

// Close says that this run is over, and lets others do at once what only this broker did.
func (c *cluster) Close() error {
	if c == nil {
		return nil
	}
	for _, l := range c.leases {
		l.Close()
	}
	return c.presence.Close()
}

// brokerID names the broker of a state directory, through all its runs. Two on one machine have two.
func brokerID(stateDir string) (string, error) {
	return statedir.ID(filepath.Join(stateDir, "broker-id"), 12, "this broker")
}
