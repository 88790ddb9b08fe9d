// Package screens keeps in the record which devices had a request on their screen, and since when.
//
// That is the word of the device's page, which the broker writes down under its own clock: nothing of it is signed. It
// proves nothing about what was seen. It tells whether somebody could have answered, also where nobody did.
//
// It must not cost an answer anything. Saw never waits; what is seen goes into a queue that is bounded, and one goroutine writes it to
// the record, one entry at a time with a pause behind each, under an id of its own (hook.ShownEntry), so that no decision is
// ever refused because of one. Of a request the first MaxDevices devices are kept, each once, whichever brokers they
// speak to: an entry is added behind the last one of its request by compare-and-set. What does not fit the queue, or cannot be
// written within a minute, is dropped and counted.
//
// # Concurrency
//
// All methods may be called from any goroutine. Run owns the writing.
package screens

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/hook"
)

// MaxDevices is how many devices the record has of one request.
const MaxDevices = 8

const (
	maxQueued   = 4096 // views
	maxRequests = 4096 // whose devices are remembered; of others the record says which it has
	// pace is the pause behind an entry, so that a list that many people look at leaves the record to answers.
	pace = 20 * time.Millisecond
	// keep is how long a view waits for a record that does not take it. It is well below what the times of entries that follow
	// each other may differ by.
	keep = time.Minute
	// writeTime bounds one entry.
	writeTime = 5 * time.Second
	// The pause before the record is tried again, doubled at each failure.
	retry, longestRetry = time.Second, 15 * time.Second
)

// Record is the record of requests, as far as views stand in it. A broker.Log is one.
type Record interface {
	// Records returns what stands in it under an id, the oldest first.
	Records(ctx context.Context, id string) ([]hook.Record, error)
	// Append adds rec behind what has the sequence after under its id, 0 for nothing. broker.ErrConflict: that is not the last.
	Append(ctx context.Context, rec hook.Record, after uint64) (seq uint64, err error)
}

// Recorder writes down who had what on the screen. Use New.
type Recorder struct {
	record Record
	logf   func(string, ...any)
	wake   chan struct{}
	// writing is held while an entry is written.
	writing sync.Mutex

	mu       sync.Mutex
	requests map[string]*request // guarded by mu
	order    []string            // guarded by mu; the keys of requests, the oldest first
	queue    []view              // guarded by mu
	recorded uint64              // guarded by mu
	dropped  uint64              // guarded by mu
}

// request is what is known of one. Guarded by Recorder.mu.
type request struct {
	devices map[string]bool // that saw it; true: the record says so
	last    uint64          // the sequence of its last entry, 0 for none
	unsure  bool            // last may be behind the record
}

type view struct {
	id, request string
	by          hook.Approver
	key         string
	at          time.Time
}

// device tells the device of a view from others.
func (v *view) device() string { return v.by.Kind + " " + v.by.ID }

// New makes one.
func New(record Record, logf func(string, ...any)) *Recorder {
	return &Recorder{record: record, logf: logf, wake: make(chan struct{}, 1), requests: map[string]*request{}}
}

// Saw notes that by, whose key has this thumbprint, has a request on the screen now. The caller knows that the request waits.
func (r *Recorder) Saw(requestID string, by hook.Approver, key string) {
	by.Verified = false // which is about a decision
	v := view{uuid.NewString(), requestID, by, key, time.Now().UTC()}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.requestLocked(requestID)
	if _, seen := q.devices[v.device()]; seen || len(q.devices) >= MaxDevices {
		return
	}
	if len(r.queue) >= maxQueued {
		r.dropped++
		return
	}
	q.devices[v.device()] = false
	r.queue = append(r.queue, v)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Recorder) requestLocked(id string) *request {
	q := r.requests[id]
	if q == nil {
		q = &request{devices: map[string]bool{}}
		r.requests[id] = q
		if r.order = append(r.order, id); len(r.order) > maxRequests {
			delete(r.requests, r.order[0])
			r.order = r.order[1:]
		}
	}
	return q
}

