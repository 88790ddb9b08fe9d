package broker

import (
	"context"
	"errors"

	"assent/internal/hook"
)

// Log is the durable record of every request, one subject a request: the APPROVALS stream, or
// in tests the log of package logtest. It is the only arbiter between competing answers.
// Package logtest holds the cases that every Log must pass.
type Log interface {
	// Append makes rec durable as the next record of rec.RequestID and returns its sequence.
	// after is the sequence of the request's last record as the caller knows it, 0 for none;
	// if it is not, Append returns ErrConflict and records nothing. When Append cannot tell
	// whether rec was recorded it looks, by rec.ID, before it answers; ErrUnavailable means
	// that it could not look either. A log that does not work says so within a second, a cluster within three; one
	// that works may take longer while very many append at a time, until ctx is done.
	//
	// The log sets Seq and After of what it stores, and Stored of what it shows; what rec has there means nothing. After is
	// never below the EventSeq of the record, or of its request.
	Append(ctx context.Context, rec hook.Record, after uint64) (seq uint64, err error)

	// Records returns the records of one request, oldest first; none is no error.
	Records(ctx context.Context, requestID string) ([]hook.Record, error)

	// RequestAt returns the id of the request whose asked record has the sequence seq; empty, without
	// an error, where that is no such record.
	RequestAt(ctx context.Context, seq uint64) (requestID string, err error)

	// Tail calls apply, from one goroutine and in order, with every record whose sequence is
	// greater than from, and goes on with new ones until ctx is done, surviving interruptions
	// of the log by itself. A from beyond the newest record is of a log that lost its end or
	// was made anew: Tail then begins with the oldest record. It calls caughtUp once, when every record that was there at the
	// call has been applied. It returns ctx's error.
	Tail(ctx context.Context, from uint64, apply func(hook.Record), caughtUp func()) error

	// Ended returns up to limit requests that were decided or ended, as their records, newest
	// first by the record that settled them, of those settled before the sequence before (0:
	// from the newest).
	Ended(ctx context.Context, before uint64, limit int) ([][]hook.Record, error)

	// Checkpoint returns what SaveCheckpoint last stored, or the zero Checkpoint.
	Checkpoint(ctx context.Context) (Checkpoint, error)
	SaveCheckpoint(ctx context.Context, c Checkpoint) error
}

// Checkpoint says where a starting broker begins to read.
type Checkpoint struct {
	// Seq is a sequence of the log up to which every request not in Live is over.
	Seq uint64 `json:"seq"`
	// Tail is the sequence of the newest record the broker had seen, at least Seq. A request
	// settled up to it that is not in Live needs no proof any more.
	Tail uint64 `json:"tail"`
	// Live are the ids of requests that were pending, or settled but not yet proven, then.
	Live []string `json:"live,omitempty"`
	// EventSeq is the EVENTS sequence up to which events had been observed.
	EventSeq uint64 `json:"eventSeq"`
}

// Errors of a Log. ErrPassing is an ErrUnavailable that is expected to end soon by itself: a cluster chooses a leader, or
// a disk is slow.
var (
	ErrConflict    = errors.New("another record came first")
	ErrUnavailable = errors.New("the record is not available; the request keeps waiting")
	ErrPassing     = error(passing{})
)

type passing struct{}

func (passing) Error() string { return ErrUnavailable.Error() }
func (passing) Unwrap() error { return ErrUnavailable }
