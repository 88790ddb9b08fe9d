package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assent/internal/store/follow"
)

// pushLocked adds a leaf, unless a block of another broker has it.
func (l *Log) pushLocked(leaf Leaf) {
	from, to := leaf.Seq, max(leaf.Seq, leaf.To)
	if leaf.Kind == KindRecord || leaf.Kind == KindGap {
		if to <= l.taken {
			l.expectedLocked(leaf)
			return
		}
		if from <= l.taken {
			leaf.Seq = l.taken + 1
		}
	}
	if len(l.pending) == 0 {
		l.timer.Reset(SealAfter)
	}
	l.pending = append(l.pending, leaf)
}

// expectedLocked compares a leaf with what another broker sealed. Where one of the two saw only that the
// entry is gone, nothing tells.
func (l *Log) expectedLocked(leaf Leaf) {
	for len(l.expect) > 0 && max(l.expect[0].Seq, l.expect[0].To) < leaf.Seq {
		l.expect = l.expect[1:]
	}
	if leaf.Kind != KindRecord || len(l.expect) == 0 || l.expect[0].Kind != KindRecord || l.expect[0].Seq != leaf.Seq {
		return
	}
	if l.expect[0] != leaf {
		l.stopLocked(&StoppedError{fmt.Sprintf("another broker has sealed entry %d of the record as something else than this one reads", leaf.Seq)})
	}
	l.expect = l.expect[1:]
}

// sealLocked puts all that is pending in blocks.
func (l *Log) sealLocked(ctx context.Context) error {
	for len(l.pending) > 0 {
		if l.stopped != nil {
			return l.stopped
		}
		n := min(len(l.pending), MaxLeaves)
		err := l.appendBlock(ctx, l.last, l.pending[:n:n])
		if errors.Is(err, ErrConflict) {
			err = l.takeLocked(ctx)
		} else if err == nil {
			l.pending = slices.Clone(l.pending[n:])
		}
		if err != nil {
			return err
		}
	}
	l.timer.Stop()
	l.said = ""
	return l.stopped
}

// takeLocked takes the next block, which another broker sealed, or this one in a call whose answer was lost.
func (l *Log) takeLocked(ctx context.Context) error {
	b, err := l.block(ctx, l.last.n+1)
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
		l.stopLocked(&StoppedError{err.Error()})
		return l.stopped
	}
	if err != nil {
		return err
	}
	if b.Size != l.last.end.Size || !slices.Equal(b.Edge, l.last.end.Hashes) || b.checkpoint.Last != l.last.checkpoint.Sum() || b.checkpoint.Origin != l.last.checkpoint.Origin {
		l.stopLocked(&StoppedError{fmt.Sprintf("block %d of the tree does not follow on the one before", b.n)})
		return l.stopped
	}
	l.acceptLocked(b)
	pending := l.pending
	l.pending = nil
	if b.Epoch == b.n { // another record: what was read of the old one is over
		l.expect, l.taken, l.read = nil, 0, follow.Cursor{Seq: b.Record, Made: b.Made}
		if l.anew != nil {
			l.anew()
		}
		return nil
	}
	for _, leaf := range b.leaves {
		if leaf.Kind == KindRecord || leaf.Kind == KindGap {
			l.expect = append(l.expect, leaf)
		}
	}
	l.taken = max(l.taken, b.Record)
	for _, leaf := range pending {
		if leaf.Kind != KindForgotten || !slices.Contains(b.leaves, leaf) {
			l.pushLocked(leaf)
		}
	}
	return nil
}