// Counts are how many views were recorded by this broker, and how many dropped.
func (r *Recorder) Counts() (recorded, dropped uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recorded, r.dropped
}

// Forget drops what is not written yet about requests that are going to be removed from the record. When it returns nothing of them
// is being written.
func (r *Recorder) Forget(requests []string) {
	going := map[string]bool{}
	for _, id := range requests {
		going[id] = true
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.queue[:0]
	for _, v := range r.queue {
		if !going[v.request] {
			left = append(left, v)
		}
	}
	clear(r.queue[len(left):])
	r.queue = left
}

// Run writes what was seen until ctx is done, and returns its error. What waits then is not written.
func (r *Recorder) Run(ctx context.Context) error {
	wait, failing := retry, false
	for ctx.Err() == nil {
		some, err := r.writeNext(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			if !failing {
				r.logf("who had a request on the screen could not be recorded; trying again for a minute: %v", err)
			}
			failing = true
			sleep(ctx, wait)
			wait = min(2*wait, longestRetry)
		case some:
			wait, failing = retry, false
			sleep(ctx, pace)
		default:
			select {
			case <-r.wake:
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// writeNext writes the oldest view; some is false if there was none. One that could not be written stays.
func (r *Recorder) writeNext(ctx context.Context) (some bool, err error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	v, ok := r.first()
	if !ok {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	wrote, err := r.write(ctx, &v)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.requestLocked(v.request).unsure = true
		return true, err
	}
	if wrote {
		r.recorded++
	}
	r.queue[0] = view{}
	r.queue = r.queue[1:]
	return true, nil
}

// first is the oldest view that is not too old.
func (r *Recorder) first() (view, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 && time.Since(r.queue[0].at) > keep {
		v := r.queue[0]
		if q := r.requests[v.request]; q != nil {
			delete(q.devices, v.device()) // it may be told once more
		}
		r.queue[0] = view{}
		r.queue = r.queue[1:]
		r.dropped++
	}
	if len(r.queue) == 0 {
		r.queue = nil // let a long queue's memory go
		return view{}, false
	}
	return r.queue[0], true
}

// write appends an entry, unless the record has that device already or devices enough. wrote is false where it has.
func (r *Recorder) write(ctx context.Context, v *view) (wrote bool, err error) {
	const attempts = MaxDevices + 1 // against other brokers, who add so many at most
	for range attempts {
		r.mu.Lock()
		q := r.requestLocked(v.request)
		last, unsure := q.last, q.unsure
		r.mu.Unlock()
		if unsure {
			entries, err := r.record.Records(ctx, hook.ShownEntry(v.request))
			if err != nil {
				return false, err
			}
			last = r.learn(q, entries)
		}
		if r.enough(q, v) {
			return false, nil
		}
		seq, err := r.record.Append(ctx, hook.Record{
			ID: v.id, RequestID: hook.ShownEntry(v.request), Step: hook.StepShown, Time: v.at, By: &v.by, Key: v.key,
		}, last)
		r.mu.Lock()
		switch {
		case err == nil:
			q.last, q.devices[v.device()] = seq, true
		case errors.Is(err, broker.ErrConflict):
			q.unsure = true
		}
		r.mu.Unlock()
		if !errors.Is(err, broker.ErrConflict) {
			return err == nil, err
		}
	}
	return false, broker.ErrConflict
}

// learn takes in what the record has of a request, and returns the sequence of its last entry.
func (r *Recorder) learn(q *request, entries []hook.Record) (last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.last, q.unsure = 0, false
	for i := range entries {
		q.last = entries[i].Seq
		if by := entries[i].By; by != nil {
			q.devices[(&view{by: *by}).device()] = true
		}
	}
	return q.last
}

// enough says whether the record needs nothing more of the device of v.
func (r *Recorder) enough(q *request, v *view) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, recorded := range q.devices {
		if recorded {
			n++
		}
	}
	return q.devices[v.device()] || n >= MaxDevices
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
