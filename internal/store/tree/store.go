package tree

import (
	"context"
	"errors"

	"assent/internal/store/follow"
)

// Store is the record, and the stream of blocks beside it.
type Store interface {
	// LastBlock returns the newest block and its number; ErrNoBlock if there is none.
	LastBlock(ctx context.Context) (n uint64, body []byte, err error)
	// Block returns a block; the first has the number 1. ErrNoBlock if it is not there.
	Block(ctx context.Context, n uint64) ([]byte, error)
	// AppendBlock appends the block after+1; ErrConflict if another one is there.
	AppendBlock(ctx context.Context, after uint64, body []byte) error
	// EntriesAfter calls fn with each entry behind a cursor, in order, and goes on with new ones until ctx is
	// done; it returns ctx's error, or follow.ErrAnew of a stream that was made anew. With an entry comes what reads it as
	// Config.Decode would, if the store has that from others who follow; else nil.
	EntriesAfter(ctx context.Context, c follow.Cursor, fn func(Entry, Decode)) error
	// EntriesBetween calls fn with the entries from..to that are there, in order.
	EntriesBetween(ctx context.Context, from, to uint64, fn func(Entry) error) error
	// EntriesOf returns the sequences of a request's entries that are there, in order.
	EntriesOf(ctx context.Context, request string) ([]uint64, error)
	// RecordsNow says what the record is now.
	RecordsNow(ctx context.Context) (follow.Stream, error)
}

// Errors of a Store.
var (
	ErrNoBlock  = errors.New("there is no such block")
	ErrConflict = errors.New("another broker has sealed the next block")
)
