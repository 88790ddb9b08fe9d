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
	ErrBehind    = errors.New("the tree over the record has not come to this yet; try again in a minute, and if that does not help, see assent doctor")
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
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	p, err := tlog.ProveTree(size, old, l.hashes(ctx, last))
	return []tlog.Hash(p), err
}

// findLocked returns the block and the place in it of the leaf of an entry.
func (l *Log) findLocked(ctx context.Context, seq uint64) (b *block, i int, err error) {
	return l.find(ctx, l.last, seq)
}

// find is findLocked in the blocks up to last, of the record that this one is about.
func (l *Log) find(ctx context.Context, last *block, seq uint64) (b *block, i int, err error) {
	b, err = l.search(ctx, max(last.Epoch, 1), last, func(b *block) bool { return b.Record >= seq })
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

// hashes reads the hashes of subtrees from the blocks up to last.
func (l *Log) hashes(ctx context.Context, last *block) tlog.HashReader {
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

// Prove writes the proof of a request: its entries that are there, and that the newest checkpoint has them; of each that has no
// proof, why. With an error nothing is written, unless that is the writer's: ErrBehind where all entries wait for their
// checkpoint, ErrNotInTree where none will ever have one.
func (l *Log) Prove(ctx context.Context, request string, to *LineWriter) error {
	seqs, err := l.cfg.Store.EntriesOf(ctx, request)
	if err != nil {
		return err
	}
	if len(seqs) == 0 || seqs[len(seqs)-1] < l.start {
		return ErrNotInTree
	}
	if err := l.readUntil(ctx, seqs[len(seqs)-1]); err != nil && l.Stopped() == nil && !errors.Is(err, ErrBehind) {
		return err
	}
	if _, err := l.Checkpoint(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	last := l.last // further blocks do not belong to this proof
	l.mu.Unlock()
	lines, err := l.proofs(ctx, last, seqs)
	if err != nil {
		return err
	}
	to.Line(ProofsLine{TypeProofs, Version, last.checkpoint.Origin})
	to.Line(NoteLine{TypeCheckpoint, last.Note})
	for _, line := range lines {
		to.Line(line)
	}
	return to.End()
}

// proofs returns the lines about these entries, which are proved by the checkpoint of the block last. They are few: those of one
// request.
func (l *Log) proofs(ctx context.Context, last *block, seqs []uint64) (lines []any, err error) {
	began, err := l.block(ctx, max(last.Epoch, 1))
	if err != nil {
		return nil, err
	}
	waits, none := false, true
	for _, seq := range seqs {
		why := ""
		switch {
		case seq < began.leaves[0].Seq:
			why = WhyBefore
		case seq > last.Record:
			why, waits = WhyWaits, true
		default:
			line, err := l.proof(ctx, last, seq)
			if err == nil {
				none = false
				if line.Entry != nil { // else it was forgotten just now
					lines = append(lines, line)
				}
				continue
			}
			if !errors.Is(err, ErrNotInTree) {
				return nil, err
			}
			why, none = WhyMissing, false
		}
		lines = append(lines, UnprovedLine{TypeUnproved, seq, why})
	}
	switch {
	case none && waits:
		return nil, ErrBehind
	case none || len(lines) == 0:
		return nil, ErrNotInTree
	}
	return lines, nil
}

// proof returns the line of one entry, without the entry where that is gone by now.
func (l *Log) proof(ctx context.Context, last *block, seq uint64) (ProofLine, error) {
	b, i, err := l.find(ctx, last, seq)
	if err != nil {
		return ProofLine{}, err
	}
	line := ProofLine{Type: TypeProof, N: b.Size + int64(i), Leaf: b.Leaves[i]}
	if line.Hashes, err = tlog.ProveRecord(last.checkpoint.Size, line.N, l.hashes(ctx, last)); err != nil {
		return ProofLine{}, err
	}
	return line, l.cfg.Store.EntriesBetween(ctx, seq, seq, func(e Entry) error {
		line.Entry = e.Text()
		return nil
	})
}
