package tree

import (
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Edge is the right edge of a tree: the hashes of its largest complete subtrees, the largest first. It is
// all that it takes to append leaves and to know the root: at most 63 hashes. The zero value is the empty
// tree.
type Edge struct {
	Size   int64
	Hashes []tlog.Hash
}

// Append adds a leaf. visit, which may be nil, is called with each subtree that the leaf completes: its
// hash and the leaves [n<<level, (n+1)<<level) that are in it.
func (e *Edge) Append(leaf tlog.Hash, visit func(level int, n int64, h tlog.Hash)) {
	h, n := leaf, e.Size
	for level := 0; ; level++ {
		if visit != nil {
			visit(level, n, h)
		}
		if n&1 == 0 {
			break
		}
		last := len(e.Hashes) - 1
		h, n = tlog.NodeHash(e.Hashes[last], h), n>>1
		e.Hashes = e.Hashes[:last]
	}
	e.Hashes = append(e.Hashes, h)
	e.Size++
}

// Root is the hash of the whole tree.
func (e *Edge) Root() tlog.Hash {
	if len(e.Hashes) == 0 {
		return emptyRoot
	}
	root := e.Hashes[len(e.Hashes)-1]
	for i := len(e.Hashes) - 2; i >= 0; i-- {
		root = tlog.NodeHash(e.Hashes[i], root)
	}
	return root
}

func (e *Edge) clone() Edge { return Edge{e.Size, slices.Clone(e.Hashes)} }

// Fits reports whether there are as many hashes as a tree of this size has.
func (e *Edge) Fits() bool {
	n := 0
	for s := e.Size; s > 0; s &= s - 1 {
		n++
	}
	return e.Size >= 0 && n == len(e.Hashes)
}

var emptyRoot, _ = tlog.TreeHash(0, nil)
