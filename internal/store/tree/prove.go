package tree

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors of proofs.
var (
	ErrNotInTree = errors.New("the tree over the record has nothing of this request: it was recorded before the tree began, or forgotten, or never")
	ErrBehind    = errors.New("the tree over the record has not come to this entry yet; try again")
	ErrSize      = errors.New("the tree over the record is smaller than that: it is older than the one that was seen")
)

// Checkpoint returns the newest checkpoint, made now if anything waits for one.
func (l *Log) Checkpoint(ctx context.Context) (Checkpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return Checkpoint{}, l.stopped
	}
	if err := l.sealLocked(ctx); err != nil && l.stopped == nil {
		l.waitsLocked(err)
	}
	return l.last.checkpoint, nil
}

// Reach takes what other brokers sealed meanwhile, until the tree has size leaves or there is no more: a broker that
// reads a moment later than the others must not be taken for one with an older record.
func (l *Log) Reach(ctx context.Context, size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.cfg.Shared && l.stopped == nil && l.last.end.Size < size {
		if err := l.takeLocked(ctx); errors.Is(err, ErrNoBlock) {
			return nil
		} else if err != nil && l.stopped == nil {
			return err
		}
	}
	return nil
}

// Public is the key that this broker signs checkpoints with.
func (l *Log) Public() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return "", l.stopped
	}
	return l.cfg.Key.Public(l.last.checkpoint.Origin)
}

// Consistency proves that the tree of a checkpoint begins with the old one of that size: RFC 6962.
func (l *Log) Consistency(ctx context.Context, size, old int64) ([]tlog.Hash, error) {
	if old > size || old < 1 {
		return nil, ErrSize
	}
	if old == size {
		return nil, nil
	}
	p, err := tlog.ProveTree(size, old, l.hashes(ctx))
	return []tlog.Hash(p), err
}

// findLocked returns the block and the place in it of the leaf of an entry.
func (l *Log) findLocked(ctx context.Context, seq uint64) (b *block, i int, err error) {
	b, err = l.search(ctx, max(l.last.Epoch, 1), l.last, func(b *block) bool { return b.Record >= seq })
	if err != nil {
		return nil, 0, err
	}
	i, ok := b.find(seq)
	if !ok {
		return nil, 0, ErrNotInTree
	}
	return b, i, nil
}

// search returns the first block from first to last of which has is true.
func (l *Log) search(ctx context.Context, first uint64, last *block, has func(*block) bool) (*block, error) {
	found := last
	var failed error
	sort.Search(int(last.n-first), func(i int) bool {
		if failed != nil {
			return true
		}
		b, err := l.block(ctx, first+uint64(i))
		if err != nil {
			failed = fmt.Errorf("block %d of the tree: %w", first+uint64(i), err)
			return true
		}
		if !has(b) {
			return false
		}
		if b.n < found.n {
			found = b
		}
		return true
	})
	if failed != nil {
		return nil, failed
	}
	if !has(found) {
		return nil, ErrNotInTree
	}
	return found, nil
}

// hashes reads the hashes of subtrees from the blocks. What the reader keeps is for one proof.
func (l *Log) hashes(ctx context.Context) tlog.HashReader {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			end := (n+1)<<level - 1 // the leaf that completes it
			b, err := l.search(ctx, 1, last, func(b *block) bool { return b.end.Size > end })
			if err != nil {
				return nil, err
			}
			found := false
			edge := Edge{b.Size, append([]tlog.Hash(nil), b.Edge...)}
			for _, leaf := range b.leaves {
				edge.Append(leaf.Hash(), func(at int, m int64, h tlog.Hash) {
					if at == level && m == n {
						out[i], found = h, true
					}
				})
			}
			if !found {
				return nil, fmt.Errorf("block %d of the tree has no subtree %d/%d", b.n, level, n)
			}
		}
		return out, nil
	})
}

// Prove writes the proof of a request: its entries that are there, and that the newest checkpoint has them.
func (l *Log) Prove(ctx context.Context, request string, to *LineWriter) error {
	seqs, err := l.cfg.Store.EntriesOf(ctx, request)
	if err != nil {
		return err
	}
	if len(seqs) == 0 || seqs[len(seqs)-1] < l.start {
		return ErrNotInTree
	}
	if err := l.readUntil(ctx, seqs[len(seqs)-1]); err != nil && l.Stopped() == nil {
		return err
	}
	head, err := l.Checkpoint(ctx)
	if err != nil {
		return err
	}
	to.Line(ProofsLine{TypeProofs, Version, head.Origin})
	to.Line(NoteLine{TypeCheckpoint, head.Note})
	proved := 0
	for _, seq := range seqs {
		l.mu.Lock()
		b, i, err := l.findLocked(ctx, seq)
		l.mu.Unlock()
		if errors.Is(err, ErrNotInTree) {
			continue
		}
		if err != nil {
			return err
		}
		n := b.Size + int64(i)
		proof, err := tlog.ProveRecord(head.Size, n, l.hashes(ctx))
		if err != nil {
			return err
		}
		line := ProofLine{Type: TypeProof, N: n, Leaf: b.Leaves[i], Hashes: proof}
		err = l.cfg.Store.EntriesBetween(ctx, seq, seq, func(e Entry) error {
			line.Entry = e.Text()
			return nil
		})
		if err != nil {
			return err
		}
		to.Line(line)
		proved++
	}
	if proved == 0 {
		return ErrNotInTree
	}
	return to.End()
}
