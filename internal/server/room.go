package server

import (
	"errors"
	"io"
	"sync/atomic"
)

// errNoRoom says that the hooks' bodies fill the memory that is set aside for them.
var errNoRoom = errors.New("the payloads of the hooks that are read or wait fill the memory set aside for them")

// roomedBody counts what is read of a hook's body against what all of them may hold, as it
// arrives: a length that was only announced takes nothing from others.
type roomedBody struct {
	io.ReadCloser
	held *atomic.Int64
	max  int64
	mine int64
}

func (b *roomedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mine += int64(n)
	if b.held.Add(int64(n)) > b.max {
		return n, errNoRoom
	}
	return n, err
}

// release gives back what was counted. It is called once, when the payload is no longer held.
func (b *roomedBody) release() { b.held.Add(-b.mine) }
