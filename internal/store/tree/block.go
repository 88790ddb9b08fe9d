package tree

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// MaxLeaves is how many leaves a block has at most.
const MaxLeaves = 256

// block is what stands between two checkpoints.
type block struct {
	Size   int64       `json:"size"`   // leaves before it
	Edge   []tlog.Hash `json:"edge"`   // of the tree before it
	Record uint64      `json:"record"` // the last entry of the record that is in the tree
	Made   time.Time   `json:"made"`   // when the stream was made that Record counts in
	Epoch  uint64      `json:"epoch"`  // the block with the last leaf of KindStart
	Leaves []string    `json:"leaves"`
	Note   string      `json:"checkpoint"`

	n          uint64 // its own number, from 1
	leaves     []Leaf
	checkpoint Checkpoint
	end        Edge // of the tree with it
}

// DamagedError says that a block is not what was written.
type DamagedError struct {
	Block uint64
	What  string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("block %d of the tree over the record is not what was signed: %s", e.Block, e.What)
}

// parseBlock reads a block, and compares it with its own checkpoint; whose signature that has is not looked at.
func parseBlock(n uint64, body []byte) (*block, error) {
	b := &block{n: n}
	if err := json.Unmarshal(body, b); err != nil {
		return nil, &DamagedError{n, "it cannot be read"}
	}
	b.end = Edge{b.Size, slices.Clone(b.Edge)}
	if !b.end.Fits() || len(b.Leaves) == 0 || len(b.Leaves) > MaxLeaves {
		return nil, &DamagedError{n, "its size does not fit"}
	}
	for _, text := range b.Leaves {
		l, err := ParseLeaf(text)
		if err != nil {
			return nil, &DamagedError{n, "a leaf cannot be read"}
		}
		b.leaves = append(b.leaves, l)
		b.end.Append(l.Hash(), nil)
	}
	var err error
	if b.checkpoint, err = OpenCheckpoint(b.Note); err != nil {
		return nil, &DamagedError{n, "its checkpoint cannot be read"}
	}
	if c := b.checkpoint; c.Size != b.end.Size || c.Root != b.end.Root() || c.Record != b.Record {
		return nil, &DamagedError{n, "its leaves are not those of its checkpoint"}
	}
	return b, nil
}

// find returns the place in the block of the leaf of an entry of the record.
func (b *block) find(seq uint64) (i int, ok bool) {
	i = slices.IndexFunc(b.leaves, func(l Leaf) bool { return l.Kind == KindRecord && l.Seq == seq })
	return i, i >= 0
}
