package server

import (
	"errors"
	"io"
	"sync/atomic"
)

// errBudget says that the hooks' bodies fill the memory that is set aside for them.
var errBudget = errors.New("the payloads of the hooks that are read or wait fill the memory set aside for them")

// countedBody counts what is read of a hook's body against the budget that all of them share, as it
// arrives: a length that was only announced takes nothing from others.
type countedBody struct {
	io.ReadCloser
	held *atomic.Int64 // by all hooks
	max  int64
	mine int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mine += int64(n)
	if b.held.Add(int64(n)) > b.max {
		return n, errBudget
	}
	return n, err
}

// giveBack counts n bytes off that were read and are not kept.
func (b *countedBody) giveBack(n int) {
	b.mine -= int64(n)
	b.held.Add(-int64(n))
}
