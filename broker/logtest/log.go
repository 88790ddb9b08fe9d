// Package logtest has a broker.Log in memory, whose failures a test can order, and the cases
// that every broker.Log must pass (Run).
//
// # Concurrency
//
// A Log may be used from any goroutine. It starts none and works inside a synctest bubble if
// it was made there.
package logtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

// Log is a broker.Log in memory. Use New. It outlives the brokers that use it, as a disk does.
type Log struct {
	mu      sync.Mutex
	records []hook.Record    // guarded by mu; the record with sequence n stands at n-1
	byID    map[string][]int // guarded by mu; request id → indexes in records
	point   broker.Checkpoint
	saves   int
	down    bool
	paused  bool
	inject  func(hook.Record) Fault
	wake    chan struct{} // guarded by mu; closed and replaced at every change
}

// Fault is what shall go wrong with one Append. The zero value is nothing.
type Fault struct {
	// Delay passes before the record is looked at. If the caller's context ends first,
	// nothing is written and Append returns broker.ErrUnavailable.
	Delay time.Duration
	// Err is returned and nothing is written.
	Err error
	// LoseAck writes the record but loses the acknowledgement; Append then finds its own
	// record, as the contract of broker.Log demands, and succeeds.
	LoseAck bool
	// Blind, with LoseAck, lets the look for the own record fail too: the record is written
	// and Append returns broker.ErrUnavailable.
	Blind bool
}

// New returns an empty log.
func New() *Log {
	return &Log{byID: map[string][]int{}, wake: make(chan struct{})}
}

// Inject asks f before every Append what shall go wrong with it; nil ends that. f runs
// without the log's lock, so it may use the log itself, to put another record first.
func (l *Log) Inject(f func(hook.Record) Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inject = f
}

// LoseNextAck makes the next Append lose its acknowledgement and find its own record.
func (l *Log) LoseNextAck() {
	var once sync.Once
	l.Inject(func(hook.Record) (f Fault) {
		once.Do(func() { f.LoseAck = true })
		return f
	})
}

// Down makes every call fail with broker.ErrUnavailable, and Tail pause, until Down(false).
func (l *Log) Down(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	l.wakeLocked()
}

// PauseTail keeps new records from Tail until PauseTail(false), as a slow network would;
// everything else works.
func (l *Log) PauseTail(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = paused
	l.wakeLocked()
}

// Len is the number of records.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.records)
}

// All returns every record in order.
func (l *Log) All() []hook.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// Saves is how often a checkpoint was stored.
func (l *Log) Saves() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saves
}

// Append implements broker.Log.
func (l *Log) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	l.mu.Lock()
	inject := l.inject
	l.mu.Unlock()
	var f Fault
	if inject != nil {
		f = inject(rec)
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return 0, broker.ErrUnavailable
		}
	}
	if f.Err != nil {
		return 0, f.Err
	}
	if ctx.Err() != nil {
		return 0, broker.ErrUnavailable
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return 0, broker.ErrUnavailable
	}
	seq, err := l.appendLocked(rec, after)
	if err == nil && f.LoseAck {
		if f.Blind {
			return 0, broker.ErrUnavailable
		}
		return l.findLocked(rec)
	}
	return seq, err
}

func (l *Log) appendLocked(rec hook.Record, after uint64) (uint64, error) {
	indexes := l.byID[rec.RequestID]
	var last uint64
	if len(indexes) > 0 {
		last = uint64(indexes[len(indexes)-1]) + 1
	}
	if last != after {
		return 0, broker.ErrConflict
	}
	rec.Seq = uint64(len(l.records)) + 1
	rec.After = rec.EventSeq // this log knows of no other events
	if rec.Request != nil {
		rec.After = max(rec.After, rec.Request.EventSeq)
		q := *rec.Request
		q.NoDedup = false // which a record does not keep
		rec.Request = &q
	}
	l.byID[rec.RequestID] = append(indexes, len(l.records))
	l.records = append(l.records, rec)
	l.wakeLocked()
	return rec.Seq, nil
}

// findLocked is the look for the own record after a lost acknowledgement.
func (l *Log) findLocked(rec hook.Record) (uint64, error) {
	for _, i := range l.byID[rec.RequestID] {
		if l.records[i].ID == rec.ID {
			return l.records[i].Seq, nil
		}
	}
	return 0, broker.ErrConflict
}

// Records implements broker.Log.
func (l *Log) Records(ctx context.Context, requestID string) ([]hook.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || ctx.Err() != nil {
		return nil, broker.ErrUnavailable
	}
	return l.ofLocked(requestID), nil
}

// RequestAt implements broker.Log.
func (l *Log) RequestAt(ctx context.Context, seq uint64) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || ctx.Err() != nil {
		return "", broker.ErrUnavailable
	}
	for _, rec := range l.records {
		if rec.Seq == seq && rec.Step == hook.StepAsked {
			return rec.RequestID, nil
		}
	}
	return "", nil
}

func (l *Log) ofLocked(requestID string) []hook.Record {
	var recs []hook.Record
	for _, i := range l.byID[requestID] {
		recs = append(recs, l.records[i])
	}
	return recs
}

// Tail implements broker.Log.
func (l *Log) Tail(ctx context.Context, from uint64, apply func(hook.Record), caughtUp func()) error {
	goal, next := uint64(l.Len()), from
	if next > goal {
		next = 0
	}
	for {
		l.mu.Lock()
		var news []hook.Record
		if !l.down && !l.paused && next < uint64(len(l.records)) {
			// Append only adds behind this slice's end, so it can be read without the lock.
			news = l.records[next:len(l.records):len(l.records)]
		}
		wake := l.wake
		l.mu.Unlock()
		for _, rec := range news {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			apply(rec)
			next = rec.Seq
		}
		if caughtUp != nil && next >= goal {
			caughtUp()
			caughtUp = nil
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Ended implements broker.Log.
func (l *Log) Ended(ctx context.Context, before uint64, limit int) ([][]hook.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || ctx.Err() != nil {
		return nil, broker.ErrUnavailable
	}
	var out [][]hook.Record
	for i := len(l.records) - 1; i >= 0 && len(out) < limit; i-- {
		rec := l.records[i]
		if before > 0 && rec.Seq >= before {
			continue
		}
		if rec.Step == hook.StepDecided || rec.Step == hook.StepEnded {
			out = append(out, l.ofLocked(rec.RequestID))
		}
	}
	return out, nil
}

// Checkpoint implements broker.Log.
func (l *Log) Checkpoint(ctx context.Context) (broker.Checkpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || ctx.Err() != nil {
		return broker.Checkpoint{}, broker.ErrUnavailable
	}
	return l.point, nil
}

// SaveCheckpoint implements broker.Log.
func (l *Log) SaveCheckpoint(ctx context.Context, c broker.Checkpoint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || ctx.Err() != nil {
		return broker.ErrUnavailable
	}
	l.point = c
	l.saves++
	return nil
}

func (l *Log) wakeLocked() {
	close(l.wake)
	l.wake = make(chan struct{})
}

var _ broker.Log = (*Log)(nil)
